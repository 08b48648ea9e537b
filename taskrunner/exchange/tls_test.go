package exchange_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
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

// host makes an exchange prove that it is a host of the job, and accept only such hosts.
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
	return func(c *exchange.Config) {
		c.Job = job
		c.ServerTLS, c.ClientTLS = host.ServerTLS(pki.OnlyJob(job)), host.ClientTLS(pki.OnlyServersOf(job))
	}
}

// worker makes a server prove that it is this container's, and serve the hosts of the application.
func (a authority) worker(container ids.ResourceID) func(*exchange.ServerConfig) {
	a.Helper()
	te, err := a.IssueTaskExecutor(container, time.Now())
	if err != nil {
		a.Fatal(err)
	}
	return func(c *exchange.ServerConfig) {
		c.TLS, c.JobOf = te.ServerTLS(pki.OnlyRole(pki.RoleTaskHost)), pki.JobOf
	}
}

// TestHostsOfAJobTrustEachOther would catch certificates that the exchange cannot use.
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

// TestStrangersGetNoData would catch a data plane that anyone on the network can read, or a
// consumer that reads from any host.
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

// TestAHostMayEndWhileItConnects would catch a data race between the goroutine that closes a
// connection and the one that starts TLS on it. The producer's host accepts connections and sends
// nothing, so that most attempts are closed on their way.
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

// tellTen makes host a send ten records to host b, which reaches a at this address, and gives the
// number that arrive.
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

// TestStrangersKeepNobodyOut would catch a job that a stranger can slow down or fail through the
// port of a host, and a host whose memory the stranger can fill. The stranger opens three times as
// many connections as there are places, and opens each one again when it ends. They send
// certificates of 200 KiB, whole or in part, or nothing.
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
			if most := doorstep.Places + 1; door.Most() > most { // one more for the other host
				t.Errorf("%d connections were open at a time, %d at most should be", door.Most(), most)
			}
			if door.Longest() > doorstep.Bytes {
				t.Errorf("%d bytes were read of one, %d at most should be", door.Longest(), doorstep.Bytes)
			}
		})
	}
}

// late is a listener whose first connection has no time left when it answers the greeting, so that nothing of the answer is sent.
type late struct {
	net.Listener
	conns atomic.Int64
}

func (l *late) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil && l.conns.Add(1) == 1 {
		conn = &lateConn{Conn: conn}
	}
	return conn, err
}

type lateConn struct {
	net.Conn
	writes int // the host's part of TLS, and its answer
}

func (c *lateConn) NetConn() net.Conn { return c.Conn }

func (c *lateConn) Write(p []byte) (int, error) {
	if c.writes++; c.writes == 2 {
		return 0, os.ErrDeadlineExceeded
	}
	return c.Conn.Write(p)
}

// TestAHostThatAnswersLateIsTriedOn would catch a job that fails on a busy machine: the time of a handshake is over when the host
// answers, and TLS ends the connection with a record that counts the answer, which was not sent. The other end finds a wrong MAC,
// and takes the host for lost.
func TestAHostThatAnswersLateIsTriedOn(t *testing.T) {
	t.Parallel()
	ca, l := newAuthority(t), &late{}
	a := newExchange(t, "a", ca.host("c1", "j"), exchange.Behind(func(under net.Listener) net.Listener {
		l.Listener = under
		return l
	}))
	b := newExchange(t, "b", ca.host("c2", "j"), func(c *exchange.Config) { c.RequestTimeout = time.Hour }) // the machine may be slow
	if got, err := tellTen(t, a, b, a.Address()); err != nil || got != 10 {
		t.Errorf("%d records arrive, want 10: %v", got, err)
	}
	if n := l.conns.Load(); n < 2 {
		t.Errorf("%d connections were opened, want another one after the first", n)
	}
}

// ending is a port that closes this number of connections, as soon as it has shown its certificate,
// or at once if it has none. It passes the other connections on.
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

// pass copies a connection until ctx or the connection ends.
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

// TestAHostIsTriedOn would catch a task that fails because the other host closed several of its
// connections for lack of places, before or after it had proved its identity. It would also catch a
// host that tries a port that belongs to no host for longer than a host may take to answer.
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
			// After 20, 40, 80 and 160 ms, or later on a slow machine.
			if n := ended(); n < 1 || n > 5 {
				t.Errorf("%d connections were opened, want up to 5", n)
			}
		})
	}
}
