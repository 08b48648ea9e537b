// Package commands tests what people are told who give bobbin something that cannot
// work, on a real YARN: one line that names the thing and what to do, exit code 1,
// and nothing left on HDFS or YARN; and how bobbin behaves when it is
// interrupted.
package commands

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// Users with homes on HDFS. A test that looks for what is left behind has one of
// its own, since tests run beside each other.
const (
	careless = "careless" // whose input is bad
	hasty    = "hasty"    // who interrupts
	small    = "small"    // who alone may use the queue small
)

var suite = bobbintest.NewSuite(clusters.Open)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// perJob is a command line in the smallest containers that our processes fit
// into.
func perJob(args ...string) []string {
	return append([]string{"run", "-t", "yarn-per-job", "-jm", "256m", "-tm", "320m"}, args...)
}

// left is what an attempt could leave behind.
type left struct {
	Staging bobbintest.Staging
	Apps    []string // that wait or run
}

func leftOf(t *testing.T, u *bobbintest.User) left {
	t.Helper()
	apps, err := u.Cluster.RM().Apps(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := left{Staging: u.Staging(t)}
	for _, app := range apps {
		if app.User == u.Name && !bobbintest.Ended(app) {
			l.Apps = append(l.Apps, app.ID)
		}
	}
	return l
}

// refused runs a command that must fail with one line, which says all of these,
// and leave nothing.
func refused(t *testing.T, u *bobbintest.User, says []string, args ...string) {
	t.Helper()
	before := leftOf(t, u)
	got := u.Run(t, args...)
	line := strings.TrimSuffix(got.Stderr, "\n")
	if got.Code != 1 || got.Stdout != "" || strings.Contains(line, "\n") || !strings.HasPrefix(line, "bobbin: ") {
		t.Errorf("want exit code 1 and one line on stderr, got %s", got)
	}
	for _, want := range says {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	unchanged(t, u, before)
}

func unchanged(t *testing.T, u *bobbintest.User, before left) {
	t.Helper()
	if diff := cmp.Diff(before, leftOf(t, u)); diff != "" {
		t.Errorf("something is left behind (-before +after):\n%s", diff)
	}
}

// countLines tells how many lines of a text hold a word.
func countLines(text, word string) int {
	return len(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return !strings.Contains(line, word) }))
}
