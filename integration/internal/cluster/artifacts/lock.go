package artifacts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockPoll is how often a waiting process looks whether the lock is free: flock(2) itself cannot be cancelled.
const lockPoll = 100 * time.Millisecond

// lock holds an exclusive lock on a file, which stays, until unlock is called or the process ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
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
