package pages

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/runnable"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// demoSize is the size of the text in these tests. It is smaller than the demos' own, to save time.
const demoSize = "10m"

// TestDemo would catch a demo that does not run on a fresh machine, counts wrongly, or leaves something behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	w := fork(t, "demo")
	w.wantTopTen(t, w.runDemo(t, "demo", "SIZE="+demoSize))
}

// TestDemoYARN would catch the same errors in the demo on YARN. It uses the tests' cluster instead of one that
// scripts/cluster starts and ends. In long runs, a page and other demos start clusters of their own.
func TestDemoYARN(t *testing.T) {
	t.Parallel()
	w := fork(t, "demo-yarn")
	c := clusters.Use(t, clusters.Open)
	files := rpctest.HDFS(t, c)
	clean := func() {
		if err := files.Remove(wait.Context(t), "/demo"); err != nil {
			t.Error(err)
		}
	}
	clean() // from an earlier run
	t.Cleanup(clean)
	calls := w.standIn(t, c)
	out := w.runDemo(t, "demo-yarn", "SIZE="+demoSize)
	w.wantTopTen(t, out)
	w.wantSucceeded(t, c, out)

	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	var verbs []string
	for call := range strings.Lines(string(text)) {
		if verb, _, _ := strings.Cut(strings.TrimSpace(call), " "); verb != "fs" {
			verbs = append(verbs, verb)
		}
	}
	if !slices.Equal(verbs, []string{"fetch", "up", "down"}) {
		t.Errorf("the demo asks for\n%s", text)
	}
}

// TestDemoYARNHasAClusterOfItsOwn would catch a cluster that is too small for the demo.
func TestDemoYARNHasAClusterOfItsOwn(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	w := fork(t, "demo-yarn-alone")
	w.wantTopTen(t, w.runDemo(t, "demo-yarn", "SIZE="+demoSize))
}

// TestDemoYARNEndsItsClusterAtCtrlC would catch daemons that outlive the demo.
func TestDemoYARNEndsItsClusterAtCtrlC(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	w := fork(t, "demo-that-is-interrupted")
	shell := openTerminal(t, w, nil)
	if _, err := io.WriteString(shell.stdin, "exec make demo-yarn\n"); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "a daemon", func() (bool, error) {
		if !shell.runs() {
			return false, fmt.Errorf("the demo ends by itself: %s", shell.shown())
		}
		return len(w.daemons(t)) > 0, nil
	})
	if err := syscall.Kill(-shell.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the demo's end", func() (bool, error) { return !shell.runs(), nil })
	if shell.cmd.ProcessState.Success() || !strings.Contains(shell.shown(), "Stopping the cluster") {
		t.Errorf("the demo ends with %v\n%s", shell.cmd.ProcessState, shell.shown())
	}
	w.wantNothingLeft(t)
}

// standIn replaces scripts/cluster in the workplace by a script that uses a running cluster and does not end it. Where
// the demo chooses the cluster's folder, that is a link to the running cluster's. standIn returns the path of the file
// with the calls.
func (w *workplace) standIn(t *testing.T, c *cluster.Cluster) (calls string) {
	t.Helper()
	tool, err := place.clusterTool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	calls = filepath.Join(w.root, "calls")
	script := filepath.Join(w.repo, "scripts", "cluster")
	text := fmt.Sprintf(`#!/bin/sh
echo "$*" >>'%[1]s'
verb=$1
shift
dir=
if [ "${1-}" = --dir ]; then
	dir=$2
	shift 2
fi
case $verb in
up) if [ -n "$dir" ]; then ln -s '%[2]s' "$dir"; fi ;;
down) if [ -n "$dir" ]; then rm "$dir"; fi ;;
env | status | fs) exec '%[3]s' "$verb" --dir '%[2]s' "$@" ;;
esac
`, calls, c.Dir(), tool)
	err = errors.Join(os.Remove(script), runnable.Write(script, []byte(text))) // other workplaces share the file
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// runDemo runs a target of the Makefile until its end, checks that nothing is left, and returns the output.
func (w *workplace) runDemo(t *testing.T, target string, variables ...string) string {
	t.Helper()
	shell := openTerminal(t, w, nil)
	err := shell.run(t, block{text: "make " + strings.Join(append([]string{target}, variables...), " ") + "\n"})
	if err := errors.Join(err, shell.close()); err != nil {
		t.Fatalf("%v\n%s", err, shell.shown())
	}
	w.wantNothingLeft(t)
	return shell.shown()
}

// wantTopTen checks the output of a demo.
func (w *workplace) wantTopTen(t *testing.T, out string) {
	t.Helper()
	if want := topTen(t, w); !strings.Contains(out, want) {
		t.Errorf("the demo prints\n%s\nwant in it\n%s", out, want)
	}
}

// wantSucceeded checks the applications that a demo's output names.
func (w *workplace) wantSucceeded(t *testing.T, c *cluster.Cluster, out string) {
	t.Helper()
	var seen ledger
	apps, err := (&reader{place: w, named: true}).started(t, c, out)
	if err == nil {
		err = errors.Join(seen.look(block{}, apps), seen.close())
	}
	if err != nil || len(apps) != 1 {
		t.Errorf("%d applications: %v\n%s", len(apps), err, out)
	}
}

// daemons returns the processes of clusters whose folders are among the workplace's temporary files.
func (w *workplace) daemons(t *testing.T) []string {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range environments {
		env, err := os.ReadFile(path) // empty for an ended process, or another user's
		if err == nil && bytes.Contains(env, []byte("BOBBIN_CLUSTER_DIR="+w.temp)) {
			found = append(found, path)
		}
	}
	return found
}

// wantNothingLeft checks that no processes and files are left.
func (w *workplace) wantNothingLeft(t *testing.T) {
	t.Helper()
	if found := w.daemons(t); len(found) > 0 {
		t.Errorf("processes are left: %q", found)
	}
	entries, err := os.ReadDir(w.temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "tmp.") { // mktemp made it
			t.Errorf("files are left: %s", entry.Name())
		}
	}
}

// topTen counts the words of the demos' text in the simplest way, and returns the ten most frequent words in the demos'
// format.
func topTen(t *testing.T, w *workplace) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), filepath.Join(w.repo, "bin", "examples", "gentext"), "-size", demoSize, "-files", "4", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("files %q, %v", files, err)
	}
	counts := map[string]int{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for word := range strings.FieldsFuncSeq(strings.ToLower(string(content)), func(r rune) bool { return r < 'a' || r > 'z' }) {
			counts[word]++
		}
	}
	words := make([]string, 0, len(counts))
	for word := range counts {
		words = append(words, word)
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var top strings.Builder
	for _, word := range words[:10] {
		fmt.Fprintf(&top, "%s\t%d\n", word, counts[word])
	}
	return top.String()
}
