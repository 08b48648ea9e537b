package options

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestABinaryThatWasChangedIsNotStarted lets NodeManagers localize a changed bobbin under the same build id, as an
// attacker could do on HDFS. It would catch an ApplicationMaster that runs it, and a user who does not learn the
// reason.
func TestABinaryThatWasChangedIsNotStarted(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	binary, err := os.ReadFile(suite.Bobbin(t))
	if err != nil {
		t.Fatal(err)
	}
	binary[len(binary)-1] ^= 1 // it would run nevertheless
	local := t.TempDir()
	if err := os.WriteFile(filepath.Join(local, "bobbin"), binary, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := alice.Scratch(t)
	alice.Put(t, local, dir+"/lib")
	alice.Put(t, suite.Generate(t, "-size", "20k", "-files", "1"), dir+"/text")
	got := alice.Run(t, bobbintest.Small(slices.Concat(option("yarn.provided.lib.dirs", dir+"/lib"),
		[]string{suite.Program(t, "wordcount"), "--input", dir + "/text", "--output", dir + "/counts"})...)...)
	if got.Code != 1 || !strings.Contains(got.Stderr, "bobbin is not started") {
		t.Errorf("want exit code 1 and why, got %s", got)
	}
	application := got.Application(t)
	if app := alice.WaitEnded(t, application); app.FinalStatus != "FAILED" || !strings.Contains(app.Diagnostics, "bobbin is not started") {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	if names := alice.Names(t, dir); slices.Contains(names, "counts") {
		t.Errorf("the job has begun its output: %v", names)
	}
}
