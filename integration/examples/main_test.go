// Package examples tests the programs of examples/ that use package yarnrpc alone, as
// their users run them, on a real cluster.
package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var suite = bobbintest.NewSuite(cluster.Config{})

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// runs runs an example as alice to its end.
func runs(t *testing.T, example string, args ...string) bobbintest.Outcome {
	t.Helper()
	return suite.User(t, bobbintest.Alice).StartProgram(t, suite.Program(t, example), args...).Wait(t)
}

// ended is how an application has ended, in YARN's words. Of one whose master is unmanaged YARN says that it has ended
// a moment before it has.
func ended(t *testing.T, id string) records.ApplicationReport {
	t.Helper()
	parsed, err := records.ParseApplicationID(id)
	if err != nil {
		t.Fatal(err)
	}
	yarn := suite.User(t, bobbintest.Alice).Client(t).YARN
	var report records.ApplicationReport
	bobbintest.Eventually(t, id+" ends", func() (bool, error) {
		var err error
		report, err = yarn.ApplicationReport(t.Context(), parsed)
		return report.State.Terminal(), err
	})
	return report
}

// logs are the files of a name, a pattern of path.Match, that the containers of an application have in their log folders.
func logs(t *testing.T, application, name string) []string {
	t.Helper()
	var found []string
	for _, node := range []string{"nodemanager1", "nodemanager2"} {
		names, err := filepath.Glob(filepath.Join(suite.Cluster(t).ContainerLogDir(node), application, "*", name))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	return found
}

// containers counts those that an application has had.
func containers(t *testing.T, application string) int {
	t.Helper()
	return len(logs(t, application, "prelaunch.out"))
}

// written is what the containers of an application have written to a file, in no particular order.
func written(t *testing.T, application, file string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range logs(t, application, file) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
