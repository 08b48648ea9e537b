package yarn

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// The names under which ApplicationMasters in containers tell something.
const (
	collectorAs = "collector"
	startedAs   = "started"
	resyncedAs  = "resynced"
)

// TestAGoApplicationMasterInAContainer would catch a master that does not find its attempt, its token or its
// ResourceManager in a container's environment.
func TestAGoApplicationMasterInAContainer(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	application, _ := rpctest.InContainer(t, c, "echo")
	report := rpctest.Submit(t, client, application)
	report = rpctest.Await(t, client, report.ID, "finished", rpctest.Ended)
	if report.State != records.ApplicationFinished || report.FinalStatus != records.FinalSucceeded || !strings.Contains(report.Diagnostics, "done by Go") {
		t.Errorf("it ended as %s (%s): %s\n%s", report.State, report.FinalStatus, report.Diagnostics, rpctest.Logs(t, c, report.ID, "std*"))
	}
	if report.OriginalTrackingURL == "" || !strings.Contains(report.TrackingURL, report.ID.String()) {
		t.Errorf("tracking URLs are %q and %q", report.OriginalTrackingURL, report.TrackingURL)
	}
}

// tellCollector tells the address for the application's events.
func tellCollector(ctx context.Context, m *rpctest.Contained) error {
	var address string
	m.Heard = func(r amrm.Response) {
		if r.Collector != nil {
			address = r.Collector.Address
		}
	}
	if err := m.Until(ctx, "a collector is told", "", func() bool { return address != "" }); err != nil {
		return err
	}
	return m.Tell(collectorAs, address)
}

// TestAMasterIsToldWhereItsEventsGo lets a master find the collector of YARN's timeline service that its NodeManager
// runs for it, and asks the collector which service it is. It would catch an address that does not reach the master.
func TestAMasterIsToldWhereItsEventsGo(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Victim)
	client := rpctest.Client(t, c, rpctest.Me(t))
	application, dir := rpctest.InContainer(t, c, "collector")
	report := rpctest.Submit(t, client, application)
	address := rpctest.Told(t, dir, collectorAs)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/ws/v2/timeline/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || !strings.Contains(string(text), "Timeline Collector API") {
		t.Errorf("the collector answers %s: %s, %v", answer.Status, text, err)
	}
	report = rpctest.Await(t, client, report.ID, "finished", rpctest.Ended)
	if report.FinalStatus != records.FinalSucceeded {
		t.Errorf("it ended as %s (%s): %s\n%s", report.State, report.FinalStatus, report.Diagnostics, rpctest.Logs(t, c, report.ID, "std*"))
	}
}

// outliveResourceManager runs two containers, and a third one when the ResourceManager has come back.
func outliveResourceManager(ctx context.Context, m *rpctest.Contained) error {
	const forever = "exec sleep 1000"
	m.Ask(2)
	if err := m.Until(ctx, "two containers run", forever, m.Has(2)); err != nil {
		return err
	}
	if err := m.Tell(startedAs, m.Attempt.String()); err != nil {
		return err
	}
	if err := m.Until(ctx, "the ResourceManager is another", "", func() bool { return m.Resyncs == 1 }); err != nil {
		return err
	}
	m.Ask(1) // it accepts asks, and knows the containers
	if err := m.Until(ctx, "three containers run", forever, m.Has(3)); err != nil {
		return err
	}
	if err := m.Tell(resyncedAs, m.Attempt.String()); err != nil {
		return err
	}
	for id := range m.Running {
		m.RM.Release(id)
	}
	return m.Until(ctx, "none is left", "", m.Has(0))
}

// TestARestartedResourceManagerFindsItsApplicationAtWork would catch a master in a container that ends with its
// ResourceManager, and one that loses its containers or its asks with it.
func TestARestartedResourceManagerFindsItsApplicationAtWork(t *testing.T) {
	cluster.Long(t)
	c := clusters.Change(t, clusters.Victim, "kills the ResourceManager")
	client := rpctest.Client(t, c, rpctest.Me(t))
	application, dir := rpctest.InContainer(t, c, "restart")
	report := rpctest.Submit(t, client, application)
	rpctest.Told(t, dir, startedAs)
	if err := c.Kill(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	report = rpctest.Await(t, client, report.ID, "finished", rpctest.Ended)
	if report.State != records.ApplicationFinished || report.FinalStatus != records.FinalSucceeded {
		t.Errorf("it ended as %s (%s): %s\n%s", report.State, report.FinalStatus, report.Diagnostics, rpctest.Logs(t, c, report.ID, "std*"))
	}
	if attempts, err := client.Attempts(t.Context(), report.ID); err != nil || len(attempts) != 1 {
		t.Errorf("attempts are %+v, %v", attempts, err)
	}
	rpctest.Told(t, dir, resyncedAs)
}
