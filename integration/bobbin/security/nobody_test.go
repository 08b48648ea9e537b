package security

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// tryAsNobody reads the processes and files of a job as another user of the operating system. It opens the nodes' disks
// first. The test would catch a secret on a command line, which all users can read, and one in a file that all users
// can read.
func tryAsNobody(t *testing.T, d *bobbintest.Dawdler) {
	if os.Getuid() != 0 {
		t.Fatal("only root can run processes as another user: run the tests as root")
	}
	enter(t, d.User.Cluster)
	listed := asNobody(t, "ps", "-efww")
	if !strings.Contains(listed, d.Application) && !strings.Contains(listed, launch.BobbinLink) {
		t.Fatalf("ps does not show the job's processes:\n%s", listed)
	}
	texts := plainSecrets(t, d)
	seen := map[string]string{"ps": listed}
	for _, p := range bobbintest.Processes(t, d.Application) {
		dir := filepath.Join("/proc", strconv.Itoa(p.PID))
		seen["command line of "+p.String()] = asNobody(t, "cat", dir+"/cmdline")
		closed := []string{dir + "/environ"}
		if file := p.Variable(t, launch.TokenFileVariable); file != "" {
			closed = append(closed, file)
		}
		if p.Role == bobbintest.ApplicationMaster {
			closed = append(closed, dir+"/cwd/"+launch.KeytabFile)
		}
		for _, file := range closed {
			// By its own path: the kernel does not let other users follow a process's links.
			file, err := filepath.EvalSymlinks(file)
			if err != nil { // a file that does not exist cannot be read either
				t.Fatal(err)
			}
			// Files with application visibility are there until the application ends. Other jobs of alice share the
			// other files.
			if filepath.Base(file) == launch.KeytabFile && !strings.Contains(file, "/appcache/"+d.Application+"/filecache/") {
				t.Errorf("the keytab is localized as %s, which other applications can read", file)
			}
			if _, err := try("cat", file); err == nil {
				t.Errorf("nobody reads %s, of %s", file, p)
			}
		}
	}
	for where, text := range seen {
		for _, secret := range texts {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is in the %s", where)
			}
		}
	}
}

// enter opens the disks of a cluster's nodes for all users, as on companies' nodes. Here they are in a temporary
// directory that only its owner may enter. enter checks that the user nobody can then read a readable file.
func enter(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, dir := range []string{filepath.Dir(c.Dir()), c.Dir()} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o001 != 0 {
			continue
		}
		if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Chmod(dir, info.Mode().Perm()); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range c.NodeManagers() {
		node := fmt.Sprintf("nodemanager%d", i+1)
		settings, err := c.Settings(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(settings["yarn.nodemanager.local-dirs"], "open-to-all")
		if err := os.WriteFile(file, []byte("public"), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(file); err != nil {
				t.Error(err)
			}
		})
		if got := asNobody(t, "cat", file); got != "public" {
			t.Errorf("nobody reads %q in %s", got, file)
		}
	}
}

// plainSecrets returns the secrets of a running job that could occur in a text.
func plainSecrets(t *testing.T, d *bobbintest.Dawdler) []string {
	t.Helper()
	all := []string{d.Master.Access.Token, "PRIVATE KEY"}
	for _, p := range bobbintest.ProcessesIn(t, d.Application, bobbintest.TaskExecutor) {
		for _, secret := range p.Credentials(t).Secrets {
			all = append(all, string(secret))
		}
		for _, token := range p.Credentials(t).Tokens {
			all = append(all, token.EncodeURL())
		}
	}
	return all
}

// asNobody runs a program as the user nobody.
func asNobody(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := try(program, args...)
	if err != nil {
		t.Fatalf("%s %v as nobody: %v", program, args, err)
	}
	return out
}

func try(program string, args ...string) (string, error) {
	account, err := user.Lookup("nobody")
	if err != nil {
		return "", err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/bin:/usr/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	out, err := cmd.Output()
	return string(out), err
}
