package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

const (
	streamsWorkers = 1000
	streamsSlots   = 4
	manyWorkers    = 10_000 // for which the figures of the last step are extrapolated
	// manyMB is the container of an ApplicationMaster with so many workers.
	manyMB = 1200
	// heapShare is the part of a container that its GOMEMLIMIT leaves to Go's heap and stacks.
	heapShare = 0.8
)

// streamed is the output of streams for a step.
type streamed struct {
	Workers           int
	Took              time.Duration
	RSS, Heap, Stacks int64
	Goroutines, Files int
	CPU               float64
}

// manyStreams measures an ApplicationMaster's memory for its workers.
func manyStreams(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Streams of workers",
		text: fmt.Sprintf("`integration/bench/streams` runs the ApplicationMaster's roles and their server in one process, and workers as "+
			"goroutines of another process. The workers are real TaskExecutors and task hosts (`integration/internal/fleet`), which "+
			"connect over TLS on loopback, with the default heartbeats. Each has %d slots, and on each slot a task reports progress "+
			"each second. Each step adds a job. Its time runs from the submission until all of its tasks run. *In use* is the heap "+
			"after a garbage collection. *Limited* is the same with `GOMEMLIMIT` as in a container of %d MB for %d workers, in "+
			"proportion to the workers. The last row extrapolates from the first row and the last step: the goal is less than %d MB. "+
			"An ApplicationMaster needs a file descriptor for each worker; Go raises the soft limit to the hard limit (`ulimit -Hn`).",
			streamsSlots, manyMB, manyWorkers, manyMB),
		head: []string{"workers", "tasks run after", "in use", "stacks", "goroutines", "files", "processors", "resident", "limited: processors", "resident"},
	}
	limit := fmt.Sprintf("%dMiB", int(heapShare*manyMB*streamsWorkers/manyWorkers))
	free, err := r.streams(ctx, "off")
	if err != nil {
		return t, err
	}
	limited, err := r.streams(ctx, limit)
	if err != nil {
		return t, err
	}
	for i, m := range free {
		t.row(strconv.Itoa(m.Workers), seconds(m.Took), megabytes(m.Heap), megabytes(m.Stacks),
			strconv.Itoa(m.Goroutines), strconv.Itoa(m.Files), fmt.Sprintf("%.3f", m.CPU), megabytes(m.RSS),
			fmt.Sprintf("%.3f", limited[i].CPU), megabytes(limited[i].RSS))
	}
	heap, stacks, resident := func(s streamed) int64 { return s.Heap }, func(s streamed) int64 { return s.Stacks }, func(s streamed) int64 { return s.RSS }
	t.row(fmt.Sprintf("**%d**", manyWorkers), "", extrapolated(free, heap), extrapolated(free, stacks), "", "", "", extrapolated(free, resident),
		"", extrapolated(limited, resident))
	return t, nil
}

// extrapolated is a size for manyWorkers.
func extrapolated(steps []streamed, of func(streamed) int64) string {
	first, last := of(steps[0]), of(steps[len(steps)-1])
	return megabytes(first + (last-first)*manyWorkers/streamsWorkers)
}

// streams runs the program once.
func (r *rig) streams(ctx context.Context, limit string) ([]streamed, error) {
	last, err := r.lastLine(ctx, []string{
		r.program("streams"), "-workers", strconv.Itoa(streamsWorkers), "-slots", strconv.Itoa(streamsSlots), "-limit", limit,
	})
	if err != nil {
		return nil, err
	}
	var measured []streamed
	return measured, json.Unmarshal(last, &measured)
}
