package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is an engine that writes what happens.
type world struct {
	*engine.Engine
	lines []string
}

func newWorld(seed uint64) *world { return &world{Engine: engine.New(epoch, seed)} }

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf("%v ", w.Now().Sub(epoch))+fmt.Sprintf(format, args...))
}

// run takes all events and returns what was said.
func (w *world) run(t *testing.T) []string {
	t.Helper()
	for w.Step() {
	}
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return w.lines
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTimePassesOnlyBetweenEvents would catch a sleep that takes real time, and timers out of order.
func TestTimePassesOnlyBetweenEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	w.Start("p", func(ctx context.Context) {
		var group sched.Group
		for _, d := range []time.Duration{time.Hour, time.Second, time.Minute} {
			group.Go(ctx, func() {
				if err := sched.Sleep(ctx, d); err != nil {
					t.Error(err)
				}
				w.say("slept %v", d)
			})
		}
		group.Wait(ctx)
		w.say("all slept")
	}, func() { w.say("p has ended") })
	same(t, w.run(t), "1s slept 1s", "1m0s slept 1m0s", "1h0m0s slept 1h0m0s", "1h0m0s all slept", "1h0m0s p has ended")
}

// TestAKilledProcessDoesNothingMore would catch a fiber that outlives its process, or a deferred
// function that waits or starts something.
func TestAKilledProcessDoesNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	p := w.Start("p", func(ctx context.Context) {
		sched.AfterFunc(ctx, 2*time.Minute, func() { w.say("a timer of the dead") })
		defer sched.Go(ctx, func() { w.say("a fiber of the dead") })
		defer func() {
			w.say("unwinds")
			_ = sched.Sleep(ctx, time.Second)
			w.say("the dead waits")
		}()
		_ = sched.Sleep(ctx, time.Hour)
		w.say("sleeps on")
	}, func() { w.say("p has ended") })
	w.After(time.Minute, nil, p.Kill)
	w.After(2*time.Minute, nil, p.Kill)
	same(t, w.run(t), "1m0s unwinds", "1m0s p has ended")
	if p.Alive() {
		t.Error("the process is alive")
	}
}

// TestAFrozenProcessCatchesUp would catch events that a frozen process loses, or handles meanwhile.
func TestAFrozenProcessCatchesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	p := w.Start("p", func(ctx context.Context) {
		for range 3 {
			_ = sched.Sleep(ctx, time.Second)
			w.say("beat")
		}
	}, nil)
	w.After(1500*time.Millisecond, nil, p.Freeze)
	w.After(1600*time.Millisecond, p, func() { w.say("a message") })
	w.After(1700*time.Millisecond, p, func() { w.say("another") })
	w.After(time.Minute, nil, p.Thaw)
	same(t, w.run(t), "1s beat", "1m0s a message", "1m0s another", "1m0s beat", "1m1s beat")
}

// TestDeadlinesOfContexts would catch a context that ends by the machine's clock, with another error
// than in a process, or although it was cancelled.
func TestDeadlinesOfContexts(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	late := errors.New("too late")
	w.Start("p", func(ctx context.Context) {
		short, cancel := sched.WithTimeoutCause(ctx, time.Second, late)
		defer cancel()
		child, cancelChild := context.WithCancel(short)
		defer cancelChild()
		stopped := false
		sched.OnEnd(child, func() { stopped = true })
		err := sched.Sleep(child, time.Hour)
		_ = sched.Sleep(ctx, 0) // the function's fiber runs
		w.say("%v, %v, %t", err, errors.Is(short.Err(), context.DeadlineExceeded), stopped)
		long, cancelLong := sched.WithTimeout(ctx, time.Hour)
		cancelLong()
		w.say("%v", long.Err())
		past, cancelPast := sched.WithDeadlineCause(ctx, epoch, late)
		defer cancelPast()
		w.say("%v", context.Cause(past))
	}, nil)
	same(t, w.run(t), "1s too late, true, true", "1s context canceled", "1s too late")
}

// TestARoleRuns would catch a loop whose alarm, questions or mailbox do not work under an engine.
func TestARoleRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	w.Start("p", func(ctx context.Context) {
		loop := actor.New[event, effect](&counter{w: w}, event{rings: true})
		var group sched.Group
		group.Go(ctx, func() {
			w.say("ends with %v", loop.Run(ctx, func(context.Context) actor.Shell[effect] { return shell{} }))
		})
		for range 3000 { // more than the mailbox holds
			loop.Tell(ctx, event{add: 1})
		}
		sum, err := actor.Ask(ctx, loop, func(q actor.Question[int]) event { return event{question: q} })
		w.say("sum %d, %v", sum, err)
		_ = sched.Sleep(ctx, time.Minute)
		loop.Stop()
		group.Wait(ctx)
		w.say("told: %v", loop.Post(ctx, event{}))
	}, nil)
	same(t, w.run(t), "0s sum 3000, <nil>", "10s rings", "1m0s ends with <nil>", "1m0s told: role has stopped")
}

type event struct {
	add      int
	question actor.Question[int]
	rings    bool
}

type effect struct{ actor.Reply }

type counter struct {
	w     *world
	sum   int
	alarm time.Time
}

func (c *counter) Step(now time.Time, e event) []effect {
	c.sum += e.add
	switch {
	case e.rings:
		c.w.say("rings")
		c.alarm = time.Time{}
	case e.question != 0:
		c.alarm = now.Add(10 * time.Second)
		return []effect{{e.question.Answer(c.sum)}}
	}
	return nil
}

func (c *counter) Alarm() time.Time { return c.alarm }

type shell struct{}

func (shell) Perform(context.Context, effect) {}

// TestASeedRepeatsItsRun would catch an order that depends on anything but the seed, and an engine
// that always takes the same order.
func TestASeedRepeatsItsRun(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) string {
		w := newWorld(seed)
		token := make(chan struct{}, 1)
		for p := range 3 {
			w.Start(fmt.Sprint("p", p), func(ctx context.Context) {
				for f := range 4 {
					sched.Go(ctx, func() {
						for sched.Sleep(ctx, time.Second) == nil && w.Now().Before(epoch.Add(5*time.Second)) {
							w.say("%d %d", p, f)
						}
					})
				}
				sched.First(ctx, token)
			}, nil)
		}
		return strings.Join(w.run(t), "\n")
	}
	orders := make(map[string]bool)
	for seed := range uint64(20) {
		if first, second := run(seed), run(seed); first != second {
			t.Fatalf("seed %d gives\n%s\nand then\n%s", seed, first, second)
		} else {
			orders[first] = true
		}
	}
	if len(orders) < 10 {
		t.Errorf("20 seeds give %d orders", len(orders))
	}
}

// TestMistakesAreFound would catch an engine that hides a panic of the code that it runs, or hangs.
func TestMistakesAreFound(t *testing.T) {
	t.Parallel()
	for want, main := range map[string]func(ctx context.Context){
		"process p panics: oh": func(context.Context) { panic("oh") },
		"fibers of process p run for ever": func(ctx context.Context) {
			sched.Until(ctx, func() bool { return true })
			tokens := make(chan struct{}, 1)
			for {
				sched.Go(ctx, func() { tokens <- struct{}{} })
				sched.First(ctx, tokens)
			}
		},
	} {
		w := newWorld(1)
		w.Start("p", main, nil)
		for w.Step() {
		}
		if err := w.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		w.Close()
	}
}

func BenchmarkSwitch(b *testing.B) {
	w := newWorld(1)
	w.Start("p", func(ctx context.Context) {
		for b.Loop() {
			_ = sched.Sleep(ctx, time.Second)
		}
	}, nil)
	for w.Step() {
	}
	w.Close()
}
