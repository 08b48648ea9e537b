package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/runnable"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// allPackages lists the module once: it takes seconds.
//
//nolint:gochecknoglobals // constant once it is made
var allPackages = sync.OnceValues(func() ([]pkg, error) { return packages(context.Background()) })

// listed returns the packages of the module.
func listed(t *testing.T) []pkg {
	t.Helper()
	all, err := allPackages()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(all)
}

// told returns the results of a package whose tests wrote this output.
func told(t *testing.T, events ...string) *outcome {
	t.Helper()
	o := &outcome{suite: suite{name: "rpc/x"}, took: time.Minute}
	if err := o.results.read(strings.NewReader(strings.Join(events, "\n")+"\n"), func(string) {}); err != nil {
		t.Fatal(err)
	}
	return o
}

const (
	passes = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":2.5}`
	ended = `{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"pass","Package":"p","Elapsed":3}`
)

func skips(reason string) string {
	return `{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:12: ` + reason + `\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB","Elapsed":0}`
}

// shortening gives the outcome a package of which a short run shortens a test.
func shortening(o *outcome, test string) *outcome {
	o.suite.packages = []pkg{{path: "p", shortened: []string{test}}}
	return o
}

// The test would catch a run that passes although a test did not run, a run that fails because of the long tests, and
// an overlooked test without a result, whose process has died.
func TestARunIsGoodIfEverythingRanAndPassed(t *testing.T) {
	exit := errors.New("exit status 1")
	for name, test := range map[string]struct {
		outcome *outcome
		err     error
		extent  extent
		good    bool
		says    string
	}{
		"all passed":                 {told(t, passes, ended), nil, whole, true, "1 passed, 0 failed, 0 skipped\n"},
		"a long test is skipped":     {told(t, passes, skips(cluster.LongReason), ended), nil, whole, true, "1 passed, 0 failed, 1 skipped\n"},
		"and not in a long run":      {told(t, passes, skips(cluster.LongReason), ended), nil, long, false, "TestB"},
		"another one is skipped":     {told(t, passes, skips("no KDC here"), ended), nil, whole, false, "=== skipped: no KDC here\n"},
		"the rest has it":            {shortening(told(t, passes, skips("slow"), ended), "TestB"), nil, short, true, "=== skipped: " + shortReason + "\n"},
		"no run has it":              {shortening(told(t, passes, skips("slow"), ended), "TestA"), nil, short, false, "=== skipped: slow\n"},
		"the rest skips it too":      {shortening(told(t, passes, skips("slow"), ended), "TestB"), nil, rest, false, "=== skipped: slow\n"},
		"the tool fails":             {told(t, "test2json: no such file"), exit, whole, false, "=== failed: rpc/x"},
		"a test fails":               {told(t, passes, `{"Action":"fail","Package":"p","Test":"TestC","Elapsed":1}`), nil, whole, false, "1 passed, 1 failed"},
		"the process dies in a test": {told(t, passes, `{"Action":"run","Package":"p","Test":"TestD"}`), exit, whole, false, "1 passed, 1 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			test.outcome.err = test.err
			var out strings.Builder
			good := summary{outcomes: []*outcome{test.outcome}, extent: test.extent}.print(&out)
			if good != test.good || !strings.Contains(out.String(), test.says) {
				t.Errorf("good: %t, want %t and %q in\n%s", good, test.good, test.says, &out)
			}
		})
	}
}

// The test would catch a failure whose output is not printed, and passing tests whose output fills the screen.
func TestTheOutputOfFailuresIsShown(t *testing.T) {
	o := told(t, "test2json: no such file", passes,
		`{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:3: got 1, want 2\n"}`, `{"Action":"fail","Package":"p","Test":"TestC","Elapsed":1}`,
		`{"Action":"output","Package":"p","Output":"panic: test timed out\n"}`, `{"Action":"fail","Package":"p","Elapsed":1}`)
	var out strings.Builder
	o.print(&out)
	for want, shown := range map[string]bool{"test2json: no such file": true, "got 1, want 2": true, "panic: test timed out": true, "FAIL\tp\t": true, "chatter": false} {
		if strings.Contains(out.String(), want) != shown {
			t.Errorf("%q is in the output: %t, want %t:\n%s", want, !shown, shown, &out)
		}
	}
}

// The test would catch a package whose tests no run includes or that runs twice, and a table that differs from the
// plan.
func TestTheTableIsThePlan(t *testing.T) {
	text, err := os.ReadFile("../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^//\t(\S+) +([a-z, -]+?) +(\d+\.\d) +\S`)
	short, rest, two := strings.Cut(string(text), "// make test-thorough has these")
	if !two {
		t.Fatal("integration/doc.go has no table of make test-thorough")
	}
	tables := map[bool]map[string]string{false: {}, true: {}} // by whether the suites are thorough
	for thorough, part := range map[bool]string{false: short, true: rest} {
		for _, match := range row.FindAllStringSubmatch(part, -1) {
			tables[thorough][match[1]] = match[2]
		}
	}
	plan := map[bool]map[string]string{false: {}, true: {}}
	for _, s := range suites() {
		var names []string
		for _, k := range s.clusters {
			names = append(names, string(k))
		}
		plan[s.thorough][s.name] = strings.Join(names, ", ")
		if len(names) == 0 {
			plan[s.thorough][s.name] = "own"
		}
	}
	if !maps.EqualFunc(tables, plan, maps.Equal) {
		t.Errorf("integration/doc.go has the suites %v, the plan %v (true: thorough)", tables, plan)
	}

	all := listed(t)
	runs := make(map[string]int)
	for _, s := range append(unit(all), integration(all, false)...) {
		if slices.Contains(s.flags, "-test.run") {
			continue // a part of another suite's tests
		}
		for _, p := range s.packages {
			runs[p.path]++
		}
	}
	for _, p := range all {
		if runs[p.path] != 1 {
			t.Errorf("%s runs in %d suites, want one", p.path, runs[p.path])
		}
	}
}

// The test would catch a package with goroutines whose tests run without the race detector.
func TestGoroutinesRunWithTheRaceDetector(t *testing.T) {
	all := listed(t)
	raced := make(map[string]bool)
	for _, s := range unit(all) {
		for _, p := range s.packages {
			raced[p.path] = raced[p.path] || s.race
		}
	}
	for folder, want := range map[string]bool{
		"appmaster": true, "taskrunner/exchange": true, "internal/ha": true, // in part
		"appmaster/jobmaster/slotpool": false, // a pure core
		"integration/sim":              false, // takes turns
		"dataflow/internal/output":     false, // takes turns
	} {
		if got := raced[module+"/"+folder]; got != want {
			t.Errorf("%s runs with the race detector: %t, want %t", folder, got, want)
		}
	}
	dir := t.TempDir()
	for code, want := range map[string]bool{"": false, "\nfunc TestMain(m *testing.M) { goleak.VerifyTestMain(m) }\n": true} {
		if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte("package a\n"+code), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := startsGoroutines(dir); err != nil || got != want {
			t.Errorf("with %q: goroutines: %t, %v; want %t", code, got, err, want)
		}
	}
}

// The test would catch a suite that needs a cluster but does not declare it, so that the cluster may end too early, and
// a declared cluster that the suite does not need.
func TestSuitesHaveTheClustersThatTheirTestsAskFor(t *testing.T) {
	asked := regexp.MustCompile(`\b(?:clusters\.|(?:Use|Change)\(t, )([A-Z][A-Za-z]+)\b`)
	for _, s := range suites() {
		if s.folders != nil {
			continue // several packages, each with some
		}
		files, err := filepath.Glob(filepath.Join("..", "..", s.name, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var kinds []clusters.Kind
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range asked.FindAllStringSubmatch(string(text), -1) {
				if kind := clusters.Kind(strings.ToLower(match[1])); slices.Contains(clusters.Kinds(), kind) && !slices.Contains(kinds, kind) {
					kinds = append(kinds, kind)
				}
			}
		}
		want := slices.Clone(s.clusters)
		slices.Sort(kinds)
		slices.Sort(want)
		if !slices.Equal(kinds, want) {
			t.Errorf("the tests of %s ask for %v, the plan has %v", s.name, kinds, want)
		}
	}
}

// The test would catch a cluster that runs on when no suite needs it, and one that ends while a suite needs it. The
// suites here fail at once, because there are no programs of their tests.
func TestAClusterEndsWithItsLastSuite(t *testing.T) {
	r := &run{dir: t.TempDir(), logs: t.TempDir(), builder: &builder{}, events: "/nowhere", timeout: time.Minute, out: t.Output()}
	a := suite{name: "a", packages: []pkg{{path: "nowhere"}}, clusters: kinds(clusters.Open)}
	b := suite{name: "b", packages: []pkg{{path: "nowhere"}}, clusters: kinds(clusters.Open, clusters.Victim)}
	done, err := r.suites(t.Context(), []suite{a, b}, 1)
	if err != nil || len(done) != 2 || !done[0].failed() {
		t.Errorf("done are %+v, %v", done, err)
	}
	if r.need["open"] != 0 || r.need["victim"] != 0 {
		t.Errorf("needed are %v", r.need)
	}
}

// running makes a run of suites whose tests are shell scripts.
func running(t *testing.T, scripts map[string]string) (*run, []suite) {
	t.Helper()
	events, err := testEvents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &run{
		dir: t.TempDir(), logs: t.TempDir(), tests: binaries(t.TempDir()), builder: &builder{},
		events: events, timeout: time.Hour, out: t.Output(),
	}
	var list []suite
	for name, script := range scripts {
		p := pkg{path: module + "/" + name, dir: t.TempDir()}
		path := r.tests.path(p, false)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), runnable.Write(path, []byte("#!/bin/sh\n"+script))); err != nil {
			t.Fatal(err)
		}
		list = append(list, suite{name: name, packages: []pkg{p}})
	}
	return r, list
}

// The test would catch a program whose death counts as success because of its earlier output, and a reason that is not
// reported.
func TestHowProgramsEndIsTold(t *testing.T) {
	const begins, passes = "echo '=== RUN   TestA'\n", "echo '--- PASS: TestA (0.00s)'\necho PASS\n"
	wants := map[string]string{ // "": it is good
		"good": "", "dies": "signal: killed", "fails": "exit status 3", "leaves": "=== output of leaves TestA", "says-nothing": "FAIL\t" + module + "/says-nothing",
	}
	r, list := running(t, map[string]string{
		"good": begins + passes, "dies": begins + passes + "kill -9 $$\n", "fails": begins + passes + "exit 3\n", "leaves": begins + "exit 0\n", "says-nothing": "exit 0\n",
	})
	done, err := r.suites(t.Context(), list, 2)
	if err != nil || len(done) != len(wants) {
		t.Fatalf("%d suites are done, %v", len(done), err)
	}
	for _, o := range done {
		want := wants[o.suite.name]
		var out strings.Builder
		o.print(&out)
		if o.failed() != (want != "") || !strings.Contains(out.String(), want) {
			t.Errorf("%s: failed is %t, want %q in\n%s", o.suite.name, o.failed(), want, &out)
		}
	}
}

// The test would catch a program without tests that counts as a program whose tests passed, and a program of another
// package in its place.
func TestProgramsAreBuiltAndRun(t *testing.T) {
	all := listed(t)
	r, _ := running(t, nil)
	var list []suite
	places := make(map[string]string)
	for _, p := range all {
		if other := places[r.tests.path(p, true)]; other != "" {
			t.Errorf("%s and %s have one place", p.path, other)
		}
		places[r.tests.path(p, true)] = p.path
		if p.below("integration/internal/filelock") {
			list = append(list, suite{name: "locks", packages: []pkg{p}})
		}
	}
	r.builder = newBuilder(r.tests, "", list, 1)
	done, err := r.all(t.Context(), list, 1)
	if err != nil || len(done) != 1 || done[0].failed() || len(done[0].results.tests) < 2 {
		t.Errorf("done are %+v, %v", done, err)
	}
}

// The test would catch a Ctrl-C that leaves a suite's tests running because they do not receive it, or that is reported
// as success.
func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	r, list := running(t, map[string]string{"a": "trap 'exit 17' INT\ntouch begun\nwhile :; do sleep 0.1; done\n"})
	go func() {
		cancel(errors.Join(interrupted, wait.Poll(ctx, "the tests to begin", func() error {
			_, err := os.Stat(filepath.Join(list[0].packages[0].dir, "begun"))
			return err
		})))
	}()
	done, err := r.all(ctx, list, 2)
	if !errors.Is(err, interrupted) || len(done) != 1 || done[0].err == nil || !strings.Contains(done[0].err.Error(), "exit status 17") {
		t.Errorf("the run ended with %v, and %+v", err, done)
	}
}
