package sim

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Result is what a run has shown.
type Result struct {
	Events int
	Time   time.Duration // virtual
	Broken *RuleError    // the first rule that was broken; nil: none
	Facts  Facts
}

// RuleError says that a run has broken a rule.
type RuleError struct {
	Rule string
	Err  error
}

func (e *RuleError) Error() string { return fmt.Sprintf("%s: %v", e.Rule, e.Err) }

func (e *RuleError) Unwrap() error { return e.Err }

// Rules that hold for the processes themselves.
const (
	noPanic = "no process panics or spins"
	allEnds = "all ends when the faults have stopped"
	// nothingLeft is also a rule for processes.
	nothingLeft = "nothing is left of an ended application"
)

const (
	// mostTime is how long the jobs may take, also one after the other. Faults end long before.
	mostTime = 2 * time.Hour
	// restTime is the time in which everything comes to rest after the end of the last master. YARN ends
	// what is left of an application; a lost machine is noticed late.
	restTime = 10 * time.Minute
)

// mostEvents is how many events a run may have. A role that never comes to rest has more.
const mostEvents = 500_000

var (
	errLate = errors.New("the jobs have not ended")
	errBusy = errors.New("something never comes to rest")
)

// Run runs a schedule. The log gets the transcript; it may be nil. The error says that the run could not
// begin.
func (s Schedule) Run(log io.Writer) (Result, error) {
	w, err := newWorld(s, log)
	if err != nil {
		return Result{}, fmt.Errorf("make world of seed %d: %w", s.Seed, err)
	}
	defer w.engine.Close()
	if err := w.plan(s.Faults); err != nil {
		return Result{}, err
	}
	w.watch.look()
	switch s.Mode {
	case Session:
		w.startClient("a session", w.jobs, w.session)
	case Application:
		w.startClient("an application", w.jobs, w.application)
	default:
		for _, j := range w.jobs {
			w.startClient(string(j.id), []*job{j}, j.perJob)
		}
	}
	for w.busy() && w.since() < mostTime && w.goesOn() {
	}
	if w.watch.broken == nil && w.engine.Err() == nil && w.busy() {
		w.watch.note(allEnds, errLate)
	}
	for end := w.engine.Now().Add(restTime); w.running() && w.engine.Now().Before(end) && w.goesOn(); {
	}
	for _, c := range w.clients {
		c.conclude()
	}
	w.watch.note(noPanic, w.engine.Err()) // first: after a panic nothing comes to rest
	w.watch.atRest()
	w.watch.note(nothingLeft, w.collect())
	return Result{Events: w.engine.Events(), Time: w.since(), Broken: w.watch.broken, Facts: w.facts}, nil
}

// goesOn takes the next event; false: there is none, or a rule is broken.
func (w *World) goesOn() bool {
	if w.engine.Events() >= mostEvents {
		w.watch.note(allEnds, errBusy)
	}
	return w.watch.broken == nil && w.engine.Step()
}

// busy reports whether a client waits, or would wait if it lived.
func (w *World) busy() bool {
	return slices.ContainsFunc(w.clients, func(c *client) bool { return c.process.Alive() || c.killed && w.yarn.runs(c.app) })
}

// running reports whether a process of an application runs.
func (w *World) running() bool {
	return len(w.runningMasters())+len(w.runningPrograms())+len(w.runningWorkers())+len(w.runningHosts()) > 0
}
