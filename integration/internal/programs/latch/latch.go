// Package latch holds a program back until a test lets it go on.
package latch

import (
	"context"
	"os"
	"time"
)

// Await waits until the file exists. The error is that of ctx.
func Await(ctx context.Context, file string) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
