package yarn

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestAnApplicationMastersWholeLife would catch a container that is started twice, lost or not reported, an ask that
// YARN remembers after its withdrawal, and a wrong report of the end.
func TestAnApplicationMastersWholeLife(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	m, report := rpctest.Unmanaged(t, c, client)
	ctx := t.Context()

	// One container that ends by itself, with an exit code of its own.
	m.Ask(1)
	m.Await(t, "it has ended", "exit 3", func() bool { return len(m.Completed) == 1 })
	for id, s := range m.Completed {
		if s.ExitStatus != 3 || s.State != records.ContainerComplete {
			t.Errorf("%s ended as %+v", id, s)
		}
	}
	clear(m.Completed)

	// Six that run, on both hosts.
	unusual := rpctest.Sleep()
	unit := rpctest.Unit()
	m.RM.SetAsk(amrm.Ask{Key: rpctest.Key(), Capability: unit, Count: 6, Hosts: amrm.Spread(m.Nodes, 6, unit), Strict: true})
	m.Await(t, "six run", unusual, func() bool { return len(m.Running) == 6 && len(rpctest.Processes(t, unusual)) == 6 })
	if n := m.RM.Outstanding(rpctest.Key()); n != 0 {
		t.Errorf("%d containers are outstanding", n)
	}
	for id, container := range m.Running {
		if !unit.Fits(container.Resource) {
			t.Errorf("%s has %s", id, container.Resource)
		}
	}
	if hosts := slices.Compact(m.Hosts()); !slices.Equal(hosts, hostsOf(m)) {
		t.Errorf("containers are spread over %v", hosts)
	}

	// One is stopped on its node, the rest are released. Each reports how it ended.
	ids := slices.SortedFunc(maps.Keys(m.Running), records.ContainerID.Compare)
	stopped := m.Running[ids[0]]
	statuses, err := m.NM.Statuses(ctx, stopped.Node, stopped.ID)
	if err != nil || len(statuses) != 1 || statuses[0].State != records.ContainerRunning {
		t.Errorf("status of a running container is %+v, %v", statuses, err)
	}
	if err := m.NM.Start(ctx, stopped, records.ContainerLaunchContext{Commands: []string{"true"}}); err == nil {
		t.Error("a container was started twice")
	}
	if err := m.NM.Stop(ctx, stopped.Node, stopped.ID); err != nil {
		t.Error(err)
	}
	m.RM.Release(ids[1:]...)
	m.Await(t, "all have ended", "", func() bool { return len(m.Completed) == 6 && len(rpctest.Processes(t, unusual)) == 0 })
	for id, s := range m.Completed {
		want := records.ExitAborted
		if id == stopped.ID {
			want = records.ExitKilledByAppMaster
		}
		if s.ExitStatus != want {
			t.Errorf("%s ended as %s: %s", id, s.ExitStatus, s.Diagnostics)
		}
	}

	// A withdrawn ask brings no container. YARN knows the withdrawal when it serves the next ask.
	m.Ask(5)
	m.Ask(0)
	later := amrm.AskKey{Priority: 2}
	m.RM.SetAsk(amrm.Ask{Key: later, Capability: unit, Count: 1})
	m.Await(t, "the next ask is served", "", func() bool { return m.RM.Outstanding(later) == 0 })
	if len(m.Running) != 1 || m.Surplus != 0 {
		t.Errorf("%d containers have come, and %d without a request, want one", len(m.Running), m.Surplus)
	}

	if err := m.RM.Finish(ctx, records.FinalSucceeded, "all is well", ""); err != nil {
		t.Fatal(err)
	}
	report = rpctest.Await(t, client, report.ID, "finished", rpctest.Ended)
	app, err := c.RM().App(ctx, report.ID.String())
	if err != nil || app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" || !strings.Contains(report.Diagnostics, "all is well") {
		t.Errorf("YARN says %+v, %v; diagnostics %q", app, err, report.Diagnostics)
	}
}

// hostsOf returns the hosts of the nodes that a master knows, sorted.
func hostsOf(m *rpctest.Master) (hosts []string) {
	for _, n := range m.Nodes {
		hosts = append(hosts, n.Host)
	}
	slices.Sort(hosts)
	return hosts
}

// TestAnAskLargerThanTheMaximumIsRefusedUntilItIsTakenBack would catch a client that sends a refused ask for ever, and
// so loses all its later asks.
func TestAnAskLargerThanTheMaximumIsRefusedUntilItIsTakenBack(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	m, report := rpctest.Unmanaged(t, c, client)
	big := amrm.Ask{Key: amrm.AskKey{Priority: 2}, Capability: records.Resource{MemoryMB: 1 << 40, VCores: 1}, Count: 1}
	m.RM.SetAsk(big)
	if _, err := m.RM.Allocate(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "InvalidResourceRequestException") {
		t.Errorf("error is %v", err)
	}
	big.Count = 0
	m.RM.SetAsk(big)
	if _, err := m.RM.Allocate(t.Context(), 0); err != nil {
		t.Errorf("after the ask was taken back: %v", err)
	}
	if err := m.RM.Finish(t.Context(), records.FinalFailed, "as planned", ""); err != nil {
		t.Error(err)
	}
	if r := rpctest.Await(t, client, report.ID, "finished", rpctest.Ended); r.State != records.ApplicationFinished || r.FinalStatus != records.FinalFailed {
		t.Errorf("it ended as %s (%s)", r.State, r.FinalStatus)
	}
}

// TestAKilledApplicationsMasterIsTold would catch a master that continues, or retries for ever, after the end of its
// application.
func TestAKilledApplicationsMasterIsTold(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	m, report := rpctest.Unmanaged(t, c, client)
	if err := client.Kill(t.Context(), report.ID, ""); err != nil {
		t.Fatal(err)
	}
	// A call during the end gets a NullPointerException from the ResourceManager.
	wait.Until(t, "the master is told", func() bool {
		_, err := m.Beat(t.Context(), "")
		return errors.Is(err, amrm.ErrAttemptGone)
	})
}

// TestAMastersPageMoves would catch a new tracking URL that YARN does not get.
func TestAMastersPageMoves(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	m, report := rpctest.Unmanaged(t, c, client)
	const moved = "http://localhost:2/moved"
	m.RM.SetTrackingURL(moved)
	if _, err := m.RM.Allocate(t.Context(), 0.5); err != nil {
		t.Fatal(err)
	}
	rpctest.Await(t, client, report.ID, "shown with its new page", func(r records.ApplicationReport) bool {
		return r.OriginalTrackingURL == moved
	})
	if err := m.RM.Finish(t.Context(), records.FinalSucceeded, "", ""); err != nil {
		t.Error(err)
	}
}
