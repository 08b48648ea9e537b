package jobs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestAJobWaitsForTheEndOfSafeMode lets a job write its output while the NameNode is in safe mode, and submits another
// job. It would catch tasks that fail because of safe mode, and a command that gives up or is silent.
func TestAJobWaitsForTheEndOfSafeMode(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "puts the NameNode into safe mode")
	alice := suite.UserOf(t, c, bobbintest.Alice)
	safeMode := func(word string) {
		t.Helper()
		if _, err := c.CLIAsSuperuser(t.Context(), cluster.DFSAdmin, "-safemode", word); err != nil {
			t.Fatal(err)
		}
	}

	const patient = "client.timeout=1h" // the JVM that ends it may take long to start
	writes := suite.Dawdle(t, alice, "-p", "1", "-D", "restart-strategy.type=none", "-D", patient)
	safeMode("enter")
	writes.Release(t)
	// SafeModeException begins with the refused operation and the path.
	refused := regexp.MustCompile(`Cannot [a-z ]+` + regexp.QuoteMeta(writes.Output))
	wait.Until(t, "the NameNode has refused the job's output", func() bool {
		log, err := os.ReadFile(filepath.Join(c.LogDir(), "namenode.log"))
		return err == nil && refused.Match(log)
	})
	safeMode("leave")
	writes.CheckSucceeds(t)

	dir := alice.Scratch(t)
	alice.Write(t, dir+"/input", "to be\n")
	safeMode("enter")
	submitted := alice.Start(t, bobbintest.Small("-D", patient, suite.Program(t, "wordcount"), "--input", dir+"/input", "--output", dir+"/output")...)
	submitted.Says(t, "is not ready, trying again")
	safeMode("leave")
	if got := submitted.Wait(t); got.Code != 0 {
		t.Error(got)
	}
}
