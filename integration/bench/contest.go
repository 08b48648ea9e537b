package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// contest is a job of integration/bench/jobs and the same job of Flink, which run in turns.
type contest struct {
	job      string // its name in all programs
	label    string // the job and its sizes
	inputs   []lines
	results  int64 // lines of the output
	workerMB int
	turns    int
	alone    bool // without Flink

	dir         string // on HDFS, for inputs and output
	digest      digest // of the first output; zero: none yet
	contestants []contestant
}

// bytes is the size of all inputs.
func (c *contest) bytes() (sum int64) {
	for _, in := range c.inputs {
		sum += in.size()
	}
	return sum
}

func (c *contest) output() string { return c.dir + "/output" }

// words are the arguments of all programs.
func (c *contest) words(output string) []string {
	words := []string{c.job}
	for i := range c.inputs {
		words = append(words, c.input(i))
	}
	return append(words, output)
}

func (c *contest) input(i int) string { return fmt.Sprintf("%s/input-%d", c.dir, i) }

// run generates the inputs and runs all turns. The inputs stay on HDFS until remove, because search needs them too.
func (c *contest) run(ctx context.Context, r *rig, f *flink) error {
	home, err := r.client.Files.Home()
	if err != nil {
		return err
	}
	c.dir = fmt.Sprintf("%s/%s-%d", home, c.job, c.bytes())
	for i, in := range c.inputs {
		if err := r.generate(ctx, c.input(i), in); err != nil {
			return err
		}
	}
	c.enter(r, f)
	for range c.turns {
		for i := range c.contestants {
			if err := r.turn(ctx, &c.contestants[i], c.output(), c.workerMB, c.checker(ctx, r)); err != nil {
				return fmt.Errorf("%s with %s: %w", c.label, c.contestants[i].name, err)
			}
		}
	}
	return nil
}

// searched tells whether the smallest workers are found. The page says why another size of workers stays: see sortLines.
func (c *contest) searched(r *rig) bool { return r.smallest && !c.alone && c.workerMB == workerMB }

// search finds the smallest workers. It takes long, and measures no time. So it comes when all that measures time is over.
func (c *contest) search(ctx context.Context, r *rig) error {
	for i := range c.contestants {
		if err := r.smallestWorker(ctx, &c.contestants[i], c.output(), c.checker(ctx, r)); err != nil {
			return fmt.Errorf("%s: %w", c.label, err)
		}
	}
	return nil
}

// remove removes what is on HDFS.
func (c *contest) remove(ctx context.Context, r *rig) error {
	if c.dir == "" {
		return nil
	}
	return r.client.Files.RemoveAll(context.WithoutCancel(ctx), c.dir)
}

func (c *contest) checker(ctx context.Context, r *rig) func() error {
	return func() error { return c.check(r.output(ctx, c.output(), c.sorts())) }
}

// enter makes the contestants. f is nil if there is no Flink.
func (c *contest) enter(r *rig, f *flink) {
	ours := func(output string) []string { return append([]string{r.program("jobs")}, c.words(output)...) }
	c.contestants = []contestant{{name: "Bobbin", batch: batchBobbin{r, ours}}}
	if f == nil || c.alone {
		return
	}
	c.contestants = append(c.contestants, contestant{name: "Flink, DataSet", batch: batchFlink{f, "BatchData", c.words}})
	if !c.sorts() {
		c.contestants = append(c.contestants, contestant{name: "Flink, SQL", batch: batchFlink{f, "BatchSql", c.words}})
	}
}

func (c *contest) sorts() bool { return c.job == "sort" }

var errOutputs = errors.New("it is not the output that it must be")

// check compares an output with the expected number of lines, and with the outputs before.
func (c *contest) check(d digest, err error) error {
	switch {
	case err != nil:
		return err
	case d.lines != c.results:
		return fmt.Errorf("%w: %d lines, want %d", errOutputs, d.lines, c.results)
	case c.digest == (digest{}):
		c.digest = d
	case d != c.digest:
		return fmt.Errorf("%w: %d lines as before, but others", errOutputs, d.lines)
	}
	return nil
}

// efficiency is in bytes of the inputs for a second of processor time.
func (c *contest) efficiency(h heavy) float64 { return float64(c.bytes()) / h.cpu.Seconds() }

func (c *contest) speed(h heavy) float64 { return float64(c.bytes()) / h.took.Seconds() }

// ours and flinksBest are the medians of the efficiency. The latter is 0 without Flink.
func (c *contest) ours() float64 { return median(pick(c.contestants[0].runs, c.efficiency)) }

func (c *contest) flinksBest() (best float64) {
	for _, other := range c.contestants[1:] {
		if len(other.runs) > 0 {
			best = max(best, median(pick(other.runs, c.efficiency)))
		}
	}
	return best
}

// flinksSmallest is the smallest worker of all programs of Flink, in MB; 0: not known.
func (c *contest) flinksSmallest() (size int) {
	for _, other := range c.contestants[1:] {
		if size == 0 || other.smallest < size {
			size = other.smallest
		}
	}
	return size
}

// took is the time of a job, for rows.
func took(h heavy) time.Duration { return h.took }
