package pages

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demoSize is the size of the demos' text, smaller than theirs to save time.
const demoSize = "10m"

// TestDemos would catch a demo that does not run on a fresh machine, counts wrongly, or leaves something behind.
func TestDemos(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"demo", "demo-yarn"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			w, err := place.fork(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), pageLimit)
			defer cancel()
			out, err := w.command(ctx, "make", target, "SIZE="+demoSize).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if want := topTen(t, w); !strings.Contains(string(out), want) {
				t.Errorf("the demo prints\n%s\nwant in it\n%s", out, want)
			}
			w.wantNothingLeft(t)
		})
	}
}

// TestDemoYARNEndsItsClusterAtCtrlC would catch daemons that outlive the demo they were started for.
func TestDemoYARNEndsItsClusterAtCtrlC(t *testing.T) {
	t.Parallel()
	w, err := place.fork(t.Context(), "demo-that-is-interrupted")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), pageLimit)
	defer cancel()
	var out bytes.Buffer
	demo := w.command(ctx, "make", "demo-yarn")
	demo.Stdout, demo.Stderr = &out, &out
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- demo.Wait() }()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for interrupted := false; ; {
		select {
		case <-ticker.C:
		case err := <-ended:
			if !interrupted || err == nil {
				t.Fatalf("the demo ends by itself: %v\n%s", err, out.Bytes())
			}
			w.wantNothingLeft(t)
			return
		}
		if !interrupted && len(w.daemons(t)) >= 3 { // of four
			interrupted = true
			if err := syscall.Kill(-demo.Process.Pid, syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// daemons are the processes of clusters whose folders are among the workplace's temporary files.
func (w *workplace) daemons(t *testing.T) []string {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range environments {
		env, err := os.ReadFile(path) // of a process that has ended, or is another user's: nothing
		if err == nil && bytes.Contains(env, []byte("BOBBIN_CLUSTER_DIR="+w.temp)) {
			found = append(found, path)
		}
	}
	return found
}

// wantNothingLeft checks that neither processes nor files are left.
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
		if strings.HasPrefix(entry.Name(), "tmp.") { // mktemp's
			t.Errorf("files are left: %s", entry.Name())
		}
	}
}

// topTen counts the words of the demos' text in the plainest way, and gives the ten most frequent as the demos print them.
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
