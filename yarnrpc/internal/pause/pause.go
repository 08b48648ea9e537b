// Package pause waits, and reads the clock: the machine's, or one that a context carries. It starts no
// goroutine, and imports nothing of this module.
package pause

import (
	"context"
	"time"
)

// Clock is another clock than the machine's.
type Clock interface {
	Now() time.Time
	// Sleep waits for d. If ctx ends first, the error is its cause.
	Sleep(ctx context.Context, d time.Duration) error
}

// With returns a context whose users follow a clock.
func With(ctx context.Context, c Clock) context.Context {
	return context.WithValue(ctx, key{}, c)
}

type key struct{}

// Now returns the time.
func Now(ctx context.Context) time.Time {
	if c, is := ctx.Value(key{}).(Clock); is {
		return c.Now()
	}
	return time.Now()
}

// Over returns the cause of ctx if it has ended. A deadline counts once it has passed: when a stopped process continues,
// the timer that ends ctx may be the last one to run.
func Over(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if deadline, has := ctx.Deadline(); has && !Now(ctx).Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// For waits for d. If ctx ends first, or is Over after the wait, the error is its cause.
func For(ctx context.Context, d time.Duration) error {
	if c, is := ctx.Value(key{}).(Clock); is {
		if err := c.Sleep(ctx, d); err != nil {
			return err
		}
		return Over(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return Over(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
