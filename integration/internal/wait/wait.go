// Package wait has the only waits of tests. A test waits for a condition as long as the whole run may take. A busy
// machine makes a wait longer, but no test fails. If a condition never becomes true, the wait fails shortly before the
// time limit of all tests. The output then has the test's goroutines, and the ends of its cluster's logs (package
// clusters).
//
// An error on the way to a server (a refused or broken connection, or a try that took too long) is not an answer, so
// the wait tries again. Any other error fails the test at once.
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

// Interval is the time between two checks of a condition.
const Interval = 200 * time.Millisecond

// ErrGivenUp says that a condition cannot become true any more. A condition's error wraps it to end the wait at once.
var ErrGivenUp = errors.New("given up")

// Until waits until a condition holds.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	For(t, what, func() (bool, error) { return holds(), nil })
}

// For waits until a condition holds. An error fails the test at once, unless it is an error on the way to a server
// (OfTheWay).
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

// Satisfied waits until a condition returns nil. If the test fails, its output has the condition's last error. An error
// that wraps ErrGivenUp ends the wait.
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

// Answer calls ask until it returns an answer or an error. An error on the way to a server does not count; any other
// error fails the test.
func Answer[T any](t testing.TB, what string, ask func() (T, error)) (answer T) {
	t.Helper()
	For(t, what, func() (bool, error) {
		var err error
		answer, err = ask()
		return err == nil, err
	})
	return answer
}

// Poll calls a condition every Interval until it returns nil, or an error that wraps ErrGivenUp, or until ctx ends. It
// is for code without a test.
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

// OfTheWay reports whether an error happened on the way to a server. Errors that a server or the test has made are not
// of this kind.
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

// errHang is the cause of the end of a wait's context, shortly before the tests' time limit.
var errHang = errors.New("the tests' time is almost over")

// Context returns the test's context. In a cleanup after the test, it returns one that is not cancelled.
func Context(t testing.TB) context.Context {
	if t.Context().Err() != nil {
		return context.WithoutCancel(t.Context())
	}
	return t.Context()
}

// patience returns a context that ends early enough for a failure with the name of the condition. `go test` itself
// would print only goroutines.
func patience(t testing.TB) (context.Context, context.CancelFunc) {
	end, ok := deadline(t)
	if !ok {
		return context.WithCancel(Context(t))
	}
	return context.WithDeadlineCause(Context(t), end.Add(-min(margin, time.Until(end)/10)), errHang)
}

// margin is the time before the tests' limit at which a wait gives up, so that the failure can be reported.
const margin = time.Minute

// Over reports that the tests' time is almost over. A test that fails then has waited in vain.
func Over(t testing.TB) bool {
	end, ok := deadline(t)
	return ok && time.Until(end) <= margin
}

// deadline returns the time limit of all tests. A benchmark has none.
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
