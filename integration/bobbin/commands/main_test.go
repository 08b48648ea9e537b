// Package commands tests what people are told who give bobbin something that cannot
// work, on a real YARN: one line that names the thing and what to do, exit code 1 or 2,
// and nothing left on HDFS or YARN; and how bobbin behaves when it is
// interrupted.
//
// What is refused before the cluster is asked is tested in client/cli, and what each
// check says in client and dataflow: here is what a cluster has to do with.
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

// left is what an attempt could leave behind.
type left struct {
	Staging bobbintest.Staging
	Apps    []string // ours, that wait or run: the harness has others of the same users
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

// refusal is a command that must fail with one line, which says all of these.
type refusal struct {
	name string
	args []string
	says []string
}

// refuseAll runs commands of one user, beside each other, that are refused and leave nothing. It is not for tests that have a
// cluster alone: tests that wait for that cluster would keep its subtests from starting.
func refuseAll(t *testing.T, u *bobbintest.User, table []refusal) {
	t.Helper()
	before := leftOf(t, u)
	t.Run("refused", func(t *testing.T) { // ends when all have
		for _, c := range table {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				refused(t, u, c.says, c.args...)
			})
		}
	})
	unchanged(t, u, before)
}

// refused runs a command that must fail with one line, which says all of these.
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

// codeOf is the exit code that goes with an error: 2 where the command line or an option is wrong, on any cluster.
func codeOf(line string) int {
	for _, fault := range []string{"bobbin: usage: ", "invalid configuration", "container is too small"} {
		if strings.Contains(line, fault) {
			return 2
		}
	}
	return 1
}

// withoutWaits gives the lines of a text but for those about servers that take their time, which a busy machine adds.
func withoutWaits(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, " does not answer, trying again: ") })
}

// countLines tells how many lines of a text hold a word.
func countLines(text, word string) int {
	return len(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return !strings.Contains(line, word) }))
}
