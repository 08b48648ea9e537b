// Package engine runs simulated processes in one goroutine, in virtual time and from one seed. A
// process is a set of fibers: coroutines that run until they wait in package sched. The engine takes
// one event after the other from a heap that is ordered by time and number. Then it resumes the fibers
// of the event's process, one at a time, until none of them is ready. The same seed gives the same
// order of everything.
//
// Processes can be killed, frozen and thawed. All that one process does to another one goes through an
// event. The package knows nothing of Bobbin's roles.
//
// An Engine and all that belongs to it are for one goroutine. Different Engines are independent.
package engine

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"
)

// Engine runs events and fibers. Make it with New. Close it to end the fibers that are left.
type Engine struct {
	now       time.Time
	last      uint64 // number of the event that was made last
	taken     int    // events so far
	heap      events
	order     *rand.Rand // in which ready fibers run
	processes []*Process
	carriers  []*carrier // without a fiber
	running   *fiber     // nil between fibers
	broken    error      // a panic of a fiber, or a mistake in the use of the Engine
}

// Event is something that is going to happen.
type Event struct {
	at      time.Time
	number  uint64
	process *Process // whose fibers run afterwards; nil: none
	what    func()
	index   int // in the heap; -1: taken or cancelled
}

// New makes an engine whose time begins at start.
func New(start time.Time, seed uint64) *Engine {
	return &Engine{now: start, order: rand.New(rand.NewPCG(seed, 0x656e67696e65))}
}

// Now returns the virtual time.
func (e *Engine) Now() time.Time { return e.now }

// Events returns the number of events that have been taken.
func (e *Engine) Events() int { return e.taken }

// At makes an event: what happens at this time, or now if the time has passed. Then the fibers of the
// process run, unless it is nil. If the process is dead, nothing happens; if it is frozen, it happens
// when the process is thawed.
func (e *Engine) At(at time.Time, p *Process, what func()) *Event {
	if at.Before(e.now) {
		at = e.now
	}
	e.last++
	event := &Event{at: at, number: e.last, process: p, what: what}
	heap.Push(&e.heap, event)
	return event
}

// After makes an event after a time. See At.
func (e *Engine) After(d time.Duration, p *Process, what func()) *Event {
	return e.At(e.now.Add(d), p, what)
}

// Cancel prevents an event, and reports whether it did.
func (e *Engine) Cancel(event *Event) bool {
	if event.index < 0 {
		return event.process.unhold(event)
	}
	heap.Remove(&e.heap, event.index)
	return true
}

// Step takes the next event. It returns false if there is none, or if a fiber has panicked: see Err.
func (e *Engine) Step() bool {
	if e.broken != nil || len(e.heap) == 0 {
		return false
	}
	event := heap.Pop(&e.heap).(*Event)
	e.now = event.at
	switch p := event.process; {
	case p == nil:
		e.taken++
		event.what()
	case p.state == frozen:
		p.held = append(p.held, event)
	case p.state == running:
		e.taken++
		event.what()
		p.settle()
	}
	return e.broken == nil
}

// Next returns when the next event is; false: there is none.
func (e *Engine) Next() (time.Time, bool) {
	if len(e.heap) == 0 {
		return time.Time{}, false
	}
	return e.heap[0].at, true
}

// Err returns why Step has ended before the last event; nil: there is no more.
func (e *Engine) Err() error { return e.broken }

// Close kills all processes. The Engine cannot be used any more.
func (e *Engine) Close() {
	for _, p := range e.processes {
		p.Kill()
	}
	for _, c := range e.carriers {
		c.stop()
	}
	e.carriers = nil
}

// fail notes the first mistake.
func (e *Engine) fail(format string, args ...any) {
	if e.broken == nil {
		e.broken = fmt.Errorf(format, args...)
	}
}

// events is a container/heap by time and number.
type events []*Event

func (h events) Len() int { return len(h) }

func (h events) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].number < h[j].number
}

func (h events) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *events) Push(x any) {
	event := x.(*Event)
	event.index = len(*h)
	*h = append(*h, event)
}

func (h *events) Pop() any {
	last := len(*h) - 1
	event := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	event.index = -1
	return event
}
