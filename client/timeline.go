package client

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Timeline is when each step of a command was done, for people who ask where
// the time goes (-o json) and for benchmarks. It may be used from any goroutine.
type Timeline struct {
	start time.Time

	mu    sync.Mutex // guards steps
	steps []Step
}

// Step is one step of a command.
type Step struct {
	Name   string `json:"name"`
	Millis int64  `json:"ms"` // from the start of the command to the step's end
}

// NewTimeline starts a timeline.
func NewTimeline(start time.Time) *Timeline { return &Timeline{start: start} }

// Done notes that a step has just been done.
func (t *Timeline) Done(name string) { t.DoneAt(name, time.Now()) }

// DoneAt notes when a step was done: on another machine, by that machine's
// clock.
func (t *Timeline) DoneAt(name string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, Step{Name: name, Millis: at.Sub(t.start).Milliseconds()})
}

// Steps lists the steps in the order of their times; a clock that is not this
// machine's may put a step before its cause.
func (t *Timeline) Steps() []Step {
	t.mu.Lock()
	defer t.mu.Unlock()
	steps := append([]Step{}, t.steps...)
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.Millis, b.Millis) })
	return steps
}
