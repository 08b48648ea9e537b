package sched

import (
	"context"
	"sync"
	"sync/atomic"
)

// Group is a sync.WaitGroup for goroutines or fibers. The zero value is ready. All calls for a Group
// pass contexts of one Scheduler, or of none.
type Group struct {
	goroutines sync.WaitGroup
	fibers     atomic.Int64
}

// Go starts f in a goroutine or fiber.
func (g *Group) Go(ctx context.Context, f func()) {
	s := of(ctx)
	if s == nil {
		g.goroutines.Go(f)
		return
	}
	g.fibers.Add(1)
	s.Go(func() {
		defer g.fibers.Add(-1)
		f()
	})
}

// Wait waits until all functions have returned. It does not end with ctx.
func (g *Group) Wait(ctx context.Context) {
	if s := of(ctx); s != nil {
		s.Wait(func() bool { return g.fibers.Load() == 0 })
		return
	}
	g.goroutines.Wait()
}

// ErrGroup is an errgroup.Group for goroutines or fibers. Make it with WithErrors.
type ErrGroup struct {
	ctx    context.Context //nolint:containedctx // as in errgroup.Group
	cancel context.CancelCauseFunc
	group  Group
	first  sync.Once
	err    error
}

// WithErrors makes an ErrGroup, and a context that ends with the first error, which is its cause, or
// when Wait returns.
func WithErrors(ctx context.Context) (*ErrGroup, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &ErrGroup{ctx: ctx, cancel: cancel}, ctx
}

// Go starts f in a goroutine or fiber.
func (g *ErrGroup) Go(f func() error) {
	g.group.Go(g.ctx, func() {
		if err := f(); err != nil {
			g.first.Do(func() {
				g.err = err
				g.cancel(err)
			})
		}
	})
}

// Wait waits until all functions have returned, and returns the first error.
func (g *ErrGroup) Wait() error {
	g.group.Wait(g.ctx)
	g.cancel(g.err)
	return g.err
}
