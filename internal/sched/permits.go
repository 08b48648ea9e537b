package sched

import "context"

// Permits is a semaphore: a number of goroutines or fibers hold a permit at the same time, and more wait in
// their order. Unlike a lock it may be held while its holder waits. Make it with NewPermits.
type Permits struct{ free chan struct{} }

// NewPermits makes a number of permits.
func NewPermits(n int) Permits {
	p := Permits{make(chan struct{}, n)}
	for range n {
		p.Release()
	}
	return p
}

// Acquire waits for a permit. The error is ctx's cause if ctx ends before.
func (p Permits) Acquire(ctx context.Context) error {
	if First(ctx, p.free) < 0 {
		return context.Cause(ctx)
	}
	return nil
}

// Release gives a permit back.
func (p Permits) Release() { p.free <- struct{}{} }
