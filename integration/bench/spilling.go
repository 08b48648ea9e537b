package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	// spillingWorkerMB is the container of the worker, which has one slot.
	spillingWorkerMB = 256
	// leastSpilling is the smallest input, in MiB: more than the operators of the worker may hold.
	leastSpilling = 100
	// spilledRecord is the size of a record, in bytes.
	spilledRecord = 100
	// spillingGoal is the most memory with the largest input, as a part of that with the smallest one.
	spillingGoal = 1.1
	// spillingInterval is the time between two readings of the containers' memory.
	spillingInterval = 100 * time.Millisecond
)

// spilling measures the memory of a worker whose job has a state that exceeds it, with a small and a large input.
func spilling(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Memory of a worker that spills",
		text: fmt.Sprintf("Jobs with one subtask for each operator, in a worker of %d MB. They generate records of %d bytes with random keys. "+
			"*group* has 10 records for each key, and calls a function for each. *aggregate* counts the records of each key, most of which have one. "+
			"*join* is a hybrid hash join of two halves of the input. *sort* is a global sort. Each result must stand for as many records as "+
			"the input has, and the sort checks its order. No task may run a second time, as it would if it was ended for its memory. The memory is the most that all processes of "+
			"the container hold at one time, read every %v: PSS, which divides shared pages among their processes. The sizes are those "+
			"of the inputs. A row in bold misses its goal.", spillingWorkerMB, spilledRecord, spillingInterval),
		head: []string{"job", "to reach"},
	}
	sizes := []int{leastSpilling, r.size(), manifold * r.size()}
	for _, size := range sizes {
		t.head = append(t.head, fmt.Sprintf("%d MiB", size))
	}
	t.head = append(t.head, "time of the largest")
	for _, kind := range []string{"group", "aggregate", "join", "sort"} {
		cells := []string{kind, fmt.Sprintf("%v × the first, %d MiB", spillingGoal, spillingWorkerMB)}
		var peaks []int64
		var took time.Duration
		for _, size := range sizes {
			peak, duration, err := r.spill(ctx, kind, size)
			if err != nil {
				return t, err
			}
			peaks, took = append(peaks, peak.PSS), duration
			cells = append(cells, megabytes(peak.PSS))
		}
		if most := slices.Max(peaks); float64(most) > spillingGoal*float64(peaks[0]) || most > spillingWorkerMB<<20 {
			cells = bold(cells)
		}
		t.row(append(cells, took.Round(spillingInterval).String())...)
	}
	return t, nil
}

// spill runs a job once, and returns the peak of its worker's container, and the time of the job.
func (r *rig) spill(ctx context.Context, kind string, mib int) (worker resident, took time.Duration, err error) {
	home, err := r.client.Files.Home()
	if err != nil {
		return worker, 0, err
	}
	output := home + "/spilled"
	if err := r.client.Files.RemoveAll(ctx, output); err != nil {
		return worker, 0, err
	}
	stop, err := watchContainers(ctx, spillingInterval, 1)
	if err != nil {
		return worker, 0, err
	}
	j, err := r.reported(ctx, "run", "-t", "yarn-per-job", "-p", "1", "-Dtaskmanager.numberOfTaskSlots=1", "-Drestart-strategy.type=none",
		fmt.Sprintf("-Dtaskmanager.memory.process.size=%dm", spillingWorkerMB), "-o", "json", r.program("spills"), kind, strconv.Itoa(mib), output)
	seen, watching := stop()
	if err = errors.Join(err, watching); err != nil {
		return worker, 0, err
	}
	got, err := r.wordsIn(ctx, output)
	if err == nil {
		err = checkSpilled(got, mib)
	}
	if err != nil {
		return worker, 0, fmt.Errorf("%s of %d MiB: %w", kind, mib, err)
	}
	_, worker = seen.largest()
	return worker, time.Duration(j.Duration) * time.Millisecond, nil
}

// checkSpilled compares the number of records for which the result of a job stands with those of its input, which has two halves of as
// many.
func checkSpilled(got int64, mib int) error {
	if want := int64(mib) << 20 / spilledRecord / 2 * 2; got != want {
		return fmt.Errorf("%w: it stands for %d records, want %d", errOutputs, got, want)
	}
	return nil
}
