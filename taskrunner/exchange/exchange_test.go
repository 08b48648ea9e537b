package exchange_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// newExchange makes the exchange of a host of job j and closes it with the test.
func newExchange(t testing.TB, host ids.HostID, change ...func(*exchange.Config)) *exchange.Exchange {
	t.Helper()
	config := exchange.Config{Job: "j", Host: host, ListenHost: "127.0.0.1", Logger: quiet()}
	for _, c := range change {
		c(&config)
	}
	e, err := exchange.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func execution(vertex, subtask int) ids.ExecutionAttemptID {
	return ids.ExecutionAttemptID{Epoch: 1, Vertex: vertex, Subtask: subtask}
}

func newPartition(t testing.TB, e *exchange.Exchange, subtask, channels int) *exchange.ResultPartition {
	t.Helper()
	p, err := e.Partition(execution(0, subtask), 0, channels)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// from is the Producer of this channel of a partition that newPartition made at host.
func from(host ids.HostID, at *exchange.Exchange, subtask, channel int) exchange.Producer {
	return exchange.Producer{
		Partition: exchange.PartitionID{Execution: execution(0, subtask)},
		Channel:   channel, Host: host, Address: at.Address(),
	}
}

// noise has no period, so a wrong buffer offset cannot go unnoticed.
var noise = func() []byte {
	b := make([]byte, 1<<19)
	for i := range b {
		b[i] = byte(i * i / 257)
	}
	return b
}()

// numbered makes a record with its producer and number, padded to size.
func numbered(subtask, n, size int) []byte {
	record := make([]byte, 0, size)
	record = binary.BigEndian.AppendUint32(record, uint32(subtask))
	record = binary.BigEndian.AppendUint32(record, uint32(n))
	return append(record, noise[n%1000:][:size-len(record)]...)
}

// emitAll writes records 0 to n-1 of the given sizes to one channel and finishes the partition.
func emitAll(ctx context.Context, p *exchange.ResultPartition, subtask, channel, n int, size func(int) int) error {
	for i := range n {
		if err := p.Emit(ctx, channel, numbered(subtask, i, size(i))); err != nil {
			return fmt.Errorf("emit: %w", err)
		}
	}
	return p.Finish(ctx)
}

// readAll reads a gate to its end, checks that each producer's records are complete and in order,
// and gives the number of records of each producer.
func readAll(ctx context.Context, g *exchange.InputGate, size func(int) int) (map[int]int, error) {
	next := make(map[int]int)
	for {
		record, err := g.Next(ctx)
		if errors.Is(err, io.EOF) {
			return next, nil
		}
		if err != nil {
			return next, err
		}
		subtask := int(binary.BigEndian.Uint32(record))
		n := next[subtask]
		if want := numbered(subtask, n, size(n)); string(want) != string(record) {
			return next, fmt.Errorf("record %d of producer %d has %d bytes, or others than were emitted", n, subtask, len(record))
		}
		next[subtask] = n + 1
	}
}

// TestRecordsArriveInOrder would catch records that are lost, repeated, mixed up, or cut where they
// span buffers, over a connection and within a host.
func TestRecordsArriveInOrder(t *testing.T) {
	for name, records := range map[string]struct {
		each int
		size func(int) int
	}{
		"small records":               {5000, func(int) int { return 8 }},
		"records about a buffer long": {200, func(n int) int { return 32<<10 - 20 + n%40 }},
		"records of many buffers":     {20, func(n int) int { return 300_000 + n }},
		"records of every size":       {400, func(n int) int { return 8 + n*n%70_000 }},
	} {
		for where, consumerHost := range map[string]ids.HostID{"within a host": "a", "between hosts": "b"} {
			t.Run(name+" "+where, func(t *testing.T) {
				ctx := t.Context()
				a := newExchange(t, "a")
				b := a
				if consumerHost == "b" {
					b = newExchange(t, "b")
				}
				const producers = 3
				var tasks sync.WaitGroup
				for s := range producers {
					p := newPartition(t, a, s, 1)
					tasks.Go(func() {
						if err := emitAll(ctx, p, s, 0, records.each, records.size); err != nil {
							t.Error(err)
						}
					})
				}
				g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0), from("a", a, 1, 0), from("a", a, 2, 0)})
				got, err := readAll(ctx, g, records.size)
				g.Close()
				if err != nil {
					t.Error(err)
				}
				tasks.Wait()
				for s := range producers {
					if got[s] != records.each {
						t.Errorf("%d records of producer %d arrive, want %d", got[s], s, records.each)
					}
				}
			})
		}
	}
}

// TestTrafficCountsBothEnds would catch numbers in REST that do not add up.
func TestTrafficCountsBothEnds(t *testing.T) {
	ctx := t.Context()
	a, b := newExchange(t, "a"), newExchange(t, "b")
	p := newPartition(t, a, 0, 1)
	g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
	defer g.Close()
	size := func(int) int { return 100 }
	var task sync.WaitGroup
	task.Go(func() {
		if err := emitAll(ctx, p, 0, 0, 1000, size); err != nil {
			t.Error(err)
		}
	})
	if _, err := readAll(ctx, g, size); err != nil {
		t.Error(err)
	}
	task.Wait()
	want := exchange.Traffic{Records: 1000, Bytes: 1000 * 101, Buffers: 4} // a byte of length each
	if got := p.Traffic(); got != want {
		t.Errorf("written: %+v, want %+v", got, want)
	}
	if got := g.Traffic(); got != want {
		t.Errorf("read: %+v, want %+v", got, want)
	}
}

// TestSlowConsumerStallsItsProducersOnly would catch a buffer that is sent without credit and
// blocks the connection for all channels, and an unbounded queue.
func TestSlowConsumerStallsItsProducersOnly(t *testing.T) {
	ctx := t.Context()
	a, b := newExchange(t, "a"), newExchange(t, "b")
	size := func(int) int { return 1000 }

	stalled := newPartition(t, a, 0, 1)
	sleeping := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
	defer sleeping.Close()
	full, stop := context.WithCancelCause(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			if err := stalled.Emit(full, 0, numbered(0, 0, 1000)); err != nil {
				return // stopped below
			}
		}
	})

	const each = 20_000 // 20 MB
	p := newPartition(t, a, 1, 1)
	tasks.Go(func() {
		if err := emitAll(ctx, p, 1, 0, each, size); err != nil {
			t.Error(err)
		}
	})
	g := b.Gate(ctx, []exchange.Producer{from("a", a, 1, 0)})
	defer g.Close()
	if got, err := readAll(ctx, g, size); err != nil || got[1] != each {
		t.Errorf("%d records pass the stalled channel, want %d: %v", got[1], each, err)
	}
	// No more buffers wait at each end than it may have, and two in the connection.
	most := exchange.MaxPerChannel
	if passed := stalled.Traffic(); passed.Bytes > int64(2*most+2)*32<<10 {
		t.Errorf("%d bytes were taken from the producer of a consumer that reads nothing", passed.Bytes)
	}
	out, in := stalled.Usage(), sleeping.Usage()
	if out.Queued < most/2 || out.Queued > most || in.Queued < most/2 || in.Queued > most {
		t.Errorf("%d buffers wait for a consumer that reads nothing, and %d at its end", out.Queued, in.Queued)
	}
	if out.Held < out.Queued || out.Most != most || in.Held != in.Queued || in.Most != most {
		t.Errorf("the stalled channel uses %+v and %+v, and may have %d buffers at each end", out, in, most)
	}
	if idle := g.Usage(); idle.Held != 0 || idle.Most == 0 {
		t.Errorf("a channel that was read to its end uses %+v", idle)
	}
	stop(errors.New("enough"))
	tasks.Wait()
	stalled.Fail(errors.New("enough"))
}

// TestPartlyFilledBuffersAreFlushed would catch a slow stream whose records wait until a buffer is
// full.
func TestPartlyFilledBuffersAreFlushed(t *testing.T) {
	for where, consumerHost := range map[string]ids.HostID{"within a host": "a", "between hosts": "b"} {
		t.Run(where, func(t *testing.T) {
			ctx := t.Context()
			a := newExchange(t, "a")
			b := a
			if consumerHost == "b" {
				b = newExchange(t, "b")
			}
			p := newPartition(t, a, 0, 1)
			g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
			defer g.Close()
			for n := range 3 { // emit the next record after the last one has arrived
				if err := p.Emit(ctx, 0, numbered(0, n, 10)); err != nil {
					t.Fatal(err)
				}
				record, err := g.Next(ctx)
				if err != nil || string(record) != string(numbered(0, n, 10)) {
					t.Fatalf("record %d arrives as %x: %v", n, record, err)
				}
			}
		})
	}
}

// TestPoolSmallerThanItsChannels would catch a deadlock if there are fewer buffers than channels:
// each channel must have its guaranteed buffer.
func TestPoolSmallerThanItsChannels(t *testing.T) {
	ctx := t.Context()
	tiny := func(c *exchange.Config) { c.Memory = 1 }
	hosts := map[ids.HostID]*exchange.Exchange{"a": newExchange(t, "a", tiny), "b": newExchange(t, "b", tiny)}
	const producers, consumers, each = 4, 40, 60
	size := func(n int) int { return 8 + n*997%5000 }
	hostOf := func(subtask int) ids.HostID { return []ids.HostID{"a", "b"}[subtask%2] }
	var tasks sync.WaitGroup
	for s := range producers {
		p := newPartition(t, hosts[hostOf(s)], s, consumers)
		tasks.Go(func() {
			for n := range each {
				for c := range consumers {
					if err := p.Emit(ctx, c, numbered(s, n, size(n))); err != nil {
						t.Error(err)
						return
					}
				}
			}
			if err := p.Finish(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for c := range consumers {
		var sources []exchange.Producer
		for s := range producers {
			sources = append(sources, from(hostOf(s), hosts[hostOf(s)], s, c))
		}
		g := hosts[hostOf(c)].Gate(ctx, sources)
		tasks.Go(func() {
			defer g.Close()
			got, err := readAll(ctx, g, size)
			if err != nil {
				t.Error(err)
			}
			for s := range producers {
				if got[s] != each {
					t.Errorf("consumer %d reads %d records of producer %d, want %d", c, got[s], s, each)
				}
			}
		})
	}
	tasks.Wait()
}

// TestConsumerThatEndsEarly would catch a producer that hangs or fails because a consumer needs
// only the first records.
func TestConsumerThatEndsEarly(t *testing.T) {
	for where, consumerHost := range map[string]ids.HostID{"within a host": "a", "between hosts": "b"} {
		t.Run(where, func(t *testing.T) {
			ctx := t.Context()
			a := newExchange(t, "a")
			b := a
			if consumerHost == "b" {
				b = newExchange(t, "b")
			}
			p := newPartition(t, a, 0, 1)
			g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
			var task sync.WaitGroup
			task.Go(func() {
				if err := emitAll(ctx, p, 0, 0, 10_000, func(int) int { return 1000 }); err != nil {
					t.Error(err)
				}
			})
			if _, err := g.Next(ctx); err != nil {
				t.Error(err)
			}
			g.Close()
			task.Wait()
		})
	}
}

// TestConsumerMayComeFirst would catch a request that is refused or lost because tasks are deployed
// in any order.
func TestConsumerMayComeFirst(t *testing.T) {
	for where, consumerHost := range map[string]ids.HostID{"within a host": "a", "between hosts": "b"} {
		t.Run(where, func(t *testing.T) {
			ctx := t.Context()
			a := newExchange(t, "a")
			b := a
			if consumerHost == "b" {
				b = newExchange(t, "b")
			}
			size := func(int) int { return 50 }
			g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
			defer g.Close()
			var task sync.WaitGroup
			task.Go(func() {
				if got, err := readAll(ctx, g, size); err != nil || got[0] != 10 {
					t.Errorf("%d records arrive, want 10: %v", got[0], err)
				}
			})
			if err := emitAll(ctx, newPartition(t, a, 0, 1), 0, 0, 10, size); err != nil {
				t.Error(err)
			}
			task.Wait()
		})
	}
}

// TestCancelledTasksReturn would catch a task that cannot be cancelled while it
// waits for data or for room.
func TestCancelledTasksReturn(t *testing.T) {
	a, b := newExchange(t, "a"), newExchange(t, "b")
	cause := errors.New("cancelled by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	silent := newPartition(t, a, 0, 1)
	blocked, unread := newPartition(t, a, 1, 1), newPartition(t, a, 2, 1) // they have no consumers
	g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
	var tasks sync.WaitGroup
	tasks.Go(func() {
		if _, err := g.Next(ctx); !errors.Is(err, cause) {
			t.Errorf("next gives %v, want the cause", err)
		}
		g.Close()
	})
	tasks.Go(func() {
		var err error
		for err == nil {
			err = blocked.Emit(ctx, 0, make([]byte, 1000))
		}
		if !errors.Is(err, cause) {
			t.Errorf("emit gives %v, want the cause", err)
		}
		blocked.Fail(cause)
	})
	if err := unread.Emit(ctx, 0, []byte("x")); err != nil {
		t.Fatal(err)
	}
	tasks.Go(func() {
		if err := unread.Finish(ctx); !errors.Is(err, cause) {
			t.Errorf("finish gives %v, want the cause", err)
		}
		unread.Fail(cause)
	})
	cancel(cause)
	tasks.Wait()
	silent.Fail(cause)
}

// watched tells of the waits of one goroutine.
type watched struct {
	waits  chan struct{}
	resume atomic.Int32
}

func (w *watched) Wait()   { w.waits <- struct{}{} }
func (w *watched) Resume() { w.resume.Add(1) }

// TestWaitsAreTold would catch a task that seems busy while it waits for its consumer.
func TestWaitsAreTold(t *testing.T) {
	ctx := t.Context()
	a, b := newExchange(t, "a"), newExchange(t, "b")
	p := newPartition(t, a, 0, 1)
	g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
	defer g.Close()
	writes := &watched{waits: make(chan struct{})}
	p.Watch(writes)
	size := func(int) int { return 1000 }
	var tasks sync.WaitGroup
	tasks.Go(func() {
		<-writes.waits // nobody reads
		tasks.Go(func() {
			for range writes.waits {
			}
		})
		if _, err := readAll(ctx, g, size); err != nil {
			t.Error(err)
		}
	})
	if err := emitAll(ctx, p, 0, 0, 20_000, size); err != nil {
		t.Error(err)
	}
	close(writes.waits)
	tasks.Wait()
	if writes.resume.Load() == 0 {
		t.Error("the writer has waited, and never gone on")
	}
}
