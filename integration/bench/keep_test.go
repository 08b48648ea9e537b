package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMeasurementsAreKept would catch half an hour of measurements that is lost to its last section, or to a file that is
// not there, and sections of others that are lost with it.
func TestMeasurementsAreKept(t *testing.T) {
	dir := t.TempDir()
	one, two := table{title: "One", text: "First.", head: []string{"x"}}, table{title: "Two", text: "Second.", head: []string{"y"}}
	path := filepath.Join(dir, "page.md")
	read := func() string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	k, err := keepIn(path, machine{}, "3.4.3")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.add(one); err != nil {
		t.Fatal(err)
	}
	if got := read(); !strings.HasPrefix(got, "# Benchmarks\n") || !strings.Contains(got, "\n## One\n") {
		t.Errorf("after the first section of a new page there is %q", got)
	}
	if k, err = keepIn(path, machine{}, "3.4.3"); err != nil {
		t.Fatal(err)
	}
	if err := k.add(two); err != nil {
		t.Fatal(err)
	}
	if got := read(); !strings.Contains(got, "\n## One\n") || !strings.Contains(got, "\n## Two\n") {
		t.Errorf("beside another section there is %q", got)
	}
	if err := k.end("new\n"); err != nil || read() != "new\n" {
		t.Errorf("at the end there is %q, %v", read(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("beside the page there are %v, %v", left, err)
	}
	if k, err := keepIn("", machine{}, ""); err != nil || k.add(one) != nil || k.end("x") != nil {
		t.Errorf("nothing is to be kept: %v", err)
	}
}

// TestAFileThatCannotBeKeptIsToldFirst would catch a run that finds out at its end.
func TestAFileThatCannotBeKeptIsToldFirst(t *testing.T) {
	dir := t.TempDir()
	for path, good := range map[string]bool{"": true, filepath.Join(dir, "new.md"): true, dir: false, filepath.Join(dir, "none", "page.md"): false} {
		if err := checkKept(path); (err == nil) != good {
			t.Errorf("%q: %v", path, err)
		}
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-only", "cold", "-o", dir}, &out, &errs); code != 1 || !strings.Contains(errs.String(), "no regular file") || out.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, errs.String()) // before a cluster is started, which would be told here
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there are %v, %v", left, err)
	}
}
