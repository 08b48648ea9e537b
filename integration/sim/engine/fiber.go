package engine

import (
	"iter"
	"runtime/debug"
	"slices"
)

// fiber is a coroutine of a process.
type fiber struct {
	process *Process
	main    func()
	ready   func() bool // what it waits for; nil before its start
	carrier *carrier    // nil before its start
}

// killed unwinds a fiber whose process is dead.
type killed struct{}

// resume runs the fiber until it waits or ends.
func (f *fiber) resume() {
	e := f.process.engine
	if f.carrier == nil {
		f.carrier = e.carry(f)
	}
	f.ready = nil
	e.running = f
	f.carrier.next()
	e.running = nil
	if f.carrier.fiber == nil { // it has ended
		e.carriers = append(e.carriers, f.carrier)
		f.remove()
	}
}

// unwind ends the fiber of a dead process.
func (f *fiber) unwind() {
	if f.carrier == nil {
		f.remove()
		return
	}
	f.resume() // park sees that the process is dead
}

func (f *fiber) remove() {
	p := f.process
	p.fibers = slices.DeleteFunc(p.fibers, func(other *fiber) bool { return other == f })
}

// park waits until ready returns true. Only the fiber itself calls it.
func (f *fiber) park(ready func() bool) {
	f.ready = ready
	if !f.carrier.yield(struct{}{}) || f.process.state == dead {
		panic(killed{})
	}
}

// run runs the fiber to its end, from its carrier.
func (f *fiber) run() {
	defer func() {
		switch fault := recover().(type) {
		case nil, killed:
		default:
			f.process.engine.fail("process %s panics: %v\n%s", f.process.Name, fault, debug.Stack())
		}
	}()
	f.main()
}

// carrier is a coroutine that runs one fiber after the other.
type carrier struct {
	fiber *fiber // nil between fibers
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// carry gives a fiber a carrier.
func (e *Engine) carry(f *fiber) *carrier {
	if n := len(e.carriers); n > 0 {
		c := e.carriers[n-1]
		e.carriers = e.carriers[:n-1]
		c.fiber = f
		return c
	}
	c := &carrier{fiber: f}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for {
			c.fiber.run()
			c.fiber = nil
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return c
}
