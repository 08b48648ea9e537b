package yarnfake_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var unit = records.Resource{MemoryMB: 256, VCores: 1}

func start(t *testing.T, c yarnfake.Config) *yarnfake.Fake {
	t.Helper()
	if c.Heartbeat == 0 {
		c.Heartbeat = 10 * time.Millisecond
	}
	fake, err := yarnfake.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fake.Stop(); err != nil {
			t.Error(err)
		}
	})
	return fake
}

func newClient(t *testing.T, fake *yarnfake.Fake) *yarnclient.Client {
	t.Helper()
	o, err := yarnclient.FromConf(fake.Conf(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	o.RPC.Dial, o.PollInterval = dialOf(fake), 5*time.Millisecond
	c := yarnclient.New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// dialOf returns nil, for TCP, if the cluster has sockets.
func dialOf(fake *yarnfake.Fake) func(context.Context, string, string) (net.Conn, error) {
	if strings.HasPrefix(fake.Conf().Get("yarn.resourcemanager.address"), "127.") {
		return nil
	}
	return fake.Dial
}

// submit submits an application and returns its id.
func submit(t *testing.T, c *yarnclient.Client, s records.SubmissionContext) records.ApplicationReport {
	t.Helper()
	app, err := c.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.ID, s.Resource = app.ID, unit
	report, err := c.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func await(t *testing.T, c *yarnclient.Client, id records.ApplicationID, done func(records.ApplicationReport) bool) records.ApplicationReport {
	t.Helper()
	for {
		report, err := c.ApplicationReport(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if done(report) {
			return report
		}
		pause()
	}
}

func ended(r records.ApplicationReport) bool { return r.State.Terminal() }

// pause is the wait between two checks of a condition.
func pause() {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	<-ticker.C
}

// master is a minimal ApplicationMaster.
type master struct {
	rm        *amrm.Client
	nm        *nmclient.Client
	running   []records.Container
	completed map[records.ContainerID]records.ContainerStatus
	resynced  int
	unusable  []records.NodeID
}

func newMaster(fake *yarnfake.Fake, attempt records.ApplicationAttemptID, token *creds.Token) (*master, error) {
	ro, err := amrm.FromConf(fake.Conf())
	if err != nil {
		return nil, err
	}
	ro.Attempt, ro.Token, ro.RPC.Dial = attempt, token, dialOf(fake)
	ro.Policy = yarnrpc.Policy{} // tests look at the errors of single beats
	no, err := nmclient.FromConf(fake.Conf())
	if err != nil {
		return nil, err
	}
	no.RPC.Dial = dialOf(fake)
	return &master{rm: amrm.New(ro), nm: nmclient.New(no), completed: map[records.ContainerID]records.ContainerStatus{}}, nil
}

func (m *master) close() {
	m.rm.Close()
	m.nm.Close()
}

// until sends heartbeats, and starts command in every new container, until done. After an
// error, the next beat tries again, as amrm says.
func (m *master) until(ctx context.Context, command string, done func() bool) error {
	for !done() {
		r, err := m.rm.Allocate(ctx, 0.5)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !yarnrpc.MaybeSent(err) && yarnrpc.Classify(err) == yarnrpc.Permanent {
			return err
		}
		m.nm.SetTokens(r.NMTokens)
		if r.Resynced {
			m.resynced++
		}
		for _, n := range r.UpdatedNodes {
			if n.Change == records.NodeBecameUnusable {
				m.unusable = append(m.unusable, n.ID)
			}
		}
		for _, c := range r.Allocated {
			if command != "" {
				if err := m.nm.Start(ctx, c, records.ContainerLaunchContext{Commands: []string{command}}); err != nil {
					return err
				}
			}
			m.running = append(m.running, c)
		}
		for _, s := range r.Completed {
			m.completed[s.ID] = s
			m.running = slices.DeleteFunc(m.running, func(c records.Container) bool { return c.ID == s.ID })
		}
		pause()
	}
	return nil
}

func (m *master) ask(n int) {
	m.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: unit, Count: n})
}

// unmanaged submits an application whose master is the test, and registers it.
func unmanaged(t *testing.T, fake *yarnfake.Fake) (*yarnclient.Client, records.ApplicationReport, *master) {
	t.Helper()
	client := newClient(t, fake)
	report := submit(t, client, records.SubmissionContext{Name: "unmanaged", Unmanaged: true})
	m, err := newMaster(fake, report.Attempt, report.AMRMToken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	if _, err := m.rm.Register(t.Context(), amrm.RegisterRequest{Host: "here", RPCPort: -1}); err != nil {
		t.Fatal(err)
	}
	return client, report, m
}

func (m *master) run(t *testing.T, command string, done func() bool) {
	t.Helper()
	if err := m.until(t.Context(), command, done); err != nil {
		t.Fatal(err)
	}
}
