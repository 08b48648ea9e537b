package failover

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// small is the size of everything here.
var small = records.Resource{MemoryMB: 128, VCores: 1}

// master is an ApplicationMaster that lives through the loss.
type master struct {
	t        *testing.T
	app      records.ApplicationID
	rm       *amrm.Client
	nm       *nmclient.Client
	running  map[records.ContainerID]bool
	surplus  int
	resynced int
	answered time.Time     // the last heartbeat
	longest  time.Duration // between two that were answered
}

// mastersQueue is a queue of its own: of the many applications of the other only the
// first few get containers.
const mastersQueue = "small"

// key is what all its containers are asked for with.
var key = amrm.AskKey{Priority: 1}

// newMaster registers one, of an application whose master is this process.
func newMaster(ctx context.Context, t *testing.T, c *cluster.Cluster, l *load) *master {
	t.Helper()
	created, err := l.client.NewApplication(ctx)
	if err != nil {
		t.Fatal(err)
	}
	app := created.ID
	if err := l.submitAs(ctx, app, "with a master", mastersQueue); err != nil {
		t.Fatal(err)
	}
	var report records.ApplicationReport
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for report.AMRMToken == nil {
		if report, err = l.client.ApplicationReport(ctx, app); err != nil {
			t.Fatal(err)
		}
		<-ticker.C
	}
	rm, err := amrm.FromConf(confOf(t, c))
	if err != nil {
		t.Fatal(err)
	}
	rm.Attempt, rm.Token, rm.RPC.RPCTimeout = report.Attempt, report.AMRMToken, patience
	m := &master{t: t, app: app, rm: amrm.New(rm), nm: nmclient.New(nmclient.Options{}), running: make(map[records.ContainerID]bool)}
	t.Cleanup(func() {
		if err := errors.Join(m.rm.Close(), m.nm.Close()); err != nil {
			t.Error(err)
		}
	})
	if _, err := m.rm.Register(ctx, amrm.RegisterRequest{Host: "localhost", RPCPort: -1}); err != nil {
		t.Fatal(err)
	}
	m.answered = time.Now()
	return m
}

func (m *master) ask(n int) { m.rm.SetAsk(amrm.Ask{Key: key, Capability: small, Count: n}) }

// until heartbeats, and starts what comes, until done.
func (m *master) until(ctx context.Context, what string, done func() bool) {
	m.t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		r, err := m.rm.Allocate(ctx, 0.5)
		if err != nil {
			m.t.Fatalf("waiting until %s, with %d running: %v", what, len(m.running), err)
		}
		m.longest, m.answered = max(m.longest, time.Since(m.answered)), time.Now()
		m.nm.SetTokens(r.NMTokens)
		if r.Resynced {
			m.resynced++
		}
		m.surplus += len(r.Surplus)
		for _, container := range r.Allocated {
			if err := m.nm.Start(ctx, container, records.ContainerLaunchContext{Commands: []string{"sleep 1000"}}); err != nil {
				m.t.Fatal(err)
			}
			m.running[container.ID] = true
		}
		for _, status := range r.Completed {
			m.t.Errorf("%s ended as %s: %s", status.ID, status.ExitStatus, status.Diagnostics)
			delete(m.running, status.ID)
		}
		<-ticker.C
	}
}

func (m *master) has(n int) func() bool { return func() bool { return len(m.running) == n } }

// check compares its books with those of the ResourceManager that is active now, and
// ends the application.
func (m *master) check(ctx context.Context, c *cluster.Cluster, want int) {
	m.t.Helper()
	if m.resynced != 1 || m.surplus != 0 || m.rm.Outstanding(key) != 0 {
		m.t.Errorf("it resynced %d times; %d containers came that nobody wanted, and %d are outstanding", m.resynced, m.surplus, m.rm.Outstanding(key))
	}
	if app, err := c.RM().App(ctx, m.app.String()); err != nil || app.RunningContainers != want {
		m.t.Errorf("YARN counts %d containers, %v, want %d", app.RunningContainers, err, want)
	}
	if err := m.rm.Finish(ctx, records.FinalSucceeded, "", ""); err != nil {
		m.t.Error(err)
	}
}
