package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The test would catch two exclusive locks at once, and shared locks that exclude each other.
func TestALockIsHeldByOneOrByReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	type taker func(context.Context, string) (func(), error)
	for name, test := range map[string]struct {
		first, second taker
		together      bool
	}{
		"two alone":               {Exclusive, Exclusive, false},
		"one alone, then readers": {Exclusive, Shared, false},
		"readers, then one alone": {Shared, Exclusive, false},
		"readers":                 {Shared, Shared, true},
	} {
		t.Run(name, func(t *testing.T) {
			unlock, err := test.first(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			other, err := test.second(ctx, path)
			if test.together != (err == nil) || (err != nil && !errors.Is(err, context.DeadlineExceeded)) {
				t.Errorf("the second lock beside the first: %v", err)
			}
			if err == nil {
				other()
			}
			unlock()
			again, err := test.second(t.Context(), path)
			if err != nil {
				t.Fatalf("lock after unlock: %v", err)
			}
			again()
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the lock file is gone: a waiting process would lock another file: %v", err)
			}
		})
	}
}

// The test would catch a lock on a file that another holds, one that waits although a file is free, and one that keeps
// the files that it has not taken.
func TestTheFirstFreeFileIsTaken(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	var unlocks []func()
	for want := range paths {
		at, unlock, err := ExclusiveAny(t.Context(), paths...)
		if err != nil || at != want {
			t.Fatalf("with %d files taken, got file %d, %v", want, at, err)
		}
		unlocks = append(unlocks, unlock)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	cancel(over)
	if at, _, err := ExclusiveAny(ctx, paths...); !errors.Is(err, over) {
		t.Errorf("with both files taken, got file %d, %v; want the cause of the context's end", at, err)
	}
	unlocks[1]()
	at, again, err := ExclusiveAny(t.Context(), paths...)
	if err != nil || at != 1 {
		t.Fatalf("with the second file free, got file %d, %v", at, err)
	}
	again()
	unlocks[0]()
	if at, unlock, err := ExclusiveAny(t.Context(), paths...); err != nil || at != 0 {
		t.Errorf("with both files free, got file %d, %v", at, err)
	} else {
		unlock()
	}
}
