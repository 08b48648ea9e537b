package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	measuringRuns = 20
	// measuringTime is the length of a run.
	measuringTime = 2 * time.Second
)

// measuringCosts measures what the metrics of tasks cost their exchange of records.
func measuringCosts(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "The metrics of tasks",
		text: fmt.Sprintf("`BenchmarkMeasuredExchange` of package taskhost moves records from one task to another, over the data plane on "+
			"loopback. Measured, both tasks are measured as in a task host; unmeasured, nobody counts. The two run in turns, %d times "+
			"each for %v, and change places after each turn. The goal is that the difference is in the spread. The last column is of one "+
			"more measured run of %v, with a profile of the processor: the share of the samples in which a function counts or measures.",
			measuringRuns, measuringTime, countingTime),
		head: []string{"bytes of a record", "to reach", "unmeasured", "measured", "difference of the medians", "share of the samples"},
	}
	for _, size := range []string{"16", "1000"} {
		var unmeasured, measured []float64
		for n := range r.runs(measuringRuns) {
			kinds := []struct {
				name string
				took *[]float64
			}{{"unmeasured", &unmeasured}, {"measured", &measured}}
			if n%2 == 1 {
				kinds[0], kinds[1] = kinds[1], kinds[0]
			}
			for _, kind := range kinds {
				took, err := r.moves(ctx, size, kind.name)
				if err != nil {
					return t, err
				}
				*kind.took = append(*kind.took, took)
			}
		}
		more := median(measured)/median(unmeasured) - 1
		share, err := r.countingShare(ctx, size)
		if err != nil {
			return t, err
		}
		t.row(size, "1 %", spread(unmeasured, nanos), spread(measured, nanos), fmt.Sprintf("%+.1f %%", more*100), fmt.Sprintf("%.2f %%", share*100))
	}
	return t, nil
}

func nanos(ns float64) string { return fmt.Sprintf("%.1f ns", ns) }

// moves runs the benchmark once, and returns the time for a record, in ns.
func (r *rig) moves(ctx context.Context, size, kind string) (float64, error) {
	out, err := exec.CommandContext(ctx, r.program("taskhost.test"), "-test.run=^$", "-test.benchtime="+measuringTime.String(),
		"-test.bench=^BenchmarkMeasuredExchange$/^"+size+"$/^"+kind+"$").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("run the benchmark of package taskhost: %w\n%s", err, out)
	}
	return nanosOf(out)
}

var errNoFigure = errors.New("the benchmark gives no ns/op")

// nanosOf returns the time of an operation in ns, from the output of a benchmark of Go.
func nanosOf(out []byte) (float64, error) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		for i, unit := range fields {
			if unit == "ns/op" && i > 0 && strings.HasPrefix(fields[0], "Benchmark") {
				return strconv.ParseFloat(fields[i-1], 64)
			}
		}
	}
	return 0, fmt.Errorf("%w:\n%s", errNoFigure, out)
}
