package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestWhatTheClusterWouldRefuseIsRefusedFirst would catch an upload before YARN's
// refusal, a job that waits for a container that no node has, and a master that
// ends because its workers are too small.
func TestWhatTheClusterWouldRefuseIsRefusedFirst(t *testing.T) {
	u := suite.User(t, careless)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	const remedy = "yarn.application.queue"
	for name, c := range map[string]struct {
		options []string
		says    []string
	}{
		"a queue that does not exist": {[]string{"-qu", "nowhere"}, []string{`"nowhere" does not exist`, "-qu", remedy}},
		"a queue of somebody else": {
			[]string{"-qu", "small"}, []string{"user " + careless + " may not submit to root.small", "root.default", "-qu", remedy},
		},
		"the same by its path":  {[]string{"-qu", "root.small"}, []string{"may not submit to root.small"}},
		"a queue with children": {[]string{"-qu", "root"}, []string{"not a leaf queue", "default, small", "-qu"}},
		"too large a master":    {[]string{"-jm", "1000g"}, []string{"the ApplicationMaster asks for 1024000 MB", "lower it (-jm"}},
		"too large a worker":    {[]string{"-tm", "1000g"}, []string{"the TaskExecutor asks for 1024000 MB", "lower it (-tm"}},
		"too many slots":        {[]string{"-tm", "4g", "-s", "20"}, []string{"asks for 20 vcores", "lower it (-s"}},
		"too many cores for the master": {
			[]string{"-D", "yarn.appmaster.vcores=99"}, []string{"the ApplicationMaster asks for 99 vcores", "yarn.appmaster.vcores"},
		},
		"too small a worker": {
			[]string{"-tm", "200m", "-s", "4"}, []string{"200 MB for 4 slots", "taskmanager.memory.process.size of", "or more", "-tm, -s"},
		},
		"too small a master": {[]string{"-jm", "32m"}, []string{"32 MB", "jobmanager.memory.process.size of 64m or more (-jm)"}},
		"a staging directory on this machine": {
			[]string{"-D", "yarn.staging-directory=file:///tmp"}, []string{"yarn.staging-directory is file:///tmp", "name a directory on the cluster's HDFS"},
		},
		"a staging directory of somebody else": {
			[]string{"-D", "yarn.staging-directory=/user/alice/closed"},
			[]string{"permission denied for user " + careless, "/user/alice/closed made for user " + careless, "yarn.staging-directory"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(perJob(c.options...), suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/out")
			refused(t, u, c.says, args...)
		})
	}
}

// TestUserWithoutAHomeIsToldSo would catch "permission denied" alone, on a
// directory that the user has never heard of.
func TestUserWithoutAHomeIsToldSo(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	alice.Write(t, dir+"/text", "to be\n")
	name := fmt.Sprintf("homeless%d", os.Getpid()) // the cluster may have seen this test before
	if c := alice.Cluster; c.Secure() {
		if err := c.Kadmin(t.Context(), "addprinc -randkey "+name, "ktadd -q -k "+c.Keytab(name)+" "+name); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, suite.User(t, name), []string{"/user/" + name + " made for user " + name, "yarn.staging-directory"},
		perJob(suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", "/tmp/homeless-out")...)
}

// TestBadHadoopConfigurationIsNamed would catch an error without file and line,
// and a job for the local disk of one machine that is sent to a cluster.
func TestBadHadoopConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	u := suite.User(t, hasty) // who has nothing to lose: none of this reaches the cluster
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("to be\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := t.TempDir()
	site := filepath.Join(conf, "yarn-site.xml")
	if err := os.WriteFile(site, []byte("<configuration>\n <property>\n  <name>a</name>\n </configuration>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	job := perJob(suite.Program(t, "wordcount"), "--input", text, "--output", text+".out")
	for name, c := range map[string]struct {
		dir  string // of HADOOP_CONF_DIR, as NAME=value or NAME
		says []string
	}{
		"none":            {"HADOOP_CONF_DIR", []string{"neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set", "core-site.xml and yarn-site.xml"}},
		"a missing one":   {"HADOOP_CONF_DIR=" + conf + "/none", []string{"HADOOP_CONF_DIR=" + conf + "/none", "no such file or directory; set it to the directory that holds"}},
		"an empty one":    {"HADOOP_CONF_DIR=" + t.TempDir(), []string{"no core-site.xml", "set HADOOP_CONF_DIR"}},
		"a file":          {"HADOOP_CONF_DIR=" + site, []string{site, "not a directory"}},
		"a malformed one": {"HADOOP_CONF_DIR=" + conf, []string{site + ":4:", "<property>"}},
		"the local disk's": {
			"HADOOP_CONF_DIR=" + copyConf(t, u.Cluster, "hdfs://"+u.Cluster.NameNodeAddress(), "file:///"),
			[]string{"fs.defaultFS is file:///", "core-site.xml:", "set it to the cluster's HDFS"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := u.With(c.dir).Run(t, job...)
			if got.Code != 1 || strings.Count(got.Stderr, "\n") != 1 {
				t.Errorf("want one line, got %s", got)
			}
			for _, want := range c.says {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("%q is not in %q", want, got.Stderr)
				}
			}
		})
	}
}

// copyConf copies the clients' configuration of a cluster and replaces a text in
// its files.
func copyConf(t *testing.T, c *cluster.Cluster, old, text string) string {
	t.Helper()
	dir := t.TempDir()
	replaced := false
	for _, name := range []string{"core-site.xml", "hdfs-site.xml", "yarn-site.xml"} {
		content, err := os.ReadFile(filepath.Join(c.ConfDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(string(content), old, text)
		replaced = replaced || changed != string(content)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !replaced {
		t.Fatalf("%s is nowhere in %s", old, c.ConfDir())
	}
	return dir
}

// TestMasterThatCannotStartSaysWhy would catch a page of YARN's in front of what
// the master said, and files that only a master would have removed.
func TestMasterThatCannotStartSaysWhy(t *testing.T) {
	u := suite.User(t, careless)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	before := leftOf(t, u)
	// Go's runtime ends a process with such a limit.
	got := u.Run(t, perJob("-D", "containerized.master.env.GOMEMLIMIT=much", suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/out")...)
	application := got.Application(t)
	if want := "bobbin: application has ended: " + application + " is FAILED (FAILED): GOMEMLIMIT=much\n"; got.Code != 1 || !strings.Contains(got.Stderr, want) {
		t.Errorf("want %q, got %s", want, got)
	}
	if !strings.HasSuffix(got.Stderr, "More: bobbin logs "+application+"\n") {
		t.Errorf("it does not say where there is more: %s", got)
	}
	unchanged(t, u, before)
}
