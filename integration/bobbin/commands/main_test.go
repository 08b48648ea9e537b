// Package commands tests the errors of bobbin for wrong input, on a real YARN. An error must be one line that names the
// object and the remedy, with exit code 1 or 2, and leave nothing on HDFS or YARN. The package also tests interrupts of
// bobbin.
//
// client/cli tests the errors that need no cluster. client and dataflow test the text of each check. This package tests
// the errors for which a cluster is needed.
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

var suite = bobbintest.NewSuite(clusters.Open)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// left is the state that a failed command could leave behind.
type left struct {
	Staging bobbintest.Staging
	Apps    []string // the user's waiting and running applications of these tests; the harness has others of the same users
}

func leftOf(t *testing.T, u *bobbintest.User) left {
	t.Helper()
	l := left{Staging: u.Staging(t)}
	for _, app := range u.AllApps(t) {
		if app.Type == "Bobbin" && !bobbintest.Ended(app) {
			l.Apps = append(l.Apps, app.ID)
		}
	}
	return l
}

func unchanged(t *testing.T, u *bobbintest.User, before left) {
	t.Helper()
	if diff := cmp.Diff(before, leftOf(t, u)); diff != "" {
		t.Errorf("the command left files or applications behind (-before +after):\n%s", diff)
	}
}

// refusal is a command that must fail with one line, which contains all of these texts.
type refusal struct {
	name string
	args []string
	says []string
}

// refuseAll runs commands of one user side by side, which must be refused and leave nothing. Do not use it in tests
// that have a cluster alone, because tests that wait for that cluster would keep its subtests from starting.
func refuseAll(t *testing.T, u *bobbintest.User, table []refusal) {
	t.Helper()
	before := leftOf(t, u)
	t.Run("refused", func(t *testing.T) { // ends when all subtests have ended
		for _, c := range table {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				refused(t, u, c.says, c.args...)
			})
		}
	})
	unchanged(t, u, before)
}

// refused runs a command that must fail with one line, which contains all of these texts.
func refused(t *testing.T, u *bobbintest.User, says []string, args ...string) {
	t.Helper()
	got := u.Run(t, args...)
	lines := withoutWaits(got.Stderr)
	code := codeOf(lines[0])
	if got.Code != code || got.Stdout != "" || len(lines) != 1 || !strings.HasPrefix(lines[0], "bobbin: ") {
		t.Fatalf("want exit code %d and one line on stderr, got %s", code, got)
	}
	for _, want := range says {
		if !strings.Contains(lines[0], want) {
			t.Errorf("%q is not in %q", want, lines[0])
		}
	}
}

// codeOf returns the exit code for an error: 2 if the command line or an option is wrong on any cluster.
func codeOf(line string) int {
	for _, fault := range []string{"bobbin: usage: ", "invalid configuration", "container is too small"} {
		if strings.Contains(line, fault) {
			return 2
		}
	}
	return 1
}

// withoutWaits removes the lines about slow servers from a text, because a busy machine adds them.
func withoutWaits(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, " does not answer, trying again: ") })
}

// countLines returns the number of lines that contain a word.
func countLines(text, word string) int {
	return len(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return !strings.Contains(line, word) }))
}
