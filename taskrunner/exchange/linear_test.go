package exchange_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// allToAll runs a job of n producers and n consumers in one host, each connected with each.
// Producer i emits one record to consumer i. They do this one after the other, so that few buffers
// are in use in any schedule.
func allToAll(t *testing.T, n int) {
	t.Helper()
	ctx := t.Context()
	e := newExchange(t, "a")
	producers := make([]exchange.Producer, n)
	for i := range producers {
		producers[i] = from("a", e, i, 0)
	}
	sources := exchange.NewSources("a", producers)
	var tasks sync.WaitGroup
	var turn sync.Mutex
	for i := range n {
		tasks.Go(func() {
			p, err := e.Partition(execution(0, i), 0, n)
			turn.Lock()
			defer turn.Unlock()
			if err == nil {
				err = p.Emit(ctx, i, numbered(i, 0, 20))
			}
			if err == nil {
				err = p.Finish(ctx)
			}
			if err != nil {
				t.Errorf("producer %d: %v", i, err)
			}
		})
		tasks.Go(func() {
			g := e.GateOf(ctx, sources, i)
			defer g.Close()
			if got, err := readAll(ctx, g, func(int) int { return 20 }); err != nil || got[i] != 1 || len(got) != 1 {
				t.Errorf("consumer %d: got %v, %v", i, got, err)
			}
		})
	}
	tasks.Wait()
	e.Close()
}

// TestChannelsThatNobodyUsesCostNothing would catch a worker with thousands of slots that needs
// memory, and so time, for each pair of its tasks: 5,000 tasks have 25 million pairs. Twice as many
// tasks must need only twice as much.
func TestChannelsThatNobodyUsesCostNothing(t *testing.T) {
	made := func(n int) (objects, bytes uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		allToAll(t, n)
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
	}
	made(100) // what is made once
	objects, bytes := made(1000)
	twiceObjects, twiceBytes := made(2000)
	t.Logf("1000 tasks of each kind: %d objects, %d KiB; 2000: %d objects, %d KiB", objects, bytes>>10, twiceObjects, twiceBytes>>10)
	if twiceObjects > objects*5/2 || twiceBytes > bytes*5/2 {
		t.Errorf("twice as many tasks take %.1f times the objects and %.1f times the bytes",
			float64(twiceObjects)/float64(objects), float64(twiceBytes)/float64(bytes))
	}
}

// TestConsumersHearWhatBecomesOfAll would catch a consumer that waits for producers of its host
// that have no data for it. They may have ended or failed, before or after it came, or may never be
// deployed.
func TestConsumersHearWhatBecomesOfAll(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		spoil func(t *testing.T, p *exchange.ResultPartition, read func())
		want  error
	}{
		"all end": {func(t *testing.T, p *exchange.ResultPartition, read func()) {
			read()
			if err := p.Finish(t.Context()); err != nil {
				t.Error(err)
			}
		}, io.EOF},
		"all have ended": {func(t *testing.T, p *exchange.ResultPartition, read func()) {
			if err := p.Finish(t.Context()); err != nil {
				t.Error(err)
			}
			read()
		}, io.EOF},
		"one fails": {func(_ *testing.T, p *exchange.ResultPartition, read func()) {
			read()
			p.Fail(boom)
		}, exchange.ErrPeerLost},
		"one has failed": {func(_ *testing.T, p *exchange.ResultPartition, read func()) {
			p.Fail(boom)
			read()
		}, exchange.ErrPeerLost},
		"one is not deployed": {func(t *testing.T, p *exchange.ResultPartition, read func()) {
			if err := p.Finish(t.Context()); err != nil {
				t.Error(err)
			}
			read()
		}, exchange.ErrPeerLost},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			e := newExchange(t, "a", func(c *exchange.Config) {
				if name == "one is not deployed" {
					c.RequestTimeout = 1
				}
			})
			producers := []exchange.Producer{from("a", e, 0, 0), from("a", e, 1, 0)}
			sources := exchange.NewSources("a", producers)
			first := newPartition(t, e, 0, 3)
			var second *exchange.ResultPartition
			if name != "one is not deployed" {
				second = newPartition(t, e, 1, 3)
				if err := second.Finish(ctx); err != nil {
					t.Fatal(err)
				}
			}
			var tasks sync.WaitGroup
			test.spoil(t, first, func() {
				for c := range 3 {
					g := e.GateOf(ctx, sources, c)
					tasks.Go(func() {
						defer g.Close()
						if _, err := g.Next(ctx); !errors.Is(err, test.want) {
							t.Errorf("consumer %d is told %v, want %v", c, err, test.want)
						}
					})
				}
			})
			tasks.Wait()
		})
	}
}

// TestAttemptsAreToldApart would catch a consumer of a restarted job that reads data of an earlier
// attempt of a producer, or waits for it.
func TestAttemptsAreToldApart(t *testing.T) {
	ctx := t.Context()
	e := newExchange(t, "a")
	attempt := func(n int) ids.ExecutionAttemptID {
		return ids.ExecutionAttemptID{Vertex: 0, Subtask: 0, Attempt: n}
	}
	produce := func(n int) *exchange.ResultPartition {
		p, err := e.Partition(attempt(n), 0, 1)
		if err == nil {
			err = p.Emit(ctx, 0, numbered(0, 0, 20+n))
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	gate := func(n int) *exchange.InputGate {
		producer := exchange.Producer{Partition: exchange.PartitionID{Execution: attempt(n)}, Host: "a", Address: e.Address()}
		return e.GateOf(ctx, exchange.NewSources("a", []exchange.Producer{producer}), 0)
	}
	old := produce(0)
	fresh := produce(1)
	g := gate(1)
	defer g.Close()
	var task sync.WaitGroup
	task.Go(func() {
		if err := fresh.Finish(ctx); err != nil {
			t.Error(err)
		}
	})
	if got, err := readAll(ctx, g, func(int) int { return 21 }); err != nil || got[0] != 1 {
		t.Errorf("%d records arrive, %v", got[0], err)
	}
	task.Wait()
	cancelled, cancel := context.WithCancelCause(ctx)
	cause := errors.New("cancelled by the test")
	cancel(cause)
	if err := old.Finish(cancelled); !errors.Is(err, cause) {
		t.Errorf("what nobody reads is drained: %v", err)
	}
	old.Fail(cause)
	late := gate(0)
	defer late.Close()
	if _, err := late.Next(ctx); !errors.Is(err, exchange.ErrPeerLost) {
		t.Errorf("who comes for a failed attempt is told %v", err)
	}
}
