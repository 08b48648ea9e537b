// Package wait is the one way in which tests wait: for a condition, as long as the
// whole run may take. A busy machine makes a wait longer and fails nothing; what never
// comes ends with the test's goroutines in its output, and the ends of its cluster's logs
// (package clusters), shortly before all tests would be ended at once.
//
// An error of the way to a server (a refused connection, one that broke, a try that took
// too long) is no answer, and the question is asked again. Any other error fails the test
// at once.
//
// The package starts no goroutines and keeps no state.
package wait

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Interval is how often a condition is looked at again.
const Interval = 200 * time.Millisecond

// ErrGivenUp is wrapped by what a condition returns that cannot come to hold any more: the wait ends at once.
var ErrGivenUp = errors.New("given up")

// Until waits until a condition holds.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	For(t, what, func() (bool, error) { return holds(), nil })
}

// For waits until a condition holds. An error fails the test at once, unless it is one of the way (OfTheWay).
func For(t testing.TB, what string, holds func() (bool, error)) {
	t.Helper()
	Satisfied(t, what, func() error {
		held, err := holds()
		switch {
		case err != nil && !OfTheWay(err):
			return fmt.Errorf("%w: %w", ErrGivenUp, err)
		case err == nil && !held:
			return errNotYet
		}
		return err
	})
}

var errNotYet = errors.New("not yet")

// Satisfied waits until a condition returns nil. What it returned last is in the failed test's output. An error that wraps
// ErrGivenUp ends the wait.
func Satisfied(t testing.TB, what string, condition func() error) {
	t.Helper()
	ctx, cancel := patience(t)
	defer cancel()
	err := Poll(ctx, what, condition)
	if errors.Is(err, errHang) {
		t.Logf("all goroutines:\n%s", stacks())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Answer asks until there is an answer, or an error that is not of the way there, which fails the test.
func Answer[T any](t testing.TB, what string, ask func() (T, error)) (answer T) {
	t.Helper()
	For(t, what, func() (bool, error) {
		var err error
		answer, err = ask()
		return err == nil, err
	})
	return answer
}

// Poll asks a condition every Interval until it returns nil, or an error that wraps ErrGivenUp, or ctx ends. For code that has
// no test at hand.
func Poll(ctx context.Context, what string, condition func() error) error {
	began := time.Now()
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrGivenUp) {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s, after %v: %w (last seen: %w)", what, time.Since(began).Round(time.Second), context.Cause(ctx), err)
		}
	}
}

// OfTheWay tells errors of the way to a server from those that a server, or the test itself, has made.
func OfTheWay(err error) bool {
	if unavailable, is := errors.AsType[interface {
		error
		Unavailable() bool
	}](err); is {
		return unavailable.Unavailable()
	}
	if network, is := errors.AsType[net.Error](err); is && network.Timeout() {
		return true
	}
	for _, broken := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.DeadlineExceeded,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}

// errHang is the cause of the end of what a test may wait for.
var errHang = errors.New("the tests' time is almost over")

// Context is the test's own, and that of the test's cleanup once the test is over.
func Context(t testing.TB) context.Context {
	if t.Context().Err() != nil {
		return context.WithoutCancel(t.Context())
	}
	return t.Context()
}

// patience ends in time for a failure that says what was waited for: `go test` itself tells goroutines alone.
func patience(t testing.TB) (context.Context, context.CancelFunc) {
	end, ok := deadline(t)
	if !ok {
		return context.WithCancel(Context(t))
	}
	return context.WithDeadlineCause(Context(t), end.Add(-min(margin, time.Until(end)/10)), errHang)
}

// margin is how long before all tests end a wait gives up, for what there is to tell.
const margin = time.Minute

// Over says that the tests' time is almost over: a test that fails then has waited in vain.
func Over(t testing.TB) bool {
	end, ok := deadline(t)
	return ok && time.Until(end) <= margin
}

// deadline is when all tests end; a benchmark has none.
func deadline(t testing.TB) (time.Time, bool) {
	limited, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return time.Time{}, false
	}
	return limited.Deadline()
}

func stacks() []byte {
	text := make([]byte, 4<<20)
	return text[:runtime.Stack(text, true)]
}
