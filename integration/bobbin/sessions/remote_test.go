package sessions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestASessionIsUsedWithoutYARN would catch a command that needs YARN although only the REST
// endpoint of a cluster is known, and an endpoint that accepts less than the owner's credentials.
func TestASessionIsUsedWithoutYARN(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	id := start(t, u)
	path := filepath.Join(t.TempDir(), "access")
	if got := u.Run(t, "session", "access", path); got.Code != 0 {
		t.Fatal(got)
	}
	address := u.Master(t, id).Access.Address
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\nor not\nto do\n")

	// The program lists its inputs where it is started, so HDFS must be known there.
	conf := t.TempDir()
	for _, name := range []string{"core-site.xml", "hdfs-site.xml"} {
		text, err := os.ReadFile(filepath.Join(u.Cluster.ConfDir(), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(conf, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	which := []string{"-m", address, "-D", "rest.access-file=" + path}
	with := func(command string, args ...string) []string {
		return append(append([]string{command}, which...), args...)
	}
	got := u.With("HADOOP_CONF_DIR="+conf).Run(t, with("run", suite.Program(t, "several"), dir+"/lines", dir+"/sifted", "to", "be")...)
	if want := "2 lines hold to\n1 lines hold be\n"; got.Code != 0 || got.Stdout != want {
		t.Fatalf("want %q: %s", want, got)
	}
	if diff := cmp.Diff([]string{"to be"}, u.Output(t, dir+"/sifted-2")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}

	// The session gets a cached file of this machine over REST, too.
	robots := filepath.Join(t.TempDir(), "robots")
	if err := os.WriteFile(robots, []byte("10.0.0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	request := ` - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 `
	u.Write(t, dir+"/log", "10.0.0.1"+request+"1\n10.0.0.2"+request+"2\n")
	got = u.With("HADOOP_CONF_DIR="+conf).Run(t, with("run", "-D", "pipeline.cached-files=name:robots,path:"+robots,
		suite.Program(t, "accesslog"), "-without", "robots", dir+"/report", dir+"/log")...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	if diff := cmp.Diff([]string{"10.0.0.2\t2"}, u.Output(t, dir+"/report/hosts")); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}

	away := u.With("HADOOP_CONF_DIR")
	listed := jobs(t, away, append([]string{"-a"}, which...)...)
	if len(listed) != 3 || listed[0].JobStatus != "FINISHED" || listed[1].JobStatus != "FINISHED" {
		t.Fatalf("listed are %+v", listed)
	}
	for _, c := range []struct {
		line []string
		want string
	}{
		{with("status"), "0 running, 3 finished"},
		{with("info", listed[0].Job), "filter"},
		{with("cancel", listed[0].Job), "FINISHED"},
	} {
		if got := away.Run(t, c.line...); !strings.Contains(got.Stdout+got.Stderr, c.want) {
			t.Errorf("want %q: %s", c.want, got)
		}
	}
	if got := away.Run(t, "list", "-m", address); got.Code != 1 || !strings.Contains(got.Stderr, "rest.access-file") {
		t.Errorf("without the file: %s", got)
	}
	if got := away.Run(t, "session", "stop", "-D", "rest.access-file="+path); got.Code != 0 {
		t.Error(got)
	}
	if app := u.WaitEnded(t, id); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	bobbintest.WaitNoProcesses(t, id)
}
