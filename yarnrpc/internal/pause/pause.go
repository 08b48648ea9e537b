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

// For waits for d. If ctx ends first, the error is its cause.
func For(ctx context.Context, d time.Duration) error {
	if c, is := ctx.Value(key{}).(Clock); is {
		return c.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
