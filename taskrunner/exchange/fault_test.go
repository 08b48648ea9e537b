package exchange_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// cutter passes connections on to a host, one after the other, and cuts each after a number of
// bytes from the host.
type cutter struct {
	net.Listener
	done sync.WaitGroup
}

func newCutter(t *testing.T, to string, after ...int64) *cutter {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l}
	c.done.Go(func() {
		defer l.Close()
		for _, n := range after {
			consumer, err := l.Accept()
			if err != nil {
				return
			}
			producer, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
			if err != nil {
				t.Error(err)
				consumer.Close()
				return
			}
			c.done.Go(func() {
				io.Copy(producer, consumer)
			})
			end := context.AfterFunc(t.Context(), func() { producer.Close() })
			io.CopyN(consumer, producer, n)
			end()
			consumer.Close()
			producer.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.done.Wait()
	})
	return c
}

// wantLost checks that err is the loss of this host.
func wantLost(t *testing.T, err error, host ids.HostID) {
	t.Helper()
	var lost *exchange.PeerLostError
	if !errors.Is(err, exchange.ErrPeerLost) || !errors.As(err, &lost) || lost.Host != host {
		t.Errorf("error is %v, want the loss of host %s", err, host)
	}
}

// TestCutConnectionFailsBothEnds would catch a task that waits for ever, or ends without an error,
// when the other host is gone.
func TestCutConnectionFailsBothEnds(t *testing.T) {
	for name, after := range map[string]int64{
		"in the greeting":    3,
		"after the greeting": 8,
		"in a header":        8 + 5,
		"in a payload":       8 + 12 + 100,
		"between two frames": 8 + 32<<10,
		"in a later payload": 8 + 2<<20,
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			a, b := newExchange(t, "a"), newExchange(t, "b")
			p := newPartition(t, a, 0, 1)
			producer := from("a", a, 0, 0)
			producer.Address = newCutter(t, a.Address(), after).Addr().String()
			g := b.Gate(ctx, []exchange.Producer{producer})
			defer g.Close()
			var task sync.WaitGroup
			if after > 8 { // otherwise no channel is open yet, and no task gets an error
				task.Go(func() {
					wantLost(t, emitAll(ctx, p, 0, 0, 1<<20, func(int) int { return 1000 }), "b")
				})
			} else {
				defer p.Fail(errors.New("test ends"))
			}
			_, err := readAll(ctx, g, func(int) int { return 1000 })
			wantLost(t, err, "a")
			task.Wait()
		})
	}
}

// TestAHostThatIsNotLetInComesAgain would catch a task that fails because the other host
// disconnected its host's connection to make room for strangers.
func TestAHostThatIsNotLetInComesAgain(t *testing.T) {
	ctx := t.Context()
	a, b := newExchange(t, "a"), newExchange(t, "b")
	p := newPartition(t, a, 0, 1)
	producer := from("a", a, 0, 0)
	producer.Address = newCutter(t, a.Address(), 0, 3, 7, 1<<20).Addr().String()
	g := b.Gate(ctx, []exchange.Producer{producer})
	defer g.Close()
	size := func(int) int { return 10 }
	var task sync.WaitGroup
	task.Go(func() {
		if err := emitAll(ctx, p, 0, 0, 10, size); err != nil {
			t.Error(err)
		}
	})
	if got, err := readAll(ctx, g, size); err != nil || got[0] != 10 {
		t.Errorf("%d records arrive, want 10: %v", got[0], err)
	}
	task.Wait()
}

// TestConnectionIsMadeAnew would catch a host that stays unreachable for the tasks of a restarted
// job after one lost connection.
func TestConnectionIsMadeAnew(t *testing.T) {
	ctx := t.Context()
	a, b := newExchange(t, "a"), newExchange(t, "b")
	first := newPartition(t, a, 0, 1)
	cut := from("a", a, 0, 0)
	cut.Address = newCutter(t, a.Address(), 100).Addr().String()
	g := b.Gate(ctx, []exchange.Producer{cut})
	var task sync.WaitGroup
	task.Go(func() {
		wantLost(t, emitAll(ctx, first, 0, 0, 1<<20, func(int) int { return 1000 }), "b")
	})
	_, err := g.Next(ctx)
	wantLost(t, err, "a")
	g.Close()
	task.Wait()

	size := func(int) int { return 10 }
	again := newPartition(t, a, 1, 1)
	g = b.Gate(ctx, []exchange.Producer{from("a", a, 1, 0)})
	defer g.Close()
	task.Go(func() {
		if err := emitAll(ctx, again, 1, 0, 10, size); err != nil {
			t.Error(err)
		}
	})
	if got, err := readAll(ctx, g, size); err != nil || got[1] != 10 {
		t.Errorf("%d records arrive, want 10: %v", got[1], err)
	}
	task.Wait()
}

// TestConsumerIsToldWhatEndedItsInput would catch an input that ends without all its data, or an
// error that does not name the producer.
func TestConsumerIsToldWhatEndedItsInput(t *testing.T) {
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	brief := func(c *exchange.Config) { c.RequestTimeout, c.BufferTimeout = time.Millisecond, time.Millisecond }
	for name, test := range map[string]struct {
		address string // of host a, if it is not the real one
		host    ids.HostID
		spoil   func(p *exchange.ResultPartition)
		want    string
	}{
		"the host does not listen":       {address: free.Addr().String(), want: "refused"},
		"another host has the port":      {host: "x", want: "this is host a, not x"},
		"the partition is not deployed":  {want: "e1-v0-s7-a0-o0 was not deployed in time"},
		"the channel has a reader":       {spoil: func(*exchange.ResultPartition) {}, want: "has a consumer already"},
		"the partition has fewer inputs": {spoil: func(*exchange.ResultPartition) {}, want: "channel 1 of partition e1-v0-s7-a0-o0, which has 1 channels"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			a, b := newExchange(t, "a", brief), newExchange(t, "b", brief)
			producer := from("a", a, 7, 0)
			if test.address != "" {
				producer.Address = test.address
			}
			if test.host != "" {
				producer.Host = test.host
			}
			producers := []exchange.Producer{producer}
			switch {
			case strings.Contains(name, "has a reader"):
				producers = append(producers, producer)
			case strings.Contains(name, "fewer inputs"):
				producers[0].Channel = 1
			}
			if test.spoil != nil {
				p := newPartition(t, a, 7, 1)
				defer p.Fail(errors.New("test ends"))
				test.spoil(p)
			}
			g := b.Gate(ctx, producers)
			defer g.Close()
			_, err := g.Next(ctx)
			wantLost(t, err, producer.Host)
			for _, part := range []string{test.want, producer.Partition.String(), producer.Address} {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

// TestFailedProducerEndsItsConsumers would catch a consumer that outlives its producer, and a
// producer's own failure that looks like that of another task.
func TestFailedProducerEndsItsConsumers(t *testing.T) {
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
			if err := p.Emit(ctx, 0, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Next(ctx); err != nil { // both ends are connected
				t.Fatal(err)
			}
			p.Fail(errors.New("boom"))
			_, err := g.Next(ctx)
			wantLost(t, err, "a")
			if err != nil && !strings.Contains(err.Error(), "boom") {
				t.Errorf("error %q does not say what happened", err)
			}
			if err := p.Emit(ctx, 0, []byte("x")); err == nil || errors.Is(err, exchange.ErrPeerLost) {
				t.Errorf("emit to a failed partition gives %v, want its own failure", err)
			}
		})
	}
}

// TestCloseEndsTasks would catch a host that cannot end because a task waits for
// another host.
func TestCloseEndsTasks(t *testing.T) {
	ctx := t.Context()
	a, b := newExchange(t, "a"), newExchange(t, "b")
	out, in := newPartition(t, b, 0, 1), newPartition(t, a, 0, 1)
	remote, local := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)}), b.Gate(ctx, []exchange.Producer{from("b", b, 5, 0)})
	var tasks sync.WaitGroup
	for _, g := range []*exchange.InputGate{remote, local} {
		tasks.Go(func() {
			if _, err := g.Next(ctx); !errors.Is(err, exchange.ErrClosed) {
				t.Errorf("next gives %v, want ErrClosed", err)
			}
			g.Close()
		})
	}
	if err := out.Emit(ctx, 0, []byte("x")); err != nil {
		t.Fatal(err)
	}
	tasks.Go(func() {
		if err := out.Finish(ctx); !errors.Is(err, exchange.ErrClosed) {
			t.Errorf("finish gives %v, want ErrClosed", err)
		}
	})
	b.Close()
	b.Close()
	tasks.Wait()
	if _, err := b.Partition(execution(0, 9), 0, 1); !errors.Is(err, exchange.ErrClosed) {
		t.Errorf("partition after close gives %v, want ErrClosed", err)
	}
	late := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
	defer late.Close()
	if _, err := late.Next(ctx); !errors.Is(err, exchange.ErrClosed) {
		t.Errorf("gate after close gives %v, want ErrClosed", err)
	}
	in.Fail(errors.New("test ends"))
}

// TestRecordsHaveABound would catch a producer that sends records that no consumer accepts.
func TestRecordsHaveABound(t *testing.T) {
	a := newExchange(t, "a")
	p := newPartition(t, a, 0, 1)
	defer p.Fail(errors.New("test ends"))
	if err := p.Emit(t.Context(), 0, make([]byte, exchange.MaxRecord+1)); !errors.Is(err, exchange.ErrRecordTooLarge) {
		t.Errorf("emit gives %v, want ErrRecordTooLarge", err)
	}
}
