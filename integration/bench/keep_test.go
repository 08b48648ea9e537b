package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

// TestMeasurementsAreKept would catch half an hour of measurements that is lost because the last section fails or the
// file does not exist, sections of earlier runs that are lost, and a section that seems to be measured on the machine of the others.
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
	if strings.Contains(read(), "another machine") {
		t.Errorf("on the machine of the page: %q", read())
	}
	if k, err = keepIn(path, machine{processor: "Abacus"}, "3.4.3"); err != nil {
		t.Fatal(err)
	}
	if err := k.add(two); err != nil {
		t.Fatal(err)
	}
	if got := read(); !strings.Contains(got, "on another machine, ") || !strings.Contains(got, " × Abacus, ") || strings.Index(got, "another machine") < strings.Index(got, "## Two") {
		t.Errorf("on another machine: %q", got)
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

// TestAFailedSectionLosesNoOther would catch half an hour of measurements that is lost because a later section fails.
func TestAFailedSectionLosesNoOther(t *testing.T) {
	measured := table{title: "One", text: "First.", head: []string{"x"}, rows: [][]string{{"1"}}}
	partial := table{title: "Two", text: "Second.", head: []string{"y"}, rows: [][]string{{"2"}}}
	broken := errors.New("the cluster is on fire")
	giving := func(s table, err error) func(context.Context, *rig) (table, error) {
		return func(context.Context, *rig) (table, error) { return s, err }
	}
	never := func(context.Context, *rig) (table, error) {
		t.Error("a section behind the one that failed is measured")
		return table{}, nil
	}
	path := filepath.Join(t.TempDir(), "page.md")
	log := logrus.New()
	log.SetOutput(t.Output())
	for name, second := range map[string]table{"at once": {title: "Two"}, "late": partial} {
		var out bytes.Buffer
		e := edition{file: path, whole: true, log: log, sections: []section{
			{name: "one", measure: giving(measured, nil)}, {name: "two", measure: giving(second, broken)}, {name: "three", measure: never},
		}}
		if err := e.publish(t.Context(), nil, &out); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "section two: ") {
			t.Errorf("%s: %v", name, err)
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const one, two = "\n## One\n", "\n## Two\n"
		shown := len(second.rows) > 0
		if !strings.Contains(out.String(), one) || strings.Contains(out.String(), two) != shown || strings.Contains(out.String(), "The section failed") != shown {
			t.Errorf("%s: printed %q", name, out.String())
		}
		if !strings.Contains(string(kept), one) || strings.Contains(string(kept), two) {
			t.Errorf("%s: kept %q", name, kept)
		}
	}
}

// TestAFileThatCannotBeKeptIsToldFirst would catch a run that finds out only at its end.
func TestAFileThatCannotBeKeptIsToldFirst(t *testing.T) {
	dir := t.TempDir()
	for path, good := range map[string]bool{"": true, filepath.Join(dir, "new.md"): true, dir: false, filepath.Join(dir, "none", "page.md"): false} {
		if err := checkKept(path); (err == nil) != good {
			t.Errorf("%q: %v", path, err)
		}
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-only", "cold", "-o", dir}, &out, &errs); code != 1 || !strings.Contains(errs.String(), "not a regular file") || out.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, errs.String()) // before a cluster starts, whose start would be reported here
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there are %v, %v", left, err)
	}
}
