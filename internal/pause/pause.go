// Package pause waits. It starts no goroutines and imports nothing of this module. All packages may
// import it except dataflow and yarnrpc, which has its own.
package pause

import (
	"context"
	"time"
)

// For waits for d. If ctx ends first, it returns the cause of ctx.
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
