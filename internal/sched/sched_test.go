package sched_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/sched"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFirstPrefersTheLowest would catch a wait that picks one of several ready channels at random, or
// that takes an element without returning its index.
func TestFirstPrefersTheLowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, token := make(chan struct{}), make(chan struct{}, 1)
		close(closed)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		token <- struct{}{}
		for range 100 {
			if i := sched.First(ended, nil, closed, token); i != 1 {
				t.Fatalf("First = %d, want 1", i)
			}
		}
		if i := sched.First(ended, nil, token, closed); i != 1 {
			t.Errorf("First = %d, want 1", i)
		}
		if i := sched.First(ended, token); i != -1 {
			t.Errorf("First = %d after the end of ctx, want -1", i)
		}
		time.AfterFunc(time.Minute, func() { token <- struct{}{} })
		if i := sched.First(t.Context(), nil, token); i != 1 {
			t.Errorf("First = %d, want 1", i)
		}
	})
}

// TestWhatIsThereCountsMoreThanTheEnd would catch a wait that draws lots when its context has ended and its
// channel is ready, too: the simulation could not repeat it.
func TestWhatIsThereCountsMoreThanTheEnd(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c := make(chan int, 1)
	for i := range 100 {
		if err := sched.Send(ended, c, i); err != nil {
			t.Fatalf("Send = %v, though there is room", err)
		}
		if err := sched.Send(ended, c, i); !errors.Is(err, context.Canceled) {
			t.Fatalf("Send without room = %v, want the end", err)
		}
		if got, err := sched.Receive(ended, c); got != i || err != nil {
			t.Fatalf("Receive = %d, %v; want %d", got, err, i)
		}
		if _, err := sched.Receive(ended, c); !errors.Is(err, context.Canceled) {
			t.Fatalf("Receive of nothing = %v, want the end", err)
		}
	}
}

// TestPermitsAreLimited would catch a permit that is given twice or lost, and a wait that does not end
// with its context.
func TestPermitsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		permits := sched.NewPermits(2)
		for range 2 {
			if err := permits.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		cause := errors.New("the end")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		if err := permits.Acquire(ctx); !errors.Is(err, cause) {
			t.Errorf("a third permit: %v, want the end of its context", err)
		}
		time.AfterFunc(time.Minute, permits.Release)
		if err := permits.Acquire(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestClosedTakesNothing would catch a look at a channel that costs its token.
func TestClosedTakesNothing(t *testing.T) {
	t.Parallel()
	token := make(chan struct{}, 1)
	token <- struct{}{}
	if sched.Closed(token) || len(token) != 1 {
		t.Error("the token is gone")
	}
	<-token
	if sched.Closed(token) || sched.Closed(nil) {
		t.Error("an open channel counts as closed")
	}
	if close(token); !sched.Closed(token) {
		t.Error("a closed channel counts as open")
	}
}

// TestTimeInAProcess would catch a function that does not do in a process what its model does.
func TestTimeInAProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, start, late := t.Context(), time.Now(), errors.New("too late")
		passed := func(want time.Duration) {
			t.Helper()
			if got := sched.Now(ctx).Sub(start); got != want {
				t.Errorf("after %v, want %v", got, want)
			}
		}
		short, cancel := sched.WithTimeoutCause(ctx, time.Second, late)
		defer cancel()
		if err := sched.Sleep(short, time.Hour); !errors.Is(err, late) {
			t.Errorf("Sleep = %v", err)
		}
		passed(time.Second)
		if err := sched.Sleep(ctx, time.Second); err != nil {
			t.Error(err)
		}
		passed(2 * time.Second)
		rang, stop := sched.After(ctx, time.Second)
		defer stop()
		sched.First(ctx, rang)
		passed(3 * time.Second)
		timer := sched.NewTimer(ctx, time.Hour)
		timer.Reset(time.Second)
		<-timer.C
		passed(4 * time.Second)
		timer.Stop()

		told := make(chan struct{})
		sched.OnEnd(short, func() { close(told) })
		sched.First(ctx, told)
		ran := make(chan struct{})
		sched.Go(ctx, func() { close(ran) })
		sched.First(ctx, ran)
	})
}

// TestErrGroupEndsWithTheFirstError would catch a group that hides an error, or goes on after it.
func TestErrGroupEndsWithTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := errors.New("first")
		group, ctx := sched.WithErrors(t.Context())
		group.Go(func() error { return errors.Join(sched.Sleep(ctx, time.Hour), errors.New("second")) })
		group.Go(func() error {
			_ = sched.Sleep(ctx, time.Second)
			return first
		})
		if err := group.Wait(); !errors.Is(err, first) || !errors.Is(context.Cause(ctx), first) {
			t.Errorf("Wait = %v, cause %v", err, context.Cause(ctx))
		}
		if group, ctx = sched.WithErrors(t.Context()); group.Wait() != nil || ctx.Err() == nil {
			t.Error("a group without errors fails, or its context lives on")
		}
	})
}
