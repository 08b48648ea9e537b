package exchange_test

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/doorstep/doorsteptest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/pki"
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
		"no TLS":                          func(*exchange.Config) {},
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
	for name, sent := range map[string]int{"half a certificate": doorstep.Bytes / 2, "a whole one": 1 << 20, "nothing": 0} {
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
			end := doorsteptest.Besiege(t.Context(), a.Address(), 3*doorstep.Places, doorsteptest.Shake(stranger.ClientTLS, sent))
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
