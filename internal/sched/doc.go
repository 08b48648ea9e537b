// Package sched is how the code of the roles starts work, waits, and reads the clock. In a process,
// that means goroutines, channels, timers and the machine's clock. Under a context of With, a
// Scheduler takes the place of them all. So the simulation runs the processes of a whole cluster
// in one goroutine, in virtual time, and repeats each run exactly.
//
// Code that runs under both follows four rules. It starts work with Go or a Group, not with a go
// statement. It blocks only in this package's functions, or behind Until. It holds no lock while it
// blocks. It takes the time from Now, and limits from WithTimeout and AfterFunc. The context that
// it passes to these functions says which of the two it runs under.
//
// A Scheduler runs one fiber at a time, and another one only when the first one waits. Package sched
// imports nothing of this module.
package sched

import (
	"context"
	"time"
)

// Scheduler runs fibers. Only the fiber that runs calls its methods.
type Scheduler interface {
	// Now returns the virtual time.
	Now() time.Time
	// Go starts a fiber. It runs when the calling fiber waits or ends.
	Go(f func())
	// Wait blocks the calling fiber until ready returns true. The Scheduler calls ready again
	// and again: it must be cheap and change nothing. If the fiber's process is killed, Wait does
	// not return: it unwinds the fiber by a panic.
	Wait(ready func() bool)
	// AfterFunc starts a fiber after a time. stop prevents that, and reports whether it did.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// With returns a context under which a Scheduler runs all code.
func With(ctx context.Context, s Scheduler) context.Context {
	return context.WithValue(ctx, key{}, s)
}

type key struct{}

// of returns the Scheduler of a context; nil: there is none.
func of(ctx context.Context) Scheduler {
	s, _ := ctx.Value(key{}).(Scheduler)
	return s
}

// Now returns the time.
func Now(ctx context.Context) time.Time {
	if s := of(ctx); s != nil {
		return s.Now()
	}
	return time.Now()
}

// Go starts f: in a goroutine, or in a fiber.
func Go(ctx context.Context, f func()) {
	if s := of(ctx); s != nil {
		s.Go(f)
	} else {
		go f()
	}
}
