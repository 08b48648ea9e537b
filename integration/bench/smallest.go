package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// smallestStep is the precision of the search, in MB. YARN also gives containers in this step then.
	smallestStep = 32
	// smallestPatience times the median of the runs before is the time after which a job counts as one that does not finish.
	smallestPatience = 10
)

var errNeverFinishes = errors.New("it does not finish with the largest size either")

// smallest halves the range up to most, and returns the least multiple of step with which something finishes. It assumes that
// whatever finishes with a size finishes with each larger one, and nothing finishes with 0. The error wraps
// errNeverFinishes if nothing finishes with most, which is a multiple of step.
func smallest(most, step int, finishes func(size int) (bool, error)) (int, error) {
	fails, does := 0, most
	if ok, err := finishes(most); err != nil {
		return 0, err
	} else if !ok {
		return 0, fmt.Errorf("size %d: %w", most, errNeverFinishes)
	}
	for does-fails > step {
		middle := (fails/step + does/step) / 2 * step
		ok, err := finishes(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			does = middle
		} else {
			fails = middle
		}
	}
	return does, nil
}

// smallestNote explains the sizes that smallestWorker finds.
func smallestNote() string {
	return fmt.Sprintf(" The smallest worker is the least `taskmanager.memory.process.size` with which the job finishes, in steps of %d MB, "+
		"which are also those of YARN. A job counts as one that does not finish if it fails, or takes %d times as long as above.", smallestStep, smallestPatience)
}

// smallestWorkers finds the smallest worker of each system with which it counts the text, and adds them to the table.
func (w *words) smallestWorkers(ctx context.Context, r *rig, t *table) error {
	cells := []string{"smallest worker", "", ""}
	for _, c := range []*contestant{&w.bobbin, &w.flink, &w.combined} {
		if err := r.smallestWorker(ctx, c, w.output(), func() error { return w.checkOutput(ctx, r) }); err != nil {
			return err
		}
		cells = append(cells, workerSize(c.smallest))
	}
	t.row(cells...)
	t.text += smallestNote()
	return nil
}

// workerSize formats the size of a worker in MB. It is empty for 0.
func workerSize(mb int) string {
	if mb == 0 {
		return ""
	}
	return fmt.Sprintf("%d MB", mb)
}

// smallestWorker finds the smallest worker with which a contestant finishes that has run before.
func (r *rig) smallestWorker(ctx context.Context, c *contestant, output string, check func() error) (err error) {
	if c.batch == nil {
		return nil
	}
	limit := smallestPatience * median(pick(c.runs, func(h heavy) time.Duration { return h.command.Wall }))
	c.smallest, err = smallest(workerMB, smallestStep, func(mb int) (bool, error) { return r.finishes(ctx, c, output, mb, limit, check) })
	if err != nil {
		return fmt.Errorf("find the smallest worker of %s: %w", c.name, err)
	}
	return nil
}

// finishes runs the job once with workers of this size. Of a job that fails it prints the reason, because another reason than memory
// would make the search wrong. When it returns, nothing of it runs.
func (r *rig) finishes(ctx context.Context, c *contestant, output string, mb int, limit time.Duration, check func() error) (bool, error) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it takes more than %v", limit))
	defer cancel()
	began := time.Now().Truncate(time.Millisecond)
	_, failed := r.heavyRun(limited, c.batch, output, mb)
	if failed == nil {
		return true, check()
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	fmt.Fprintf(os.Stderr, "bench: %s does not finish with workers of %d MB: %v\n", c.name, mb, errors.Join(failed, context.Cause(limited)))
	left, err := r.since(ctx, began)
	for _, application := range left {
		err = errors.Join(err, r.end(ctx, application.ID))
	}
	return false, err
}
