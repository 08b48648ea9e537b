package sim

import (
	"math/rand/v2"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
)

// pipe is an ordered, reliable connection between two processes, as TCP gives it: what one end sends
// arrives at the other end in order, late, or not at all after the connection is cut.
type pipe[T any] struct {
	w       *World
	jitter  *rand.Rand
	least   time.Duration // of one way
	most    time.Duration
	stalled time.Time // nothing arrives before
	ends    [2]*end[T]
}

// end is one end of a pipe. Only fibers and events of its process call its methods.
type end[T any] struct {
	pipe    *pipe[T]
	process *engine.Process
	peer    *end[T]
	inbox   []T
	sent    int       // that the peer has not taken
	arrival time.Time // of what was sent last
	closed  bool      // by the peer: nothing comes behind the inbox
	shut    bool      // by this end
}

// window bounds what is under way on one end, as the buffers of kernels do.
const window = 64

// connect makes a pipe between two processes. A dead process closes its ends.
func connect[T any](w *World, name string, a, b *engine.Process, least, most time.Duration) (near, far *end[T]) {
	p := &pipe[T]{w: w, jitter: w.stream("link " + name), least: least, most: most}
	near, far = &end[T]{pipe: p, process: a}, &end[T]{pipe: p, process: b}
	near.peer, far.peer = far, near
	p.ends = [2]*end[T]{near, far}
	w.atEnd(a, near.died)
	w.atEnd(b, far.died)
	return near, far
}

// later returns when something that is sent now arrives: never before what was sent earlier.
func (e *end[T]) later() time.Time {
	at := e.pipe.w.engine.Now().Add(between(e.pipe.jitter, e.pipe.least, e.pipe.most))
	e.arrival = latest(at, latest(e.arrival, e.pipe.stalled))
	return e.arrival
}

// send sends an item, and waits while the window is full. False means that the connection has ended.
func (e *end[T]) send(item T) bool {
	e.process.Wait(func() bool { return e.sent < window || e.closed || e.shut })
	if e.closed || e.shut {
		return false
	}
	e.put(item)
	return true
}

// put sends an item, also if the window is full.
func (e *end[T]) put(item T) {
	e.sent++
	to := e.peer
	e.pipe.w.engine.At(e.later(), to.process, func() { to.inbox = append(to.inbox, item) })
}

// receive waits for an item. False means that the connection has ended.
func (e *end[T]) receive() (item T, ok bool) {
	e.process.Wait(func() bool { return len(e.inbox) > 0 || e.closed || e.shut })
	if e.shut || len(e.inbox) == 0 {
		return item, false
	}
	item, e.inbox = e.inbox[0], e.inbox[1:]
	from := e.peer
	e.pipe.w.engine.After(0, from.process, func() { from.sent-- })
	return item, true
}

// closeSend tells the peer that nothing follows.
func (e *end[T]) closeSend() {
	to := e.peer
	e.pipe.w.engine.At(e.later(), to.process, func() { to.closed = true })
}

// hangUp ends the connection from this end.
func (e *end[T]) hangUp() {
	if !e.shut {
		e.shut = true
		e.closeSend()
	}
}

// unreachable is when a peer notices that a machine acknowledges nothing.
const unreachable = 32 * time.Second

// died ends the connection of a process that has ended. If its machine is lost, the peer notices late.
func (e *end[T]) died() {
	if w := e.pipe.w; w.silent[e.process] {
		e.shut = true
		e.pipe.stall(w.engine.Now().Add(unreachable))
		e.closeSend()
		return
	}
	e.hangUp()
}

// stall holds everything that is sent from now on back until a time.
func (p *pipe[T]) stall(until time.Time) {
	p.stalled = latest(p.stalled, until)
}

// cut ends the connection from outside: both ends notice.
func (p *pipe[T]) cut() {
	for _, e := range p.ends {
		p.w.engine.After(0, e.process, func() { e.closed, e.inbox = true, nil })
	}
}
