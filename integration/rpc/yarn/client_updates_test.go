package yarn

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// TestAnApplicationMovesToAnotherQueue would catch a move that only the client reports.
func TestAnApplicationMovesToAnotherQueue(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, clusters.Small) // a user who may submit to both queues
	application := rpctest.Shell("exec sleep 1000")
	application.Queue = "default"
	id := rpctest.AwaitLaunched(t, client, rpctest.Submit(t, client, application).ID, 1).ID // a queue lists attempts
	if err := client.Move(t.Context(), id, "small"); err != nil {
		t.Fatal(err)
	}
	app, err := c.RM().App(t.Context(), id.String())
	if err != nil || app.Queue != "small" && app.Queue != "root.small" {
		t.Errorf("the ResourceManager says queue %s, %v", app.Queue, err)
	}
	queue, err := client.QueueInfo(t.Context(), "small", yarnclient.QueueDetail{Applications: true})
	if err != nil || len(queue.Applications) == 0 {
		t.Errorf("the queue is %+v, %v", queue, err)
	}
	if err := client.Move(t.Context(), id, "nowhere"); !errors.Is(err, yarnrpc.ErrYarn) && !errors.Is(err, yarnrpc.ErrAccessControl) {
		t.Errorf("error for an unknown queue is %v", err)
	}
}

// TestAnApplicationsLifetimeChanges would catch a time with a wrong zone or unit.
func TestAnApplicationsLifetimeChanges(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	application := rpctest.Shell("exec sleep 1000")
	application.Lifetime = time.Hour
	report := rpctest.Submit(t, client, application)
	if left := time.Until(report.Expires); left > time.Hour || left < 55*time.Minute {
		t.Errorf("it expires in %s", left)
	}
	want := time.Now().Add(3 * time.Hour).Truncate(time.Millisecond)
	got, err := client.UpdateLifetime(t.Context(), report.ID, want)
	if err != nil || !got.Equal(want) {
		t.Errorf("it is to expire at %s, %v, want %s", got, err, want)
	}
	report, err = client.ApplicationReport(t.Context(), report.ID)
	if err != nil || !report.Expires.Equal(want) {
		t.Errorf("its report says %s, %v, want %s", report.Expires, err, want)
	}
	var web struct {
		Timeout struct{ ExpiryTime string }
	}
	if err := c.RM().Get(t.Context(), "apps/"+report.ID.String()+"/timeouts/LIFETIME", &web); err != nil || !strings.HasPrefix(web.Timeout.ExpiryTime, want.UTC().Format("2006-01-02T15:04:05.000")) {
		t.Errorf("the ResourceManager says %s, %v, want %s", web.Timeout.ExpiryTime, err, want)
	}
	if _, err := client.UpdateLifetime(t.Context(), report.ID, time.Now().Add(-time.Hour)); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("error for an end in the past is %v", err)
	}

	// YARN obeys it.
	wait.For(t, "it is to end soon", func() (bool, error) { // an end before the call is refused
		_, err := client.UpdateLifetime(t.Context(), report.ID, time.Now().Add(2*time.Second))
		if errors.Is(err, yarnrpc.ErrYarn) {
			t.Log(err)
			return false, nil
		}
		return true, err
	})
	rpctest.Await(t, client, report.ID, "killed", func(r records.ApplicationReport) bool { return r.State == records.ApplicationKilled })
}

// TestAFailedAttemptIsFollowedByTheNext would catch a call that fails another attempt.
func TestAFailedAttemptIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	client := rpctest.Client(t, clusters.Use(t, clusters.Features), rpctest.Me(t))
	application := rpctest.Shell("exec sleep 1000")
	application.MaxAttempts = 2
	first := rpctest.Submit(t, client, application)
	attempt := rpctest.AwaitLaunched(t, client, first.ID, 1).Attempt
	if err := client.FailAttempt(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}
	rpctest.AwaitLaunched(t, client, first.ID, 2)
	failed, err := client.Attempt(t.Context(), attempt)
	if err != nil || failed.State != records.AttemptFailed || !strings.Contains(failed.Diagnostics, "failed by user") {
		t.Errorf("the first attempt is %+v, %v", failed, err)
	}
	attempt.Attempt = 9
	if err := client.FailAttempt(t.Context(), attempt); !errors.Is(err, yarnrpc.ErrApplicationAttemptNotFound) {
		t.Errorf("error for failing an unknown attempt: %v", err)
	}
	if _, err := client.Attempt(t.Context(), attempt); !errors.Is(err, yarnrpc.ErrApplicationAttemptNotFound) {
		t.Errorf("error for an unknown attempt: %v", err)
	}
}

// TestAContainerIsSignalled would catch a wrong signal, and a signal to the wrong container.
func TestAContainerIsSignalled(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	report := rpctest.Submit(t, client, rpctest.Shell("trap 'echo got TERM' TERM; echo ready; while :; do sleep 0.1; done"))
	report = rpctest.Await(t, client, report.ID, "ready", func(records.ApplicationReport) bool {
		return strings.Contains(rpctest.Logs(t, c, report.ID, "stdout"), "ready")
	})
	attempt, err := client.Attempt(t.Context(), report.Attempt)
	if err != nil {
		t.Fatal(err)
	}
	id := attempt.MasterContainer
	container, err := client.Container(t.Context(), id)
	if err != nil || container.ID != id || container.State != records.ContainerRunning || container.Resource.MemoryMB < rpctest.Unit().MemoryMB || !strings.Contains(container.LogURL, id.String()) {
		t.Errorf("container is %+v, %v", container, err)
	}
	containers, err := client.Containers(t.Context(), report.Attempt)
	if err != nil || len(containers) != 1 || containers[0].ID != id {
		t.Errorf("containers are %+v, %v", containers, err)
	}
	if err := client.SignalContainer(t.Context(), id, records.SignalGracefulShutdown); err != nil {
		t.Fatal(err)
	}
	rpctest.Await(t, client, report.ID, "signalled", func(records.ApplicationReport) bool {
		return strings.Contains(rpctest.Logs(t, c, report.ID, "stdout"), "got TERM")
	})
	if err := client.SignalContainer(t.Context(), id, records.SignalForcefulShutdown); err != nil {
		t.Fatal(err)
	}
	rpctest.Await(t, client, report.ID, "ended", rpctest.Ended)
	id.ID = 99
	if err := client.SignalContainer(t.Context(), id, records.SignalForcefulShutdown); err == nil {
		t.Error("signalling an unknown container gave no error")
	}
	if _, err := client.Container(t.Context(), id); !errors.Is(err, yarnrpc.ErrContainerNotFound) {
		t.Errorf("error for an unknown container: %v", err)
	}
}

// TestApplicationsAreListedByTimeScopeAndNumber would catch a bound that is wrong by one, or by a factor of a thousand.
func TestApplicationsAreListedByTimeScopeAndNumber(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Open)
	client, other := rpctest.Client(t, c, clusters.Alice), rpctest.Client(t, c, clusters.Bob)
	application := rpctest.Shell("exec sleep 1000")
	application.Name = fmt.Sprintf("timed-%d", time.Now().UnixNano()) // others may have run on this cluster
	report := rpctest.Submit(t, client, application)
	rpctest.Submit(t, client, application)
	started := report.Started
	list := func(client *yarnclient.Client, f yarnclient.Filter) int {
		t.Helper()
		f.Name = application.Name
		reports, err := client.Applications(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return len(reports)
	}
	for name, test := range map[string]struct {
		client *yarnclient.Client
		filter yarnclient.Filter
		want   int
	}{
		"nothing":                  {client, yarnclient.Filter{}, 2},
		"a limit":                  {client, yarnclient.Filter{Limit: 1}, 1},
		"the moment of its start":  {client, yarnclient.Filter{Started: yarnclient.TimeRange{From: started, To: started}}, 1},
		"a time before":            {client, yarnclient.Filter{Started: yarnclient.TimeRange{To: started.Add(-time.Millisecond)}}, 0},
		"a time after":             {client, yarnclient.Filter{Started: yarnclient.TimeRange{From: time.Now().Add(time.Hour)}}, 0},
		"an end":                   {client, yarnclient.Filter{Finished: yarnclient.TimeRange{From: started}}, 0},
		"one's own":                {client, yarnclient.Filter{Scope: yarnclient.ScopeOwn}, 2},
		"another's own":            {other, yarnclient.Filter{Scope: yarnclient.ScopeOwn}, 0},
		"what another may view":    {other, yarnclient.Filter{Scope: yarnclient.ScopeViewable}, 2}, // all users administer this cluster
		"all that there is at all": {other, yarnclient.Filter{Scope: yarnclient.ScopeAll}, 2},
	} {
		if got := list(test.client, test.filter); got != test.want {
			t.Errorf("filter by %s: %d applications, want %d", name, got, test.want)
		}
	}
}
