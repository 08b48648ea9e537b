package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// What is done to this cluster nobody else must see.
func TestOnAClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	// The keys of encryption zones are in a file, which needs no key server.
	keys := "jceks://file" + t.TempDir() + "/keys.jceks"
	c := clusters.Own(t, cluster.Config{
		NodeManagers: 1, Users: []string{careless},
		Core: map[string]string{"hadoop.security.key.provider.path": keys},
	})
	java(t, c, "org.apache.hadoop.crypto.key.KeyShell", "create", "key1")
	if err := c.Restart(t.Context(), "namenode"); err != nil { // it reads the keys when it starts
		t.Fatal(err)
	}
	u := suite.UserOf(t, c, careless)
	dir := u.Scratch(t)
	tries := 0
	wait.For(t, "the DataNode takes blocks from the NameNode again", func() (bool, error) {
		tries++
		return u.Files(t).WriteFile(t.Context(), fmt.Sprintf("%s/try-%d", dir, tries), []byte("x"), 0o644) == nil, nil
	})
	u.Write(t, dir+"/text", "to be\n")
	job := []string{suite.Program(t, "wordcount"), "--input", dir + "/text", "--output", dir + "/out"}

	t.Run("a file in an encryption zone is refused", func(t *testing.T) {
		zone := dir + "/zone"
		if err := u.Files(t).MkdirMode(t.Context(), zone, 0o777); err != nil {
			t.Fatal(err)
		}
		java(t, c, "org.apache.hadoop.hdfs.tools.CryptoAdmin", "-createZone", "-keyName", "key1", "-path", zone)
		java(t, c, cluster.FsShell, "-touchz", zone+"/secret")
		refused(t, u, []string{zone + "/secret", "lies in an HDFS encryption zone", "use a place outside"},
			perJob(suite.Program(t, "wordcount"), "--input", zone, "--output", dir+"/out")...)
		got := u.Run(t, perJob(suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", zone+"/out")...)
		if got.Code != 1 || countLines(got.Stderr, "lies in an HDFS encryption zone") != 1 || countLines(got.Stderr, "restart") != 0 {
			t.Errorf("want an output in the zone refused without a restart, got %s", got)
		}
		u.CheckGone(t, got.Application(t))
	})
	// The plan is made before YARN is asked: the NameNode has to answer in this time, on a busy machine, too.
	t.Run("a ResourceManager that hangs is given up", func(t *testing.T) {
		if err := c.Pause(t.Context(), "resourcemanager"); err != nil {
			t.Fatal(err)
		}
		silent(t, u, "ResourceManager does not answer", perJob(append([]string{"-D", "client.timeout=3s"}, job...)...)...)
		if err := c.Resume("resourcemanager"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a ResourceManager that is away is given up", func(t *testing.T) {
		if err := c.Kill(t.Context(), "resourcemanager"); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			perJob(append([]string{"-D", "client.timeout=3s"}, job...)...),
			{"applications", "-D", "client.timeout=1s"},
			{"kill", "-D", "client.timeout=1s", "application_1_0001"},
			{"logs", "-D", "client.timeout=1s", "application_1_0001"},
		} {
			silent(t, u, "ResourceManager does not answer", args...)
		}
	})
	t.Run("a NameNode that hangs is given up", func(t *testing.T) {
		if err := c.Pause(t.Context(), "namenode"); err != nil {
			t.Fatal(err)
		}
		silent(t, u, "NameNode "+c.NameNodeAddress()+" did not answer", perJob(append([]string{"-D", "client.timeout=1s"}, job...)...)...)
		if err := c.Resume("namenode"); err != nil {
			t.Fatal(err)
		}
	})
	if got := u.Staging(t); len(got.Applications) != 0 {
		t.Errorf("left behind in the staging area: %+v", got)
	}
	t.Run("a NameNode that is away is given up", func(t *testing.T) {
		if err := c.Kill(t.Context(), "namenode"); err != nil {
			t.Fatal(err)
		}
		silent(t, u, "NameNode "+c.NameNodeAddress()+" did not answer", perJob(append([]string{"-D", "client.timeout=1s"}, job...)...)...)
		if err := c.Restart(t.Context(), "namenode"); err != nil { // for the end of the test
			t.Fatal(err)
		}
	})
}

// silent runs a command that must say of a server that it does not answer: which,
// at what address and for how long it was tried.
func silent(t *testing.T, u *bobbintest.User, server string, args ...string) {
	t.Helper()
	got := u.Run(t, args...)
	lines := strings.Split(strings.TrimSpace(got.Stderr), "\n")
	last := lines[len(lines)-1]
	if got.Code != 1 || got.Stdout != "" || !strings.HasPrefix(last, "bobbin: ") || !strings.Contains(last, server) {
		t.Errorf("%v: want %q, got %s", args, server, got)
	}
	if !strings.Contains(last, "localhost:") || !strings.Contains(last, "tried for ") && !strings.Contains(last, " tries in ") && !strings.Contains(last, " in time") { // no answer, or no connection where one begins with a login
		t.Errorf("%v: %q tells neither where nor for how long", args, last)
	}
	for _, line := range lines[:len(lines)-1] {
		if !strings.Contains(line, "does not answer, trying on: ") {
			t.Errorf("%v: %q is printed besides", args, line)
		}
	}
}

// TestLocalRunNamesBadInput would catch a local run that is less careful than one
// on YARN: the same programs and files are refused in the same words.
func TestLocalRunNamesBadInput(t *testing.T) {
	t.Parallel()
	u := suite.User(t, hasty).With("HADOOP_CONF_DIR")
	dir := t.TempDir()
	for name, content := range map[string]string{"text": "to be\n", "packed.bz2": "BZ"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "done", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ input, output, says string }{
		"a missing input":       {dir + "/none", dir + "/out", "no such file or directory"},
		"a compressed input":    {dir + "/packed.bz2", dir + "/out", "unpack it first"},
		"an output that exists": {dir + "/text", dir + "/done", "exists already"},
	} {
		t.Run(name, func(t *testing.T) {
			got := u.Run(t, "run", "-t", "local", suite.Program(t, "wordcount"), "--input", c.input, "--output", c.output)
			if got.Code != 1 || strings.Count(got.Stderr, "\n") != 1 || !strings.HasPrefix(got.Stderr, "wordcount: ") || !strings.Contains(got.Stderr, c.says) {
				t.Errorf("want one line with %q, got %s", c.says, got)
			}
			if _, err := os.Stat(dir + "/out"); !os.IsNotExist(err) {
				t.Errorf("there is an output: %v", err)
			}
		})
	}
}
