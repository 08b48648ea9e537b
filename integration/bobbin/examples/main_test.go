// Package examples tests the programs of examples/ that use only package yarnrpc. It runs them like a user, on a real
// cluster.
package examples

import (
	"os"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var suite = bobbintest.NewSuite(clusters.Open)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// runs runs an example as alice until its end.
func runs(t *testing.T, example string, args ...string) bobbintest.Outcome {
	t.Helper()
	return suite.User(t, bobbintest.Alice).StartProgram(t, suite.Program(t, example), args...).Wait(t)
}

// ended returns the final state of an application in YARN's words. For an unmanaged one, YARN may report the end a
// moment early, so it waits.
func ended(t *testing.T, id string) records.ApplicationReport {
	t.Helper()
	parsed, err := records.ParseApplicationID(id)
	if err != nil {
		t.Fatal(err)
	}
	return rpctest.Await(t, suite.User(t, bobbintest.Alice).Client(t).YARN, parsed, "ended", rpctest.Ended)
}

// logs returns the logs of an ended application. Its nodes keep none.
func logs(t *testing.T, application string) map[bobbintest.LogFile]string {
	t.Helper()
	alice := suite.User(t, bobbintest.Alice)
	alice.WaitLogs(t, application)
	return alice.Logs(t, application)
}

// containers returns the number of containers with logs.
func containers(logs map[bobbintest.LogFile]string) int {
	found := make(map[string]bool)
	for file := range logs {
		found[file.Container] = true
	}
	return len(found)
}

// written returns the lines that the containers of an application have written to a file, in any order.
func written(logs map[bobbintest.LogFile]string, name string) string {
	var all strings.Builder
	for file, text := range logs {
		if file.Name == name {
			all.WriteString(text)
		}
	}
	return all.String()
}
