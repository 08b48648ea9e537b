package yarn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// TestAShellCommandRunsAsApplicationMaster would catch a launch context, a tag or an outcome that differs from the
// submitted one.
func TestAShellCommandRunsAsApplicationMaster(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	seen := filepath.Join(t.TempDir(), "seen")
	report := rpctest.Submit(t, client, rpctest.Shell("echo it runs; while [ ! -e "+seen+" ]; do sleep 0.1; done; exit 7"))
	rpctest.Await(t, client, report.ID, "at work", func(records.ApplicationReport) bool {
		return strings.Contains(rpctest.Logs(t, c, report.ID, "stdout"), "it runs")
	})
	if err := os.WriteFile(seen, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	report = rpctest.Await(t, client, report.ID, "ended", rpctest.Ended)
	// It never registered. YARN counts that as a failure and reports the exit code.
	if report.State != records.ApplicationFailed || report.FinalStatus != records.FinalFailed || !strings.Contains(report.Diagnostics, "exitCode: 7") {
		t.Errorf("it ended as %s (%s): %s", report.State, report.FinalStatus, report.Diagnostics)
	}
	if report.User != rpctest.Me(t) || report.Queue != "default" && report.Queue != "root.default" || report.Type != "bobbin-test" || report.Name != "shell" {
		t.Errorf("report is %+v", report)
	}
	if diff := cmp.Diff([]string{"bobbin", "test"}, slices.Sorted(slices.Values(report.Tags))); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if report.Finished.Before(report.Started) || time.Since(report.Started) > time.Hour {
		t.Errorf("it ran from %s to %s", report.Started, report.Finished)
	}
	attempts, err := client.Attempts(t.Context(), report.ID)
	if err != nil || len(attempts) != 1 || attempts[0].State != records.AttemptFailed || attempts[0].MasterContainer.Attempt != report.Attempt {
		t.Errorf("attempts are %+v, %v", attempts, err)
	}
}

// TestSubmittingTwiceIsSubmittingOnce would catch a repeated submission that is an error, as after a lost answer.
func TestSubmittingTwiceIsSubmittingOnce(t *testing.T) {
	t.Parallel()
	client := rpctest.Client(t, clusters.Use(t, clusters.Features), rpctest.Me(t))
	application := rpctest.Shell("exec sleep 1000")
	application.ID = rpctest.Submit(t, client, application).ID
	if _, err := client.Submit(t.Context(), application); err != nil {
		t.Errorf("the second submission: %v", err)
	}
}

// TestKillEndsAnApplicationAndItsProcesses would catch a Kill that returns before YARN has done it, and one that leaves
// processes.
func TestKillEndsAnApplicationAndItsProcesses(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	unusual := rpctest.Sleep()
	report := rpctest.Submit(t, client, rpctest.Shell(unusual))
	rpctest.Await(t, client, report.ID, "at work", func(records.ApplicationReport) bool { return len(rpctest.Processes(t, unusual)) > 0 })
	if err := client.Kill(t.Context(), report.ID, "by the test"); err != nil {
		t.Fatal(err)
	}
	report, err := client.ApplicationReport(t.Context(), report.ID)
	if err != nil || report.State != records.ApplicationKilled || report.FinalStatus != records.FinalKilled || !strings.Contains(report.Diagnostics, "by the test") {
		t.Errorf("it ended as %s (%s): %s, %v", report.State, report.FinalStatus, report.Diagnostics, err)
	}
	if err := client.Kill(t.Context(), report.ID, ""); err != nil {
		t.Errorf("killing it again: %v", err)
	}
	wait.Until(t, "its process has ended", func() bool { return len(rpctest.Processes(t, unusual)) == 0 })
}

// TestSubmissionsThatYarnRefuses would catch a refusal that looks like an acceptance.
func TestSubmissionsThatYarnRefuses(t *testing.T) {
	t.Parallel()
	client := rpctest.Client(t, clusters.Use(t, clusters.Features), rpctest.Me(t))
	tests := map[string]struct {
		change func(*records.SubmissionContext)
		want   string
	}{
		"an unknown queue":          {func(a *records.SubmissionContext) { a.Queue = "nowhere" }, "nowhere"},
		"more memory than there is": {func(a *records.SubmissionContext) { a.Resource.MemoryMB = 1 << 30 }, "memory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created, err := client.NewApplication(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			application := rpctest.Shell("true")
			application.ID = created.ID
			test.change(&application)
			_, err = client.Submit(t.Context(), application)
			_, rejected := errors.AsType[*yarnclient.RejectedError](err)
			if !rejected && !errors.Is(err, yarnrpc.ErrYarn) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// TestTheClusterLooksAsItsWebPagesSay would catch figures of nodes and queues that the client mixes up.
func TestTheClusterLooksAsItsWebPagesSay(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	ctx := t.Context()
	web, err := c.RM().Metrics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := client.ClusterMetrics(ctx)
	if err != nil || metrics.Active != web.ActiveNodes || metrics.NodeManagers < 2 {
		t.Errorf("metrics are %+v, %v", metrics, err)
	}
	nodes, err := client.ClusterNodes(ctx, records.NodeRunning)
	if err != nil || len(nodes) != web.ActiveNodes {
		t.Fatalf("nodes are %+v, %v", nodes, err)
	}
	var hosts []string
	var memory int64
	for _, n := range nodes {
		hosts = append(hosts, n.ID.Host)
		if !slices.Contains(n.Labels, "gpu") { // the page counts the default partition
			memory += n.Capability.MemoryMB
		}
		if n.Rack != "/default-rack" || n.State != records.NodeRunning {
			t.Errorf("node is %+v", n)
		}
	}
	slices.Sort(hosts)
	if diff := cmp.Diff(c.NodeManagers(), hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	// The page adds up free and used resources, which other tests change meanwhile.
	wait.For(t, fmt.Sprintf("the memory is %d MB", memory), func() (bool, error) {
		web, err := c.RM().Metrics(ctx)
		return int64(web.TotalMB) == memory, err
	})
	if lost, err := client.ClusterNodes(ctx, records.NodeDecommissioned); err != nil || len(lost) != 0 {
		t.Errorf("decommissioned nodes are %+v, %v", lost, err)
	}

	queue, err := client.QueueInfo(ctx, "default", yarnclient.QueueDetail{})
	if err != nil || queue.State != records.QueueRunning || queue.Path != "root.default" {
		t.Errorf("queue is %+v, %v", queue, err)
	}
	root, err := client.QueueInfo(ctx, "root", yarnclient.QueueDetail{Recursive: true})
	if err != nil || len(root.Children) < 1 {
		t.Errorf("root queue is %+v, %v", root, err)
	}
	acls, err := client.QueueUserACLs(ctx)
	mayDefault := slices.ContainsFunc(acls, func(a records.QueueUserACL) bool {
		return a.Queue == "root.default" && slices.Contains(a.ACLs, records.QueueSubmitApplications)
	})
	if err != nil || !mayDefault {
		t.Errorf("rights in queues are %+v, %v", acls, err)
	}
	if _, err := client.QueueInfo(ctx, "nowhere", yarnclient.QueueDetail{}); !errors.Is(err, yarnclient.ErrQueueNotFound) {
		t.Errorf("error for an unknown queue is %v", err)
	}
	if _, err := client.ApplicationReport(ctx, records.ApplicationID{ClusterTimestamp: 1, ID: 1}); !errors.Is(err, yarnrpc.ErrApplicationNotFound) {
		t.Errorf("error for an unknown application is %v", err)
	}
}

// TestApplicationsAreListedByFilter would catch a filter that has no effect, or the effect of another one.
func TestApplicationsAreListedByFilter(t *testing.T) {
	t.Parallel()
	client := rpctest.Client(t, clusters.Use(t, clusters.Features), clusters.Alice)
	application := rpctest.Shell("exec sleep 1000")
	application.Name = "listed"
	id := rpctest.Submit(t, client, application).ID
	find := func(f yarnclient.Filter) bool {
		t.Helper()
		reports, err := client.Applications(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(reports, func(r records.ApplicationReport) bool { return r.ID == id })
	}
	live := []records.ApplicationState{records.ApplicationAccepted, records.ApplicationRunning}
	for name, test := range map[string]struct {
		filter yarnclient.Filter
		want   bool
	}{
		"nothing":       {yarnclient.Filter{}, true},
		"all that fits": {yarnclient.Filter{States: live, Users: []string{clusters.Alice}, Types: []string{"BOBBIN-test"}, Tags: []string{"BOBBIN"}, Name: "listed"}, true},
		"another user":  {yarnclient.Filter{Users: []string{"bob"}}, false},
		"another state": {yarnclient.Filter{States: []records.ApplicationState{records.ApplicationFailed}}, false},
		"another name":  {yarnclient.Filter{Name: "other"}, false},
		"another tag":   {yarnclient.Filter{Tags: []string{"other"}}, false},
	} {
		if got := find(test.filter); got != test.want {
			t.Errorf("filter by %s: found is %v", name, got)
		}
	}
}

// A wrong port in one of two addresses must not keep a client from the ResourceManager at the other address. A single
// wrong port must give an error that names it.
func TestAWebServerIsNotTakenForAResourceManager(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	conf := rpctest.Conf(t, c)
	web, client := conf.Get("yarn.resourcemanager.webapp.address"), conf.Get("yarn.resourcemanager.address")
	for name, tc := range map[string]struct {
		addresses []string
		reached   bool
	}{
		"alone":                              {[]string{web}, false},
		"with the ResourceManager behind it": {[]string{web, client}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := rpctest.ClientOptions(t, c, rpctest.Me(t))
			o.Addresses = tc.addresses
			_, err := rpctest.NewClient(t, o).ClusterMetrics(t.Context())
			_, foreign := errors.AsType[*wire.FrameError](err)
			if tc.reached != (err == nil) || !tc.reached && (!foreign || !strings.Contains(err.Error(), "HTTP") || !strings.Contains(err.Error(), web)) {
				t.Errorf("got %v", err)
			}
		})
	}
}
