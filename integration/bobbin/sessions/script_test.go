package sessions

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/runnable"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestTheScriptOfFlinksNameWorks would catch a script that does not find bobbin, one that divides
// arguments at spaces, a flag of Flink that YARN does not get, and a pipe with "stop", with which
// other scripts end sessions.
func TestTheScriptOfFlinksNameWorks(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, path := person(t)
	script := installed(t)
	shipped := filepath.Join(t.TempDir(), "shipped.txt")
	if err := os.WriteFile(shipped, []byte("for all containers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := u.StartProgram(t, script, "-d", "-nm", "a name of words", "-at", "Words", "-t", shipped, "-z", "some", "-jm", "256", "-s", "2", "-Dyarn.tags=a,b").Wait(t)
	if got.Code != 0 || !strings.Contains(got.Stderr, "high-availability.cluster-id has no effect") {
		t.Fatal(got)
	}
	id := got.Application(t)
	t.Cleanup(func() { u.Run(t, "kill", id) })
	if app := u.App(t, id); app.State != "RUNNING" || app.Name != "a name of words" || app.Type != "Words" {
		t.Errorf("YARN says %s is %q of type %s, %s", id, app.Name, app.Type, app.State)
	}
	master := bobbintest.ProcessesIn(t, id, bobbintest.ApplicationMaster)
	for _, p := range master {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/cwd/shipped.txt", p.PID)); err != nil {
			t.Error(err)
		}
	}
	if len(master) != 1 {
		t.Errorf("ApplicationMasters are %v", master)
	}
	checkQuery(t, u)
	if got := u.StartProgram(t, script, "-q").Wait(t); got.Code != 0 || !strings.Contains(got.Stdout, "root.default") {
		t.Error(got)
	}
	got = u.StartProgram(t, "sh", "-c", "echo stop | "+script+" -id "+id).Wait(t)
	if got.Code != 0 || !strings.Contains(got.Stderr, id+" is FINISHED (SUCCEEDED)") {
		t.Error(got)
	}
	checkEnded(t, u, id, path)
}

// checkQuery would catch figures of nodes that differ from the ResourceManager's page, in the words
// of bobbin.
func checkQuery(t *testing.T, u *bobbintest.User) {
	t.Helper()
	type node struct {
		Node             string
		MemoryMB, UsedMB int64
		VCores           int
		UsedVcores       int
		Containers       int
	}
	ask := func() (told, want []node) {
		got := u.Run(t, "session", "query", "-o", "json")
		var answer struct{ Nodes []node }
		if err := json.Unmarshal([]byte(got.Stdout), &answer); err != nil || got.Code != 0 {
			t.Fatalf("%v: %s", err, got)
		}
		var page struct {
			Nodes struct {
				Node []struct {
					ID, State                   string
					UsedMemoryMB, AvailMemoryMB int64
					UsedVirtualCores            int
					AvailableVirtualCores       int
					NumContainers               int
				}
			}
		}
		if err := u.Cluster.RM().Get(t.Context(), "nodes?states=RUNNING", &page); err != nil {
			t.Fatal(err)
		}
		for _, n := range page.Nodes.Node {
			want = append(want, node{
				n.ID, n.UsedMemoryMB + n.AvailMemoryMB, n.UsedMemoryMB,
				n.UsedVirtualCores + n.AvailableVirtualCores, n.UsedVirtualCores, n.NumContainers,
			})
		}
		slices.SortFunc(want, func(a, b node) int { return strings.Compare(a.Node, b.Node) })
		return answer.Nodes, want
	}
	var diff string
	defer func() {
		if t.Failed() {
			t.Logf("nodes (-ResourceManager +bobbin):\n%s", diff)
		}
	}()
	wait.For(t, "the nodes are those of the ResourceManager", func() (bool, error) { // containers come and go between two requests
		told, want := ask()
		diff = cmp.Diff(want, told)
		return diff == "" && len(told) > 0, nil
	})
}

// installed returns the path of the script in a folder like users have it.
func installed(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../scripts/yarn-session.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"bin", "scripts"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "scripts", "yarn-session.sh")
	if err := runnable.Write(script, text); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(suite.Bobbin(t), filepath.Join(dir, "bin", "bobbin")); err != nil {
		t.Fatal(err)
	}
	return script
}
