package kerberos

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// user runs programs of examples/ with a cluster's configuration and a cache of tickets.
type user struct {
	programs, cache string
	environment     []string
}

func newExampleUser(t *testing.T, c *cluster.Cluster) user {
	t.Helper()
	dir := t.TempDir()
	const examples = "github.com/bobbin-yarn/bobbin/examples/"
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/", examples+"applications", examples+"distributedshell", examples+"shell")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cache := filepath.Join(dir, "cache")
	return user{programs: dir, cache: cache, environment: []string{"HADOOP_CONF_DIR=" + c.ConfDir(), "KRB5_CONFIG=" + c.Krb5Conf(), "KRB5CCNAME=FILE:" + cache}}
}

// run gives what a program prints and its exit code.
func (u user) run(t *testing.T, program string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(u.programs, program), args...)
	cmd.Env = u.environment
	out, err := cmd.CombinedOutput()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// It would catch an example that works on open clusters alone: no ticket, no token for the NodeManagers, or tokens that
// its ApplicationMaster does not find.
func TestTheExamplesWithKerberos(t *testing.T) {
	c := clusters.Use(t, clusters.Secure)
	somebody := newExampleUser(t, c)
	for program, args := range map[string][]string{"applications": nil, "distributedshell": {"true"}} {
		if out, code := somebody.run(t, program, args...); code != 1 || !strings.Contains(out, "run kinit") {
			t.Errorf("%s without a ticket: code %d\n%s\nwant 1 and the remedy", program, code, out)
		}
	}
	files, err := c.HDFS()
	if err == nil {
		err = files.Mkdir(t.Context(), "/user/"+alice, alice, "755")
	}
	if err = errors.Join(err, c.Kinit(t.Context(), alice, somebody.cache)); err != nil {
		t.Fatal(err)
	}
	out, code := somebody.run(t, "distributedshell", "-copies", "2", "true")
	if code != 0 || !strings.Contains(out, "all copies have run") {
		t.Fatalf("distributedshell: code %d\n%s", code, out)
	}
	id := strings.Fields(out)[0]
	list, code := somebody.run(t, "applications", "-user", alice)
	if code != 0 || !strings.Contains(list, id) {
		t.Errorf("applications: code %d\n%s\nwant %s in it", code, list, id)
	}
	// What it says of ResourceManagers is so: nobody is told the token of an unmanaged master.
	if out, code := somebody.run(t, "shell", "true"); code != 1 || !strings.Contains(out, "use distributedshell") {
		t.Errorf("shell: code %d\n%s", code, out)
	}
}
