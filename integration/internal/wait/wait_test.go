package wait

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a test whose failure can be examined. Like a real test, its Fatal ends the goroutine, which run has
// started.
type recorder struct {
	testing.TB
	ctx  context.Context //nolint:containedctx // a test has one, too
	end  time.Time
	said strings.Builder
}

func (r *recorder) Helper()                         {}
func (r *recorder) Context() context.Context        { return r.ctx }
func (r *recorder) Deadline() (time.Time, bool)     { return r.end, !r.end.IsZero() }
func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.said, format+"\n", args...) }
func (r *recorder) Fatal(args ...any)               { fmt.Fprintln(&r.said, args...); panic(r) }

// run returns the message of a failing test, or "".
func run(ctx context.Context, end time.Time, test func(testing.TB)) string {
	r := &recorder{ctx: ctx, end: end}
	func() {
		defer func() { _ = recover() }()
		test(r)
	}()
	return r.said.String()
}

// The test would catch a wait with a time limit of its own, which a busy machine reaches.
func TestAWaitIsAsLongAsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		came := time.Now().Add(19 * time.Minute)
		end := time.Now().Add(40 * time.Minute)
		if said := run(t.Context(), end, func(t testing.TB) {
			Until(t, "it comes", func() bool { return time.Now().After(came) })
		}); said != "" {
			t.Error(said)
		}
	})
}

// The test would catch a hang that only the time limit of go test reports.
func TestAHangIsToldWithItsGoroutinesBeforeTheRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(20 * time.Minute)
		said := run(t.Context(), end, func(t testing.TB) {
			Satisfied(t, "it comes", func() error { return errors.New("it is away") })
		})
		if !time.Now().Before(end) {
			t.Errorf("the wait ended at %v, the run ends at %v", time.Now(), end)
		}
		for _, want := range []string{"wait for it comes", "it is away", "all goroutines", "TestAHangIsToldWithItsGoroutinesBeforeTheRunEnds"} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not in %.2000s", want, said)
			}
		}
	})
}

// The test would catch a test that fails because a server restarts, and one that continues to wait after a refusal.
func TestErrorsOfTheWayAreNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{io.EOF, syscall.ECONNREFUSED, fmt.Errorf("get: %w", context.DeadlineExceeded)} {
			tries := 0
			said := run(t.Context(), time.Time{}, func(t testing.TB) {
				got := Answer(t, "an answer", func() (int, error) {
					if tries++; tries < 3 {
						return 0, err
					}
					return tries, nil
				})
				if got != 3 {
					t.Fatal("got", got)
				}
			})
			if said != "" {
				t.Errorf("%v: %s", err, said)
			}
		}
		tries := 0
		said := run(t.Context(), time.Time{}, func(t testing.TB) {
			For(t, "it is so", func() (bool, error) { tries++; return false, errors.New("refused") })
		})
		if tries != 1 || !strings.Contains(said, "refused") {
			t.Errorf("after %d tries: %s", tries, said)
		}
	})
}

// The test would catch a kind of broken connection that counts as an answer.
func TestConnectionsThatBreakAreOfTheWay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}))
	_, broken := http.Get(server.URL)
	server.Close()
	_, refused := http.Get(server.URL)
	for _, err := range []error{broken, refused} {
		if !OfTheWay(err) {
			t.Errorf("%v is not of the way", err)
		}
	}
}

// The test would catch a cleanup that gives up at once because its test's context has ended.
func TestACleanupWaitsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		tries := 0
		if said := run(over, time.Time{}, func(t testing.TB) {
			Until(t, "it is gone", func() bool { tries++; return tries > 5 })
		}); said != "" {
			t.Error(said)
		}
	})
}
