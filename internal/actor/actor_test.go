package actor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/actor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a core that sums events and returns the sum in its effects.
type counter struct {
	sum   int
	alarm time.Time
}

type event struct {
	add      int
	question actor.Question[int]
	alarm    time.Time // the new alarm; zero: no change
	woken    bool
}

// effect is a sum, or a reply if it has one.
type effect interface{ isEffect() }

type (
	sum   int
	reply struct{ actor.Reply }
)

func (sum) isEffect()   {}
func (reply) isEffect() {}

func (c *counter) Step(_ time.Time, e event) []effect {
	c.sum += e.add
	if !e.alarm.IsZero() {
		c.alarm = e.alarm
	}
	if e.woken {
		c.sum, c.alarm = -1, time.Time{}
	}
	effects := []effect{sum(c.sum)}
	if e.question != 0 {
		effects = append(effects, reply{e.question.Answer(c.sum)})
	}
	return effects
}

func (c *counter) Alarm() time.Time { return c.alarm }

func newLoop() *actor.Loop[event, effect] {
	return actor.New[event, effect](new(counter), event{woken: true})
}

type recorder struct{ got []effect }

func (r *recorder) Perform(_ context.Context, e effect) { r.got = append(r.got, e) }

func with(shell actor.Shell[effect]) func(context.Context) actor.Shell[effect] {
	return func(context.Context) actor.Shell[effect] { return shell }
}

// TestLoopStepsInOrder would catch events or effects that overtake each other, and a reply that
// reaches the shell.
func TestLoopStepsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shell, loop := new(recorder), newLoop()
		go loop.Run(t.Context(), with(shell))
		for i := range 5 {
			if err := loop.Post(t.Context(), event{add: i}); err != nil {
				t.Fatal(err)
			}
		}
		answer, err := actor.Ask(t.Context(), loop, func(q actor.Question[int]) event { return event{add: 10, question: q} })
		if err != nil || answer != 20 {
			t.Errorf("Ask = %d, %v, want 20", answer, err)
		}
		loop.Stop()
		loop.Stop()
		<-loop.Done()
		if want := []effect{sum(0), sum(1), sum(3), sum(6), sum(10), sum(20)}; !slices.Equal(shell.got, want) {
			t.Errorf("effects = %v, want %v", shell.got, want)
		}
	})
}

// TestStoppedLoopTakesNothing would catch a caller that waits forever for a role that has ended.
func TestStoppedLoopTakesNothing(t *testing.T) {
	loop := newLoop()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the process ends")
	cancel(cause)
	if err := loop.Run(ctx, with(new(recorder))); !errors.Is(err, cause) {
		t.Errorf("Run = %v, want the cause", err)
	}
	if err := loop.Post(t.Context(), event{}); !errors.Is(err, actor.ErrStopped) {
		t.Errorf("Post = %v, want ErrStopped", err)
	}
	if _, err := actor.Ask(t.Context(), loop, func(q actor.Question[int]) event { return event{question: q} }); !errors.Is(err, actor.ErrStopped) {
		t.Errorf("Ask = %v, want ErrStopped", err)
	}
}

// TestTheLastAnswerOfALoopArrives would catch an answer that is lost because the
// role ended right after it.
func TestTheLastAnswerOfALoopArrives(t *testing.T) {
	for range 5000 { // the asker is rarely slow enough to find both
		loop := newLoop()
		loop.Observe(func(event, []effect) { loop.Stop() })
		ran := make(chan error, 1)
		go func() { ran <- loop.Run(t.Context(), with(new(recorder))) }()
		answer, err := actor.Ask(t.Context(), loop, func(q actor.Question[int]) event { return event{add: 1, question: q} })
		if err != nil || answer != 1 {
			t.Fatalf("Ask = %d, %v, want the answer", answer, err)
		}
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}
}

// TestRunWaitsForWhatItStarted would catch a goroutine that outlives its role, and a wrong cause of
// the end.
func TestRunWaitsForWhatItStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := newLoop()
		cause := errors.New("driver is gone")
		var ended time.Time
		err := loop.Run(t.Context(), func(context.Context) actor.Shell[effect] {
			loop.Go(func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(time.Minute)
				ended = time.Now()
			})
			loop.Go(func(context.Context) { loop.Fail(cause) })
			return new(recorder)
		})
		if !errors.Is(err, cause) {
			t.Errorf("Run = %v, want the error of Fail", err)
		}
		if ended.IsZero() {
			t.Error("Run has returned before a goroutine of the role")
		}
		loop.Stop() // too late: it must have no effect
	})
}

// TestTheAlarmRingsOnceAtTheLatestTime would catch an alarm that rings although it was moved or
// cancelled, and one that rings repeatedly.
func TestTheAlarmRingsOnceAtTheLatestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop, start := newLoop(), time.Now()
		var rang []time.Duration
		loop.Observe(func(e event, _ []effect) {
			if e.woken {
				rang = append(rang, time.Since(start))
			}
		})
		go loop.Run(t.Context(), with(new(recorder)))
		loop.Tell(t.Context(), event{alarm: start.Add(time.Second)})
		loop.Tell(t.Context(), event{alarm: start.Add(3 * time.Second)})
		time.Sleep(time.Hour)
		loop.Tell(t.Context(), event{alarm: start.Add(time.Second)}) // long past
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []time.Duration{3 * time.Second, time.Hour}; !slices.Equal(rang, want) {
			t.Errorf("the alarm rang after %v, want %v", rang, want)
		}
		loop.Stop()
		<-loop.Done()
	})
}

// stuckCore never moves its alarm.
type stuckCore struct{ at time.Time }

func (c *stuckCore) Step(time.Time, event) []effect { return nil }
func (c *stuckCore) Alarm() time.Time               { return c.at }

// TestAnAlarmThatIsLeftInThePastRingsEachSecond would catch a core's mistake that uses up a
// processor, or that costs the role all its later alarms.
func TestAnAlarmThatIsLeftInThePastRingsEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := actor.New[event, effect](&stuckCore{time.Now().Add(time.Second)}, event{woken: true})
		rang := 0
		loop.Observe(func(e event, _ []effect) {
			if e.woken {
				rang++
			}
		})
		go loop.Run(t.Context(), with(new(recorder)))
		loop.Tell(t.Context(), event{})
		time.Sleep(10*time.Second + 500*time.Millisecond)
		synctest.Wait()
		if rang != 10 {
			t.Errorf("the alarm rang %d times in ten seconds, want 10", rang)
		}
		loop.Stop()
		<-loop.Done()
	})
}

// slowCore takes 20 s for a step, and wants to be woken a minute after the step's beginning.
type slowCore struct{ at time.Time }

func (c *slowCore) Step(now time.Time, e event) []effect {
	c.at = time.Time{}
	if !e.woken {
		c.at = now.Add(time.Minute)
		time.Sleep(20 * time.Second)
	}
	return nil
}

func (c *slowCore) Alarm() time.Time { return c.at }

// TestTheAlarmIsNotLateByTheStep would catch an alarm that is late by the time of a long step: the
// role would take itself for stopped.
func TestTheAlarmIsNotLateByTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop, start := actor.New[event, effect](new(slowCore), event{woken: true}), time.Now()
		var rang time.Duration
		loop.Observe(func(e event, _ []effect) {
			if e.woken {
				rang = time.Since(start)
			}
		})
		go loop.Run(t.Context(), with(new(recorder)))
		loop.Tell(t.Context(), event{})
		time.Sleep(time.Hour)
		synctest.Wait()
		if rang != time.Minute {
			t.Errorf("the alarm rang after %v, want 1m", rang)
		}
		loop.Stop()
		<-loop.Done()
	})
}

// TestTheFirstEndCounts would catch a role that ends with another cause than the first, and one
// that steps after its end.
func TestTheFirstEndCounts(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	for range 1000 {
		ctx, cancel := context.WithCancelCause(t.Context())
		loop, steps := newLoop(), 0
		loop.Observe(func(event, []effect) {
			steps++
			loop.Fail(first)
			cancel(second)
		})
		for range 3 {
			loop.Tell(t.Context(), event{alarm: time.Now()})
		}
		if err := loop.Run(ctx, with(new(recorder))); !errors.Is(err, first) || steps != 1 {
			t.Fatalf("Run = %v after %d steps, want the first cause after one", err, steps)
		}
	}
}

// TestTheAlarmRingsBehindWhatWaits would catch an alarm that overtakes events which came in time. A
// busy loop would then count a peer as silent although its heartbeat waits in the mailbox.
func TestTheAlarmRingsBehindWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := newLoop()
		var order []string
		loop.Observe(func(e event, _ []effect) {
			switch {
			case e.woken:
				order = append(order, "alarm")
			case e.add > 0:
				order = append(order, "event")
			default: // the loop is busy beyond the alarm's time, and events come meanwhile
				for range 3 {
					loop.Tell(t.Context(), event{add: 1})
				}
				time.Sleep(time.Minute)
			}
		})
		go loop.Run(t.Context(), with(new(recorder)))
		loop.Tell(t.Context(), event{alarm: time.Now().Add(time.Second)})
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []string{"event", "event", "event", "alarm"}; !slices.Equal(order, want) {
			t.Errorf("taken in the order %v, want %v", order, want)
		}
		loop.Stop()
		<-loop.Done()
	})
}
