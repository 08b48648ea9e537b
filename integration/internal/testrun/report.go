package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// outcome is the result of a suite.
type outcome struct {
	suite   suite
	took    time.Duration
	results results
	err     error // errors of packages' processes, such as their exit codes
}

// failed reports whether the run fails because of this suite. A test without a result was running when its process
// ended.
func (o *outcome) failed() bool {
	return o.err != nil || slices.ContainsFunc(o.results.tests, (*test).failed)
}

// print prints a suite as `go test` prints packages, with all output of failed tests.
func (o *outcome) print(w io.Writer) {
	for _, t := range o.results.tests {
		if t.name != "" {
			continue
		}
		word := "ok  "
		if t.result != "pass" {
			word = "FAIL"
		}
		fmt.Fprintf(w, "%s\t%s\t%.1fs\n", word, t.pkg, t.seconds)
	}
	if !o.failed() {
		return
	}
	for _, line := range o.results.strange {
		fmt.Fprint(w, line)
	}
	for _, t := range o.results.tests {
		if t.failed() { // the package has the last output of a process that dies
			fmt.Fprintf(w, "=== output of %s\n%s", t.short(), strings.Join(t.output, ""))
		}
	}
	if o.err != nil {
		fmt.Fprintf(w, "FAIL\t%s: %v\n", o.suite.name, o.err)
	}
}

// summary is the end of a run's output.
type summary struct {
	outcomes []*outcome
	extent   extent
	took     time.Duration
	figures  string // figures that tests have measured
	races    string // reports of the race detector about programs in containers
}

// shortReason takes the place of the reasons with which tests are skipped in a short run.
const shortReason = "not in a short run; make test-thorough runs it"

// slowest is the number of slowest tests to print.
const slowest = 10

// print prints the summary, and reports whether the run was good.
func (s summary) print(w io.Writer) (good bool) {
	s.printMinutes(w)
	s.printSlowest(w)
	unwanted := s.printSkipped(w)
	if s.figures != "" {
		fmt.Fprintf(w, "=== figures\n%s", s.figures)
	}
	if s.races != "" {
		fmt.Fprintf(w, "=== races\n%s", s.races)
	}
	counts := map[string]int{}
	good = unwanted == 0 && s.races == ""
	var failed []string
	for _, o := range s.outcomes {
		good = good && !o.failed()
		if o.failed() {
			failed = append(failed, o.suite.name)
		}
		for _, t := range o.results.tests {
			if t.name != "" && !strings.Contains(t.name, "/") {
				counts[cmp.Or(t.result, "fail")]++
			}
		}
	}
	if !good {
		fmt.Fprintf(w, "=== failed: %s\n", cmp.Or(strings.Join(failed, ", "), "required tests were skipped, or programs had races"))
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", counts["pass"], counts["fail"], counts["skip"])
	return good
}

func (s summary) printMinutes(w io.Writer) {
	fmt.Fprintln(w, "=== minutes of each suite")
	sorted := slices.SortedFunc(slices.Values(s.outcomes), func(a, b *outcome) int { return cmp.Compare(b.took, a.took) })
	for _, o := range sorted {
		fmt.Fprintf(w, "%5.1f  %s\n", o.took.Minutes(), o.suite.name)
	}
	fmt.Fprintf(w, "%5.1f  total\n", s.took.Minutes())
}

func (s summary) printSlowest(w io.Writer) {
	var all []*test
	for _, o := range s.outcomes {
		for _, t := range o.results.tests {
			if t.name != "" && !strings.Contains(t.name, "/") {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(a, b *test) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintln(w, "=== slowest tests, in seconds")
	for _, t := range all[:min(slowest, len(all))] {
		fmt.Fprintf(w, "%5.0f  %s\n", t.seconds, t.short())
	}
}

// printSkipped returns the number of skipped tests that must not be skipped.
func (s summary) printSkipped(w io.Writer) (unwanted int) {
	reasons := map[string][]string{}
	for _, o := range s.outcomes {
		for _, t := range o.results.tests {
			if t.result != "skip" || t.name == "" {
				continue
			}
			reason := t.reason()
			switch {
			case reason == cluster.LongReason && s.extent != long:
			case s.extent == short && o.suite.leaves(t):
				reason = shortReason
			default:
				unwanted++
			}
			reasons[reason] = append(reasons[reason], t.short())
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(w, "=== skipped: %s\n", reason)
		for _, name := range reasons[reason] {
			fmt.Fprintf(w, "       %s\n", name)
		}
	}
	return unwanted
}
