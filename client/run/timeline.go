package run

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// timeline records when each step of a command was done, for users who ask what takes the time (-o json), and
// for benchmarks. Goroutines may share it.
type timeline struct {
	start time.Time

	mu    sync.Mutex // guards steps
	steps []step
}

// step is one step of a command.
type step struct {
	Name   string `json:"name"`
	Millis int64  `json:"ms"` // from the start of the command to the step's end
}

// done notes that a step has just been done.
func (t *timeline) done(name string) { t.doneAt(name, time.Now()) }

// doneAt notes when a step was done. For a step on another machine the time is that machine's.
func (t *timeline) doneAt(name string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, step{Name: name, Millis: at.Sub(t.start).Milliseconds()})
}

// ordered lists the steps in the order of their times. The clock of another machine may put a step before its
// cause.
func (t *timeline) ordered() []step {
	t.mu.Lock()
	defer t.mu.Unlock()
	steps := append([]step{}, t.steps...)
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.Millis, b.Millis) })
	return steps
}
