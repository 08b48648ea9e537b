package engine

import (
	"context"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Process is a simulated process. It is the sched.Scheduler of the code that it runs.
type Process struct {
	Name   string
	engine *Engine
	state  state
	fibers []*fiber // that have not ended, in the order of their starts
	held   []*Event // that came while the process was frozen
	ended  func()   // called once, when the process is dead
	hangs  bool     // it stays frozen
}

type state int

const (
	running state = iota
	frozen        // its fibers do not run, and its events wait
	dead
)

var _ sched.Scheduler = (*Process)(nil)

// Start starts a process. It ends when main returns, or when it is killed. Then ended is called; it may
// be nil. main runs with the next event of the process, which Start makes. The context of main never
// ends by itself.
func (e *Engine) Start(name string, main func(ctx context.Context), ended func()) *Process {
	p := &Process{Name: name, engine: e, ended: ended}
	e.processes = append(e.processes, p)
	ctx := sched.With(context.Background(), p)
	e.After(0, p, func() {
		p.Go(func() {
			main(ctx)
			p.state = dead
		})
	})
	return p
}

// Alive reports whether the process has not ended. A frozen process is alive.
func (p *Process) Alive() bool { return p.state != dead }

// Frozen reports whether the process is frozen.
func (p *Process) Frozen() bool { return p.state == frozen }

// Kill ends the process at once. Its fibers unwind: their deferred functions run, but can neither wait
// nor start anything. Only events call Kill, not fibers.
func (p *Process) Kill() {
	if p.engine.running != nil {
		p.engine.fail("process %s is killed by a fiber of %s", p.Name, p.engine.running.process.Name)
		return
	}
	if p.state == dead && len(p.fibers) == 0 {
		return
	}
	p.state = dead
	p.bury()
}

// Freeze stops the process until Thaw. Time goes on for it.
func (p *Process) Freeze() {
	if p.state == running {
		p.state = frozen
	}
}

// Hang stops the process until its end.
func (p *Process) Hang() {
	p.Freeze()
	p.hangs = true
}

// Thaw lets a frozen process continue. What came meanwhile happens now, in its order.
func (p *Process) Thaw() {
	if p.state != frozen || p.hangs {
		return
	}
	p.state = running
	held := p.held
	p.held = nil
	for _, event := range held {
		p.engine.At(p.engine.now, p, event.what)
	}
	p.engine.After(0, p, func() {})
}

// unhold removes an event that waits for Thaw, and reports whether it was there.
func (p *Process) unhold(event *Event) bool {
	if p == nil {
		return false
	}
	before := len(p.held)
	p.held = slices.DeleteFunc(p.held, func(e *Event) bool { return e == event })
	return len(p.held) < before
}

// mostTurns is how often the fibers of a process may be resumed after one event. More means that they
// wake each other for ever.
const mostTurns = 1 << 17

// settle resumes ready fibers until there is none.
func (p *Process) settle() {
	for turns := 0; p.state == running && p.engine.broken == nil; turns++ {
		f := p.ready()
		if f == nil {
			return
		}
		if turns == mostTurns {
			p.engine.fail("fibers of process %s run for ever without time passing", p.Name)
			return
		}
		f.resume()
	}
	if p.state == dead {
		p.bury()
	}
}

// ready picks one of the fibers that can run; nil: none can.
func (p *Process) ready() *fiber {
	var picked *fiber
	count := 0
	for _, f := range p.fibers {
		if f.ready != nil && !f.ready() {
			continue
		}
		// Each of the first n ready fibers is picked with the same probability.
		if count++; count == 1 || p.engine.order.IntN(count) == 0 {
			picked = f
		}
	}
	return picked
}

// bury unwinds the fibers of a dead process.
func (p *Process) bury() {
	for len(p.fibers) > 0 {
		p.fibers[len(p.fibers)-1].unwind()
	}
	p.held = nil
	if ended := p.ended; ended != nil {
		p.ended = nil
		ended()
	}
}

// Now implements sched.Scheduler.
func (p *Process) Now() time.Time { return p.engine.now }

// Go implements sched.Scheduler.
func (p *Process) Go(f func()) {
	if p.state != dead {
		p.fibers = append(p.fibers, &fiber{process: p, main: f})
	}
}

// Wait implements sched.Scheduler.
func (p *Process) Wait(ready func() bool) {
	f := p.engine.running
	if f == nil || f.process != p {
		p.engine.fail("code of process %s waits, but does not run", p.Name)
		panic(killed{})
	}
	if p.state == dead {
		panic(killed{})
	}
	if !ready() {
		f.park(ready)
	}
}

// AfterFunc implements sched.Scheduler.
func (p *Process) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	if p.state == dead {
		return func() bool { return false }
	}
	event := p.engine.After(d, p, func() { p.Go(f) })
	return func() bool { return p.engine.Cancel(event) }
}
