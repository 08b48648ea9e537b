package commands

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// TestBadFilesAreRefusedWhilePlanning would catch bad files that only the tasks find, after an
// upload and several restarts, and an error of HDFS that does not name the file.
func TestBadFilesAreRefusedWhilePlanning(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be or not to be\n")
	if err := u.Files(t).MkdirAll(t.Context(), dir+"/done"); err != nil {
		t.Fatal(err)
	}
	u.Write(t, dir+"/done/_SUCCESS", "")
	u.Write(t, dir+"/done/part-00000", "or\t1\n")

	alice := suite.User(t, bobbintest.Alice)
	closed := alice.Scratch(t)
	alice.Write(t, closed+"/text", "not for everybody\n")
	if err := alice.Files(t).WriteFile(t.Context(), closed+"/secret", []byte("not for others\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := alice.Files(t).MkdirAllMode(t.Context(), closed+"/room", 0o700); err != nil {
		t.Fatal(err)
	}

	uri := func(path string) string { return "hdfs://" + u.Cluster.NameNodeAddress() + path }
	denied := "permission denied for user " + u.Name
	count := func(input, output string) []string {
		return bobbintest.Small(suite.Program(t, "wordcount"), "--input", input, "--output", output)
	}
	refuseAll(t, u, []refusal{
		{
			"a missing input", count(dir+"/nothing", dir+"/out"),
			[]string{"input " + dir + "/nothing", uri(dir + "/nothing"), "file does not exist: name an existing file or directory, or a pattern that matches"},
		},
		{"somebody else's file", count(closed+"/secret", dir+"/out"), []string{uri(closed + "/secret"), denied + ": ask for permission to read it"}},
		{"a file among somebody else's", count(closed+"/*", dir+"/out"), []string{closed + "/", denied}},
		{"somebody else's directory", count(closed+"/room", dir+"/out"), []string{uri(closed + "/room"), denied}},
		{
			"an output that exists", count(dir+"/text", dir+"/done"),
			[]string{"output " + uri(dir+"/done"), "exists already: remove it, choose another, or pass dataflow.Overwrite() to the sink to replace it"},
		},
		{
			"an output in somebody else's directory", count(dir+"/text", closed+"/room/out"),
			[]string{uri(closed + "/room/out"), denied + ": ask for permission to write there"},
		},
	})
	if got := u.Output(t, dir+"/done"); len(got) != 1 || got[0] != "or\t1" {
		t.Errorf("an output that was refused holds %q", got)
	}
}

// TestOutputThatIsRefusedLaterFailsTheJobAtOnce would catch restarts of a job that has no
// permission to write its output. The planner cannot know this.
func TestOutputThatIsRefusedLaterFailsTheJobAtOnce(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	mine, theirs := alice.Scratch(t), suite.User(t, clusters.Bob).Scratch(t)
	alice.Write(t, mine+"/text", "to be\n")
	got := alice.Run(t, bobbintest.Small(suite.Program(t, "wordcount"), "--input", mine+"/text", "--output", theirs+"/out")...)
	if got.Code != 1 || countLines(got.Stderr, "permission denied for user alice") != 1 || countLines(got.Stderr, "restart") != 0 {
		t.Errorf("want one refusal and no restart, got %s", got)
	}
	alice.CheckGone(t, got.Application(t))
}
