package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/flame"
)

// countingTime is the length of the run of which a profile is taken. It has 100 samples of each busy core in a second.
const countingTime = 20 * time.Second

// counting are the beginnings of the names of the functions that count or measure. Three additions for each record and buffer are
// not among them: they are lines of Emit and Next, and have no function of their own.
var counting = [...]string{ //nolint:gochecknoglobals // a constant table
	"github.com/bobbin-yarn/bobbin/internal/metrics.",
	"github.com/bobbin-yarn/bobbin/internal/metrics/",
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost.(*activity).", // what the task does now: it reads the clock
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost.waits.",
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost.(*waits).",
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost.(*task).metrics", // once a second
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange.(*InputGate).Traffic",
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange.(*InputGate).Usage",
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange.(*ResultPartition).Traffic",
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange.(*ResultPartition).Usage",
}

// counts reports whether a function counts or measures.
func counts(function string) bool {
	for _, begins := range counting {
		if strings.HasPrefix(function, begins) {
			return true
		}
	}
	return false
}

// countingShare runs the measured benchmark with a profile of the processor, and returns the share of the samples in which a
// function counts or measures, 0 to 1.
func (r *rig) countingShare(ctx context.Context, size string) (share float64, err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "cpu.pprof")
	out, err := exec.CommandContext(ctx, r.program("taskhost.test"), "-test.run=^$", "-test.benchtime="+countingTime.String(), "-test.cpuprofile="+file,
		"-test.bench=^BenchmarkMeasuredExchange$/^"+size+"$/^measured$").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("run the benchmark of package taskhost: %w\n%s", err, out)
	}
	if _, err := nanosOf(out); err != nil { // no benchmark has run
		return 0, err
	}
	profile, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return shareOf(profile, "samples", counts)
}

var errNoSamples = errors.New("the profile has no samples")

// shareOf returns the share of the values of a type in a profile, in the form of pprof, that have a chosen function in their stack,
// 0 to 1.
func shareOf(profile []byte, values string, chosen func(function string) bool) (float64, error) {
	var g flame.Graph
	if err := g.AddProfile(profile, flame.Selection{Type: values}); err != nil {
		return 0, err
	}
	if g.Root.Value == 0 {
		return 0, errNoSamples
	}
	return float64(within(&g.Root, chosen)) / float64(g.Root.Value), nil
}

// within is the value of the nodes of the chosen functions, each with all that it calls.
func within(n *flame.Node, chosen func(function string) bool) (sum int64) {
	for _, c := range n.Children {
		if chosen(c.Name) {
			sum += c.Value
		} else {
			sum += within(c, chosen)
		}
	}
	return sum
}
