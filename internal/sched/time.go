package sched

import (
	"context"
	"sync"
	"time"
)

// Timer is a time.Timer, or one of a Scheduler.
type Timer struct {
	C         <-chan time.Time
	real      *time.Timer
	scheduler Scheduler
	rang      chan time.Time // C of a Scheduler's timer
	stop      func() bool
}

// NewTimer makes a timer that rings after a time.
func NewTimer(ctx context.Context, d time.Duration) *Timer {
	s := of(ctx)
	if s == nil {
		timer := time.NewTimer(d)
		return &Timer{C: timer.C, real: timer}
	}
	t := &Timer{scheduler: s, rang: make(chan time.Time, 1), stop: func() bool { return false }}
	t.C = t.rang
	t.Reset(d)
	return t
}

// Reset makes the timer ring after a time, and not before.
func (t *Timer) Reset(d time.Duration) {
	if t.real != nil {
		t.real.Reset(d)
		return
	}
	t.Stop()
	t.stop = t.scheduler.AfterFunc(d, func() { t.rang <- t.scheduler.Now() })
}

// Stop prevents the timer from ringing.
func (t *Timer) Stop() {
	if t.real != nil {
		t.real.Stop()
		return
	}
	t.stop()
	select {
	case <-t.rang:
	default:
	}
}

// Rings reports, under a Scheduler, whether C delivers.
func (t *Timer) Rings() bool { return len(t.rang) > 0 }

// After returns a channel that is closed after a time. stop releases the timer.
func After(ctx context.Context, d time.Duration) (rang <-chan struct{}, stop func() bool) {
	c := make(chan struct{})
	return c, AfterFunc(ctx, d, func() { close(c) })
}

// AfterFunc calls f after a time, in a goroutine or fiber of its own. stop prevents that, and reports
// whether it did.
func AfterFunc(ctx context.Context, d time.Duration, f func()) (stop func() bool) {
	if s := of(ctx); s != nil {
		return s.AfterFunc(d, f)
	}
	return time.AfterFunc(d, f).Stop
}

// OnEnd calls f when ctx ends, in a goroutine or fiber of its own. stop prevents that, and reports
// whether it did.
func OnEnd(ctx context.Context, f func()) (stop func() bool) {
	s := of(ctx)
	if s == nil {
		return context.AfterFunc(ctx, f)
	}
	begun, stopped := false, false
	s.Go(func() {
		s.Wait(func() bool { return stopped || ctx.Err() != nil })
		if !stopped {
			begun = true
			f()
		}
	})
	return func() bool {
		prevented := !begun && !stopped
		stopped = true
		return prevented
	}
}

// WithTimeout is context.WithTimeout.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return WithTimeoutCause(ctx, d, nil)
}

// WithTimeoutCause is context.WithTimeoutCause.
func WithTimeoutCause(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	s := of(ctx)
	if s == nil {
		return context.WithTimeoutCause(ctx, d, cause)
	}
	return withDeadline(ctx, s, s.Now().Add(d), cause)
}

// WithDeadlineCause is context.WithDeadlineCause.
func WithDeadlineCause(ctx context.Context, at time.Time, cause error) (context.Context, context.CancelFunc) {
	s := of(ctx)
	if s == nil {
		return context.WithDeadlineCause(ctx, at, cause)
	}
	return withDeadline(ctx, s, at, cause)
}

func withDeadline(ctx context.Context, s Scheduler, at time.Time, cause error) (context.Context, context.CancelFunc) {
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	running, cancel := context.WithCancelCause(ctx)
	limited := &deadlineContext{Context: running, at: at}
	if !at.After(s.Now()) {
		limited.passed = limited.Err() == nil
		cancel(cause)
	}
	stop := s.AfterFunc(at.Sub(s.Now()), func() {
		limited.passed = limited.Err() == nil
		cancel(cause)
	})
	return limited, sync.OnceFunc(func() {
		stop()
		cancel(context.Canceled)
	})
}

// deadlineContext is a context with a deadline in a Scheduler's time.
type deadlineContext struct {
	context.Context //nolint:containedctx // it is a context itself

	at     time.Time
	passed bool // ended by its deadline
}

// Deadline returns the earlier one of the parent's and the context's own.
func (c *deadlineContext) Deadline() (time.Time, bool) {
	if at, has := c.Context.Deadline(); has && at.Before(c.at) {
		return at, true
	}
	return c.at, true
}

func (c *deadlineContext) Err() error {
	if c.passed {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}
