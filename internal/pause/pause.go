// Package pause waits. It starts no goroutines and imports nothing of ours, so that every floor of
// Bobbin may import it but dataflow and yarnrpc, which has its own.
package pause

import (
	"context"
	"time"
)

// For waits for d, unless ctx ends first: the error is then its cause.
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
