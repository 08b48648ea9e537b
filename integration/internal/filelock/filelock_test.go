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
