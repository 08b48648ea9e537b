package security

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// tryOthersRights would catch an application that another user may end or look into, and staged files that others may
// read.
func tryOthersRights(t *testing.T, d *bobbintest.Dawdler) {
	alice, other := d.User, suite.UserOf(t, d.User.Cluster, bob)
	if got := other.Run(t, "kill", d.Application); got.Code == 0 || !strings.Contains(got.Stderr, "bob") {
		t.Errorf("bob's kill: want it refused, and an error that names him: %s", got)
	}
	if token := other.Report(t, d.Application).ClientToAMToken; token != nil {
		t.Error("YARN gives bob a token for the master")
	}
	if token := alice.Report(t, d.Application).ClientToAMToken; token == nil {
		t.Error("YARN gives alice no token for her own master") // otherwise the last check proves nothing
	}

	dir := "/user/" + alice.Name + "/" + staging.DirName + "/" + d.Application
	files := other.Files(t)
	if _, err := files.List(t.Context(), dir); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("bob lists %s: %v", dir, err)
	}
	for _, name := range []string{leader + launch.AccessFile, launch.StagedFile, launch.KeytabFile} {
		if _, err := files.ReadFile(t.Context(), dir+"/"+name, 1<<20); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("bob reads %s: %v", name, err)
		}
	}
	checkStaged(t, alice, dir)
}

// leader is the directory of an application's first ApplicationMaster.
const leader = "live-1/"

// checkStaged checks that only the owner can read the secret files, even if others could enter the directory.
func checkStaged(t *testing.T, u *bobbintest.User, dir string) {
	t.Helper()
	hdfs := rpctest.HDFS(t, u.Cluster)
	modes := make(map[string]string)
	for _, below := range []string{"", leader} {
		staged, err := hdfs.List(t.Context(), dir+"/"+below)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range staged {
			modes[below+file.Name] = file.Permission
		}
	}
	if modes[launch.KeytabFile] != "400" || modes[leader+launch.AccessFile] != "600" || modes[leader+"ca.pem"] != "600" || modes[strings.TrimSuffix(leader, "/")] != "700" {
		t.Errorf("staged with modes %v, want 400 for the keytab, 600 for what lets to REST and for the authority, 700 for the leader's directory", modes)
	}
}

// checkHeld would catch a process without a token that it needs, and one with a token or a file that it does not need.
func checkHeld(t *testing.T, d *bobbintest.Dawdler) {
	t.Helper()
	for _, p := range bobbintest.Processes(t, d.Application) {
		if p.Role != bobbintest.TaskExecutor {
			continue
		}
		held := p.Credentials(t)
		for _, token := range held.Tokens {
			if token.Kind != creds.KindHDFSDelegation {
				t.Errorf("worker %s has a token of kind %s", p.Container, token.Kind)
			}
		}
		if held.ByKind(creds.KindHDFSDelegation) == nil {
			t.Errorf("worker %s has no token for HDFS", p.Container)
		}
		if inside(t, p, launch.KeytabFile) {
			t.Errorf("worker %s has the keytab", p.Container)
		}
	}
	master := d.First(t, bobbintest.ApplicationMaster)
	if given := master.Credentials(t); given.ByKind(creds.KindAMRM) == nil || given.ByKind(creds.KindHDFSDelegation) == nil {
		t.Error("the master lacks a token, for YARN or for HDFS")
	}
	if !inside(t, master, launch.KeytabFile) {
		t.Error("the master has no keytab") // otherwise the check of the workers proves nothing
	}
	for _, p := range bobbintest.ProcessesIn(t, d.Application, bobbintest.TaskHost) {
		for _, name := range []string{launch.TokenFileVariable, launch.Variable} {
			if value := p.Variable(t, name); value != "" {
				t.Errorf("task host %d has its worker's environment variable: %s=%s", p.PID, name, value)
			}
		}
	}
}

// inside reports whether a file with this name is in the working directory of a process.
func inside(t *testing.T, p bobbintest.Process, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(p.PID), "cwd", name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// TestRightsAreGranted would catch access lists that YARN does not get.
func TestRightsAreGranted(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice, other := suite.User(t, bobbintest.Alice), suite.User(t, bob)
	d := suite.Dawdle(t, alice, append(append(option("yarn.view.acls", bob), option("yarn.modify.acls", bob)...), "-p", "2", "-s", "1")...)
	if token := other.Report(t, d.Application).ClientToAMToken; token == nil {
		t.Error("YARN gives bob no token for the master")
	}
	if got := other.Run(t, "kill", d.Application); got.Code != 0 {
		t.Errorf("bob's kill: %s", got)
	}
	d.CheckFails(t, "KILLED", "KILLED", d.Application+" is KILLED")
}
