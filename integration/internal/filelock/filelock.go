// Package filelock holds locks on files (flock(2)) between the processes and the goroutines of a test run. Each holder
// opens the file again, so that two goroutines of one process exclude each other too. A lock ends when its process ends
// in any way.
//
// The package starts no goroutines and keeps no state.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// interval is the time between two tries for a lock, because flock(2) cannot be cancelled.
const interval = 200 * time.Millisecond

// Exclusive takes an exclusive lock until unlock is called or the process ends. The file stays.
func Exclusive(ctx context.Context, path string) (unlock func(), err error) {
	return lock(ctx, path, syscall.LOCK_EX)
}

// Shared takes a lock that others may share. It excludes exclusive locks.
func Shared(ctx context.Context, path string) (unlock func(), err error) {
	return lock(ctx, path, syscall.LOCK_SH)
}

func lock(ctx context.Context, path string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("lock %s, which another process holds: %w", path, context.Cause(ctx))
		}
	}
}
