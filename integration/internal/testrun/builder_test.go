package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// The test would catch unit tests that are built before the suites that wait for YARN, and a suite that nobody builds.
func TestTheLongestWaitsAreBuiltFirst(t *testing.T) {
	all := listed(t)
	list := append(unit(all), integration(all, false)...)
	b := newBuilder("tests", "bin", list, 3)
	if len(b.parts) != 3 || b.bin != "bin" {
		t.Fatalf("the builder has %d parts and builds programs into %q", len(b.parts), b.bin)
	}
	var names, units []string
	for _, p := range b.parts {
		for _, s := range p.suites {
			names = append(names, s.name)
		}
	}
	for _, s := range b.parts[2].suites {
		units = append(units, s.name)
		if len(s.clusters) > 0 {
			t.Errorf("%s is built last, and has clusters", s.name)
		}
	}
	if want := []string{"bobbin/jobs", "rpc/yarn", "bobbin/sessions"}; !slices.Equal(names[:3], want) || len(b.parts[0].suites) != 3 {
		t.Errorf("%d suites are built first, %v; want %v", len(b.parts[0].suites), names[:3], want)
	}
	if len(names) != len(list) || len(units) != len(unit(all)) {
		t.Errorf("built are %v, at last %v; want %d suites, at last %d", names, units, len(list), len(unit(all)))
	}
	if b := newBuilder("tests", "bin", unit(all), 3); b.bin != "" || len(b.parts) != 1 {
		t.Errorf("without clusters, there are %d parts, and programs in %q", len(b.parts), b.bin)
	}
}

// The test would catch a suite that begins before its programs exist, and suites that wait until all programs exist:
// here the programs of b appear only when the suite a has begun.
func TestSuitesRunWhileOthersAreBuilt(t *testing.T) {
	r, list := running(t, map[string]string{
		"a": "touch begun\necho '=== RUN   TestA'\necho '--- PASS: TestA (0.00s)'\necho PASS\n",
		"b": "echo '=== RUN   TestB'\necho '--- PASS: TestB (0.00s)'\necho PASS\n",
	})
	slices.SortFunc(list, func(a, b suite) int { return strings.Compare(b.name, a.name) })
	b, a := list[0], list[1]
	b.unit = true
	r.builder = &builder{parts: []part{{[]suite{a}, make(chan struct{})}, {[]suite{b}, make(chan struct{})}}}
	hidden := r.tests.path(b.packages[0], false)
	if err := os.Rename(hidden, hidden+".later"); err != nil {
		t.Fatal(err)
	}
	built := make(chan error, 1)
	go func() {
		close(r.builder.parts[0].built)
		err := wait.Poll(wait.Context(t), "the first suite to begin", func() error {
			_, err := os.Stat(filepath.Join(a.packages[0].dir, "begun"))
			return err
		})
		built <- errors.Join(err, os.Rename(hidden+".later", hidden))
		close(r.builder.parts[1].built)
	}()
	done, err := r.suites(t.Context(), []suite{b, a}, 2)
	if err := errors.Join(err, <-built); err != nil || len(done) != 2 || done[0].failed() || done[1].failed() {
		t.Errorf("done are %+v, %v", done, err)
	}
}

// The test would catch a run that waits forever for programs that cannot be built, or that counts as good.
func TestAFailedBuildEndsTheRun(t *testing.T) {
	r, list := running(t, map[string]string{"a": "trap 'exit 17' INT\nwhile :; do sleep 0.1; done\n"})
	broken := suite{name: "broken", unit: true, packages: []pkg{{path: module + "/nowhere"}}}
	r.builder = newBuilder(r.tests, "", []suite{broken}, 1)
	_, err := r.all(t.Context(), append(list, broken), 2)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v, want the exit code of the build", err)
	}
}

// The test would catch a suite that neither `scripts/test unit` nor `scripts/test integration` runs, or that both run.
func TestTheScriptChoosesEachSuiteOnce(t *testing.T) {
	text, err := os.ReadFile("../../../scripts/test")
	if err != nil {
		t.Fatal(err)
	}
	choices := regexp.MustCompile(`only='(.+)'`).FindAllStringSubmatch(string(text), -1)
	if len(choices) != 2 {
		t.Fatalf("scripts/test chooses suites by %q, want two choices", choices)
	}
	all := listed(t)
	for _, s := range append(unit(all), integration(all, true)...) {
		units, others := regexp.MustCompile(choices[0][1]).MatchString(s.name), regexp.MustCompile(choices[1][1]).MatchString(s.name)
		if units != s.unit || others == s.unit {
			t.Errorf("%s: `scripts/test unit` runs it: %t, `scripts/test integration`: %t", s.name, units, others)
		}
	}
}
