package main

import (
	"errors"
	"testing"
)

// TestTheTimeOfABenchmarkIsFound would catch the number of runs in place of the time, and a benchmark of another name, which runs
// nothing and passes.
func TestTheTimeOfABenchmarkIsFound(t *testing.T) {
	t.Parallel()
	const output = "goos: linux\nBenchmarkMeasuredExchange/16/measured-2  \t 5000000\t       231.4 ns/op\t  69.13 MB/s\t       0 B/op\nPASS\n"
	if got, err := nanosOf([]byte(output)); err != nil || got != 231.4 {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := nanosOf([]byte("PASS\nok ns/op\n")); !errors.Is(err, errNoFigure) {
		t.Errorf("of no benchmark: %v, %v", got, err)
	}
}
