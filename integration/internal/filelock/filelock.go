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
	"strings"
	"syscall"
	"time"
)

// interval is the time between two tries for a lock, because flock(2) cannot be cancelled.
const interval = 200 * time.Millisecond

// Exclusive takes an exclusive lock until unlock is called or the process ends. The file stays.
func Exclusive(ctx context.Context, path string) (unlock func(), err error) {
	_, unlock, err = lock(ctx, syscall.LOCK_EX, path)
	return unlock, err
}

// ExclusiveAny takes an exclusive lock on one of the files: on the first one that becomes free. If several are free, it
// takes the one that comes first in paths, whose index is at. Otherwise it is like Exclusive.
func ExclusiveAny(ctx context.Context, paths ...string) (at int, unlock func(), err error) {
	return lock(ctx, syscall.LOCK_EX, paths...)
}

// Shared takes a lock that others may share. It excludes exclusive locks.
func Shared(ctx context.Context, path string) (unlock func(), err error) {
	_, unlock, err = lock(ctx, syscall.LOCK_SH, path)
	return unlock, err
}

func lock(ctx context.Context, how int, paths ...string) (at int, unlock func(), err error) {
	files := make([]*os.File, 0, len(paths))
	defer func() {
		for i, f := range files {
			if unlock == nil || i != at {
				f.Close()
			}
		}
	}()
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return 0, nil, fmt.Errorf("lock: %w", err)
		}
		files = append(files, f)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		for i, f := range files {
			err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
			if err == nil {
				return i, func() { f.Close() }, nil
			}
			if !errors.Is(err, syscall.EWOULDBLOCK) {
				return 0, nil, fmt.Errorf("lock %s: %w", f.Name(), err)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0, nil, fmt.Errorf("lock %s, which another process holds: %w", strings.Join(paths, " or "), context.Cause(ctx))
		}
	}
}
