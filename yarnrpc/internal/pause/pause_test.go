package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pause"
)

// If a pause outlived its context, it would keep a program from ending.
func TestAPauseEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := pause.For(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		began = time.Now()
		if err := pause.For(ctx, time.Hour); !errors.Is(err, enough) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// passed is a context whose deadline has passed, and whose timer has not run yet.
type passed struct{ context.Context } //nolint:containedctx // it is a context itself

func (passed) Deadline() (time.Time, bool) { return time.Now(), true }

// A process that continues after a stop would repeat a call whose time is over, because both timers run at once.
func TestAPauseFailsAfterADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := pause.For(passed{t.Context()}, time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		later, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := pause.For(later, time.Second); err != nil {
			t.Error(err)
		}
	})
}
