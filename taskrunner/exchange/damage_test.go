package exchange_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// flippingConn changes one bit of what it reads, at an offset.
type flippingConn struct {
	net.Conn

	left int // bytes before the one that changes; negative: it has come
}

// Read implements net.Conn.
func (c *flippingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.left >= 0 && c.left < n {
		b[c.left] ^= 16
	}
	c.left -= n
	return n, err
}

// damages are places of the damage on a connection.
var damages = map[string]struct {
	secure bool
	at     int
}{
	"the first frame's kind, plain": {false, 8},
	"an early record, plain":        {false, 20_000},
	"a later record, plain":         {false, 1 << 20},
	"the handshake":                 {true, 700},
	"an early record":               {true, 20_000},
	"a later record":                {true, 1 << 20},
}

// flips makes a host whose connections change a bit that they read.
func flips(at int) func(*exchange.Config) {
	return func(c *exchange.Config) {
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return &flippingConn{conn, at}, err
		}
	}
}

// TestADamagedFrameIsALoss would catch a frame that changes on its way and becomes a wrong record.
func TestADamagedFrameIsALoss(t *testing.T) {
	ca := newAuthority(t)
	for name, test := range damages {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			producing, consuming := func(*exchange.Config) {}, func(*exchange.Config) {}
			if test.secure {
				producing, consuming = ca.host("c1", "j"), ca.host("c2", "j")
			}
			a := newExchange(t, "a", producing)
			b := newExchange(t, "b", consuming, flips(test.at))
			p := newPartition(t, a, 0, 1)
			g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
			defer g.Close()
			size := func(int) int { return 1000 }
			var task sync.WaitGroup
			task.Go(func() { _ = emitAll(ctx, p, 0, 0, 10_000, size) }) // fails when the consumer goes, or with the partition
			_, err := readAll(ctx, g, size)
			wantLost(t, err, "a")
			g.Close()
			p.Fail(err) // a consumer that never came asks for nothing
			task.Wait()
		})
	}
}

// TestADamagedFrameOfAServerIsALoss would catch the same with a frame of a finished partition.
func TestADamagedFrameOfAServerIsALoss(t *testing.T) {
	ca := newAuthority(t)
	for name, test := range damages {
		t.Run(name, func(t *testing.T) {
			serving, consuming := func(*exchange.ServerConfig) {}, func(*exchange.Config) {}
			if test.secure {
				serving, consuming = ca.worker("w"), ca.host("w", "j")
			}
			w := newWorker(t, serving)
			size := func(int) int { return 1000 }
			w.write(newExchange(t, "a"), 0, 1, 10_000, size)
			g := newExchange(t, "b", consuming, flips(test.at)).GateOf(t.Context(), exchange.NewSources("b", w.producers(1)), 0)
			defer g.Close()
			_, err := readAll(t.Context(), g, size)
			wantLost(t, err, server)
		})
	}
}
