// Package pause waits. It starts no goroutine, and imports nothing of this module.
package pause

import (
	"context"
	"time"
)

// For waits for d. If ctx ends first, the error is its cause.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
