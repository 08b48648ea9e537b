package commands

import (
	"bytes"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// java runs one of Hadoop's own commands as HDFS' superuser.
func java(t *testing.T, c *cluster.Cluster, class string, args ...string) {
	t.Helper()
	cmd := c.Command(t.Context(), class, args...)
	if c.Secure() {
		cmd = suite.UserOf(t, c, "nn").Java(t, class, args...)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s", class, args, err, out.Bytes())
	}
}

// TestBadFilesAreRefusedWhilePlanning would catch files that only the tasks find
// wanting, after an upload and several restarts, and an error of the file system
// that does not say what it is about.
func TestBadFilesAreRefusedWhilePlanning(t *testing.T) {
	u := suite.User(t, careless)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be or not to be\n")
	u.Write(t, dir+"/packed.gz", "\x1f\x8b")
	for _, sub := range []string{"/done", "/striped"} {
		if err := u.Files(t).MkdirAll(t.Context(), dir+sub); err != nil {
			t.Fatal(err)
		}
	}
	u.Write(t, dir+"/done/_SUCCESS", "")
	u.Write(t, dir+"/done/part-00000", "or\t1\n")
	u.Write(t, dir+"/striped/old", "written before")

	alice := suite.User(t, bobbintest.Alice)
	closed := alice.Scratch(t)
	alice.Write(t, closed+"/text", "not for everybody\n")
	if err := alice.Files(t).WriteFile(t.Context(), closed+"/secret", []byte("not for others\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := alice.Files(t).MkdirMode(t.Context(), closed+"/room", 0o700); err != nil {
		t.Fatal(err)
	}
	// One DataNode is too few for data, but an empty file has the policy, too.
	java(t, u.Cluster, "org.apache.hadoop.hdfs.tools.ECAdmin", "-enablePolicy", "-policy", "XOR-2-1-1024k")
	java(t, u.Cluster, "org.apache.hadoop.hdfs.tools.ECAdmin", "-setPolicy", "-path", dir+"/striped", "-policy", "XOR-2-1-1024k")
	java(t, u.Cluster, cluster.FsShell, "-touchz", dir+"/striped/new")

	const input, output = "--input", "--output"
	uri := func(path string) string { return "hdfs://" + u.Cluster.NameNodeAddress() + path }
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{
			"a missing input",
			[]string{input, dir + "/nothing", output, dir + "/out"},
			[]string{"input " + dir + "/nothing", uri(dir + "/nothing"), "file does not exist: name a file, a directory or a pattern that is there"},
		},
		{
			"a missing input beside a good one",
			[]string{input, dir + "/text", input, dir + "/none", output, dir + "/out"},
			[]string{"input " + dir + "/none", "file does not exist"},
		},
		{
			"a pattern that matches nothing",
			[]string{input, dir + "/*.csv", output, dir + "/out"},
			[]string{"input " + dir + "/*.csv", "no file matches this pattern: name files that are there"},
		},
		{
			"somebody else's file",
			[]string{input, closed + "/secret", output, dir + "/out"},
			[]string{uri(closed + "/secret"), "permission denied for user " + careless + ": have it made readable"},
		},
		{
			"a file among somebody else's",
			[]string{input, closed + "/*", output, dir + "/out"},
			[]string{closed + "/", "permission denied for user " + careless},
		},
		{
			"somebody else's directory",
			[]string{input, closed + "/room", output, dir + "/out"},
			[]string{uri(closed + "/room"), "permission denied for user " + careless},
		},
		{
			"a compressed file",
			[]string{input, dir + "/packed.gz", output, dir + "/out"},
			[]string{uri(dir + "/packed.gz"), "compressed files are not read yet: unpack it first"},
		},
		{
			"an erasure coded file",
			[]string{input, dir + "/striped", output, dir + "/out"},
			[]string{uri(dir + "/striped/new"), "erasure coded", "use a copy in a directory with replication"},
		},
		{
			"a file system that is not served",
			[]string{input, "s3a://bucket/x", output, dir + "/out"},
			[]string{"s3a://bucket/x", "not supported; use hdfs:// or file://"},
		},
		{
			"an output that exists",
			[]string{input, dir + "/text", output, dir + "/done"},
			[]string{"output " + uri(dir+"/done"), "exists already: remove it, choose another or overwrite it (--overwrite)"},
		},
		{
			"an output that is a file",
			[]string{input, dir + "/text", output, dir + "/text"},
			[]string{"output " + uri(dir+"/text"), "is a file; name a directory"},
		},
		{
			"an output in somebody else's directory",
			[]string{input, dir + "/text", output, closed + "/room/out"},
			[]string{uri(closed + "/room/out"), "permission denied for user " + careless + ": have the directory made writable"},
		},
		{
			"an input in the output",
			[]string{input, dir + "/done/part-00000", output, dir + "/done", "--overwrite"},
			[]string{"input " + uri(dir+"/done/part-00000"), "lies in the output", "choose another output"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, u, c.says, perJob(append([]string{suite.Program(t, "wordcount")}, c.args...)...)...)
		})
	}
	if got := u.Output(t, dir+"/done"); len(got) != 1 || got[0] != "or\t1" {
		t.Errorf("an output that was refused holds %q", got)
	}
}

// TestOutputThatIsRefusedLaterFailsTheJobAtOnce would catch restarts of a job that
// may never write its output, which planning cannot know.
func TestOutputThatIsRefusedLaterFailsTheJobAtOnce(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	mine, theirs := alice.Scratch(t), suite.User(t, hasty).Scratch(t)
	alice.Write(t, mine+"/text", "to be\n")
	got := alice.Run(t, perJob(suite.Program(t, "wordcount"), "--input", mine+"/text", "--output", theirs+"/out")...)
	if got.Code != 1 || countLines(got.Stderr, "permission denied for user alice") != 1 || countLines(got.Stderr, "restart") != 0 {
		t.Errorf("want one refusal and no restart, got %s", got)
	}
	alice.CheckGone(t, got.Application(t))
}
