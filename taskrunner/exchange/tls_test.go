package exchange_test

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

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
