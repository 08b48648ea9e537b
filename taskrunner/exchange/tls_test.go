package exchange_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/testing/doorsteptest"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// authority issues the identities of an application's hosts.
type authority struct {
	testing.TB
	*pki.Authority
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	a, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return authority{t, a}
}

// host has an exchange prove that it is a host of the job, and accept such.
func (a authority) host(container ids.ResourceID, job ids.JobID) func(*exchange.Config) {
	a.Helper()
	te, err := a.IssueTaskExecutor(container, time.Now())
	if err != nil {
		a.Fatal(err)
	}
	host, err := te.IssueTaskHost(job, time.Now())
	if err != nil {
		a.Fatal(err)
	}
	accept := pki.OnlyJob(job)
	return func(c *exchange.Config) {
		c.Job = job
		c.ServerTLS, c.ClientTLS = host.ServerTLS(accept), host.ClientTLS(accept)
	}
}

// TestHostsOfAJobTrustEachOther would catch certificates that don't fit the
// exchange's use of them.
func TestHostsOfAJobTrustEachOther(t *testing.T) {
	ctx := t.Context()
	ca := newAuthority(t)
	a, b := newExchange(t, "a", ca.host("c1", "j")), newExchange(t, "b", ca.host("c2", "j"))
	p := newPartition(t, a, 0, 1)
	g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
	defer g.Close()
	size := func(n int) int { return 8 + n }
	var task sync.WaitGroup
	task.Go(func() {
		if err := emitAll(ctx, p, 0, 0, 2000, size); err != nil {
			t.Error(err)
		}
	})
	if got, err := readAll(ctx, g, size); err != nil || got[0] != 2000 {
		t.Errorf("%d records arrive, want 2000: %v", got[0], err)
	}
	task.Wait()
}

// TestStrangersGetNoData would catch a data plane that anyone on the network can
// read, or a consumer that reads from anyone.
func TestStrangersGetNoData(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	for name, consumer := range map[string]func(*exchange.Config){
		"no TLS":                          func(c *exchange.Config) { c.RequestTimeout = time.Millisecond },
		"an identity of another job":      ca.host("c2", "k"),
		"an identity of another cluster":  other.host("c2", "j"),
		"another job's under a false id":  func(c *exchange.Config) { ca.host("c2", "k")(c); c.Job = "j" },
		"a right identity for a wrong id": func(c *exchange.Config) { ca.host("c2", "j")(c); c.Job = "k" },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			a, b := newExchange(t, "a", ca.host("c1", "j")), newExchange(t, "b", consumer)
			p := newPartition(t, a, 0, 1)
			defer p.Fail(errors.New("test ends"))
			if err := p.Emit(ctx, 0, []byte("secret")); err != nil {
				t.Fatal(err)
			}
			g := b.Gate(ctx, []exchange.Producer{from("a", a, 0, 0)})
			defer g.Close()
			record, err := g.Next(ctx)
			if !errors.Is(err, exchange.ErrPeerLost) {
				t.Errorf("next gives %q, %v, want ErrPeerLost", record, err)
			}
		})
	}
}

// TestAHostMayEndWhileItConnects would catch a connection that is read by whoever closes it while TLS is put over it. The
// producer's host takes connections and says nothing, so that most attempts end on their way.
func TestAHostMayEndWhileItConnects(t *testing.T) {
	ctx := t.Context()
	ca := newAuthority(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	producer := exchange.Producer{Host: "a", Address: silent.Addr().String()}
	for range 200 {
		e := newExchange(t, "b", ca.host("c2", "j"))
		g := e.Gate(ctx, []exchange.Producer{producer})
		e.Close()
		g.Close()
	}
}

// tellTen has host a tell ten records to host b, which reaches a at this address, and
// gives how many arrive.
func tellTen(t *testing.T, a, b *exchange.Exchange, address string) (int, error) {
	t.Helper()
	ctx := t.Context()
	p := newPartition(t, a, 0, 1)
	producer := from("a", a, 0, 0)
	producer.Address = address
	g := b.Gate(ctx, []exchange.Producer{producer})
	defer g.Close()
	size := func(int) int { return 10 }
	var task sync.WaitGroup
	task.Go(func() { _ = emitAll(ctx, p, 0, 0, 10, size) })
	got, err := readAll(ctx, g, size)
	if err != nil {
		p.Fail(err)
	}
	task.Wait()
	return got[0], err
}

// TestStrangersKeepNobodyOut would catch a job that anybody slows down, or fails, who
// reaches the port of one of its hosts, and a host whose memory he fills: by connections,
// three times as many as there are places for, each opened again when it ends, with
// certificates of 200 KiB, whole or in part, or without a word.
func TestStrangersKeepNobodyOut(t *testing.T) {
	for name, sent := range map[string]int{"a whole certificate": 3 * doorstep.Bytes, "nothing": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca := newAuthority(t)
			door := new(doorsteptest.Door)
			a := newExchange(t, "a", ca.host("c1", "j"), exchange.Behind(func(l net.Listener) net.Listener {
				door.Listener = l
				return door
			}))
			b := newExchange(t, "b", ca.host("c2", "j"), func(c *exchange.Config) { c.RequestTimeout = time.Hour }) // the machine may be slow
			var stranger exchange.Config
			newAuthority(t).host("c3", "j")(&stranger)
			end := doorsteptest.Besiege(t.Context(), a.Address(), doorstep.Places+16, doorsteptest.Shake(stranger.ClientTLS, sent))
			defer end()
			if got, err := tellTen(t, a, b, a.Address()); err != nil || got != 10 {
				t.Errorf("%d records arrive, want 10: %v", got, err)
			}
			if most := doorstep.Places + 1; door.Most() > most { // with the other host
				t.Errorf("%d connections were open at a time, %d at most should be", door.Most(), most)
			}
			if door.Longest() > doorstep.Bytes {
				t.Errorf("%d bytes were read of one, %d at most should be", door.Longest(), doorstep.Bytes)
			}
		})
	}
}

// ending is a port that ends so many connections as soon as it has shown its certificate, or
// at once where it has none. It passes the others on.
func ending(t *testing.T, certificate *tls.Config, to string, first int) (address string, ended func() int) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	n := 0
	done.Go(func() {
		for ; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if n == first {
				pass(t.Context(), &done, conn, to)
				return
			}
			if certificate != nil {
				_ = tls.Server(conn, certificate).HandshakeContext(t.Context())
			}
			conn.Close()
		}
	})
	ended = func() int {
		l.Close()
		done.Wait()
		return n
	}
	t.Cleanup(func() { ended() })
	return l.Addr().String(), ended
}

// pass passes a connection on until ctx ends, or the connection.
func pass(ctx context.Context, done *sync.WaitGroup, conn net.Conn, to string) {
	other, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		conn.Close()
		return
	}
	for _, c := range [][2]net.Conn{{conn, other}, {other, conn}} {
		done.Go(func() {
			defer context.AfterFunc(ctx, func() { c[0].Close() })()
			_, _ = io.Copy(c[1], c[0])
			c[1].Close()
		})
	}
}

// TestAHostIsTriedOn would catch a task that fails because its connection was one too many
// for the other host several times over, whether that had said who it is by then or not, and
// one that tries a port for longer than a host may take to answer that is no host's.
func TestAHostIsTriedOn(t *testing.T) {
	ca := newAuthority(t)
	var host exchange.Config
	ca.host("c1", "j")(&host)
	const brief = 500 * time.Millisecond
	for name, test := range map[string]struct {
		certificate *tls.Config
		timeout     time.Duration
		lets        int // go
		arrive      int
	}{
		"that proves to be one":       {host.ServerTLS, brief, 9, 10},
		"that has not said a word":    {nil, time.Hour, 9, 10},
		"unless it is none, it seems": {nil, brief, 1000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := newExchange(t, "a", ca.host("c1", "j")), newExchange(t, "b", ca.host("c2", "j"), func(c *exchange.Config) { c.RequestTimeout = test.timeout })
			address, ended := ending(t, test.certificate, a.Address(), test.lets)
			got, err := tellTen(t, a, b, address)
			if got != test.arrive {
				t.Errorf("%d records arrive, want %d: %v", got, test.arrive, err)
			}
			if test.arrive > 0 {
				return
			}
			wantLost(t, err, "a")
			// After 20, 40, 80 and 160 ms, and a machine may be slow.
			if n := ended(); n < 1 || n > 5 {
				t.Errorf("%d connections were opened, want up to 5", n)
			}
		})
	}
}
