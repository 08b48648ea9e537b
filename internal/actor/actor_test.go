package actor_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/actor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a core that sums events and tells the sum in its effects.
type counter struct{ sum int }

type event struct {
	add   int
	reply chan<- int
}

func (c *counter) Step(_ time.Time, e event) []int {
	c.sum += e.add
	if e.reply != nil {
		e.reply <- c.sum
	}
	return []int{c.sum}
}

type recorder struct{ got []int }

func (r *recorder) Perform(_ context.Context, effect int) { r.got = append(r.got, effect) }

// TestLoopStepsInOrder would catch events or effects that overtake each other.
func TestLoopStepsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shell := new(recorder)
		loop := actor.New[event, int](new(counter), shell)
		go loop.Run(t.Context())
		for i := range 5 {
			if err := loop.Post(t.Context(), event{add: i}); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := actor.Ask(t.Context(), loop, func(reply chan<- int) event { return event{add: 10, reply: reply} })
		if err != nil || sum != 20 {
			t.Errorf("Ask = %d, %v, want 20", sum, err)
		}
		loop.Stop()
		loop.Stop()
		<-loop.Done()
		if want := []int{0, 1, 3, 6, 10, 20}; !slices.Equal(shell.got, want) {
			t.Errorf("effects = %v, want %v", shell.got, want)
		}
	})
}

// TestStoppedLoopTakesNothing would catch a caller that waits for ever for a
// role that has ended.
func TestStoppedLoopTakesNothing(t *testing.T) {
	loop := actor.New[event, int](new(counter), new(recorder))
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the process ends")
	cancel(cause)
	if err := loop.Run(ctx); !errors.Is(err, cause) {
		t.Errorf("Run = %v, want the cause", err)
	}
	if err := loop.Post(t.Context(), event{}); !errors.Is(err, actor.ErrStopped) {
		t.Errorf("Post = %v, want ErrStopped", err)
	}
	if _, err := actor.Ask(t.Context(), loop, func(reply chan<- int) event { return event{reply: reply} }); !errors.Is(err, actor.ErrStopped) {
		t.Errorf("Ask = %v, want ErrStopped", err)
	}
}

// TestTheLastAnswerOfALoopArrives would catch an answer that is lost because the
// role ended right after it.
func TestTheLastAnswerOfALoopArrives(t *testing.T) {
	for range 5000 { // seldom is the asker slow enough to find both
		ends := new(ending)
		loop := actor.New[event, int](new(counter), ends)
		ends.stop = loop.Stop
		ran := make(chan error, 1)
		go func() { ran <- loop.Run(t.Context()) }()
		sum, err := actor.Ask(t.Context(), loop, func(reply chan<- int) event { return event{add: 1, reply: reply} })
		if err != nil || sum != 1 {
			t.Fatalf("Ask = %d, %v, want the answer", sum, err)
		}
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}
}

// ending is a shell that ends its loop with the first effect.
type ending struct{ stop func() }

func (e *ending) Perform(context.Context, int) { e.stop() }

// TestTimersFireOnceAtTheLatestSetting would catch a moved or cancelled timer
// that fires all the same.
func TestTimersFireOnceAtTheLatestSetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fired := make(chan string, 10)
		timers := actor.NewTimers(func(key string) { fired <- key })
		start := time.Now()
		timers.Set("moved", time.Second)
		timers.Set("cancelled", time.Second)
		timers.Set("moved", 3*time.Second)
		timers.Cancel("cancelled")
		if got := <-fired; got != "moved" || time.Since(start) != 3*time.Second {
			t.Errorf("fired %q after %v", got, time.Since(start))
		}
		timers.Set("stopped", time.Second)
		timers.Stop()
		timers.Set("after stop", time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(fired) != 0 {
			t.Errorf("fired %q after Stop", <-fired)
		}
	})
}

// TestStoppedTimersCallNothing would catch a callback that is still under way when whoever
// stopped it goes on, and writes to a log or a test that has ended.
func TestStoppedTimersCallNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, ended := make(chan struct{}), 0 // ended is the callback's, and its stopper's then
		timers := actor.NewTimers(func(string) {
			<-release
			ended++
		})
		timers.Set("under way", time.Second)
		timers.Set("later", time.Hour)
		time.Sleep(time.Second)
		synctest.Wait()
		stopped := false
		var stopping sync.WaitGroup
		stopping.Go(func() {
			timers.Stop()
			stopped = true
		})
		synctest.Wait()
		if stopped {
			t.Error("Stop has returned, and the callback has not")
		}
		close(release)
		stopping.Wait()
		timers.Stop()
		if ended != 1 {
			t.Errorf("%d callbacks have ended, want one", ended)
		}
	})
}

// TestFullOutboxReportsIt would catch a loop that blocks on an unhealthy peer.
func TestFullOutboxReportsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	entered, release := make(chan struct{}, 2), make(chan struct{})
	outbox := actor.NewOutbox(ctx, 1, func(context.Context, int) {
		entered <- struct{}{}
		<-release
	})
	if !outbox.Put(1) {
		t.Fatal("empty outbox has no room")
	}
	<-entered
	if !outbox.Put(2) || outbox.Put(3) {
		t.Error("an outbox of 1 must take one item behind the one being delivered, and no more")
	}
	cancel()
	close(release)
	outbox.Wait()
}
