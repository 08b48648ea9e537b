package yarn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// shell is an application whose ApplicationMaster is a shell command.
func shell(command string) records.SubmissionContext {
	return records.SubmissionContext{
		Name: "shell", Type: "bobbin-test", Tags: []string{"bobbin", "test"},
		Resource:    records.Resource{MemoryMB: 128, VCores: 1},
		MaxAttempts: 1,
		Container:   records.ContainerLaunchContext{Commands: []string{"{ " + command + "; } 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"}},
	}
}

// submit submits an application that is killed with the test, if it still lives.
func submit(t *testing.T, client *yarnclient.Client, application records.SubmissionContext) records.ApplicationReport {
	t.Helper()
	created, err := client.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	application.ID = created.ID
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		if err := client.Kill(ctx, application.ID, "the test has ended"); err != nil {
			t.Errorf("kill %s: %v", application.ID, err)
		}
	})
	report, err := client.Submit(t.Context(), application)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// submitUnmanaged submits an application whose master is this process, and waits for its token.
func submitUnmanaged(t *testing.T, client *yarnclient.Client, queue string) records.ApplicationReport {
	t.Helper()
	report := submit(t, client, records.SubmissionContext{Name: t.Name(), Queue: queue, Unmanaged: true, Resource: unit})
	return await(t, client, report.ID, "launched", func(r records.ApplicationReport) bool { return r.AMRMToken != nil })
}

// await polls an application's report until it is as wanted.
func await(t *testing.T, client *yarnclient.Client, id records.ApplicationID, what string, is func(records.ApplicationReport) bool) (report records.ApplicationReport) {
	t.Helper()
	wait.For(t, fmt.Sprintf("%s is %s", id, what), func() (done bool, err error) {
		if report, err = client.ApplicationReport(t.Context(), id); err != nil || is(report) {
			return err == nil, err
		}
		if report.State.Terminal() {
			return false, fmt.Errorf("it is %s (%s): %s", report.State, report.FinalStatus, report.Diagnostics)
		}
		return false, nil
	})
	return report
}

func ended(r records.ApplicationReport) bool   { return r.State.Terminal() }
func running(r records.ApplicationReport) bool { return r.State == records.ApplicationRunning }

// containerLogs reads what containers of an application wrote to a file, on
// whatever node, before it is aggregated.
func containerLogs(t *testing.T, c *cluster.Cluster, id records.ApplicationID, name string) string {
	t.Helper()
	var content strings.Builder
	for _, node := range []string{"nodemanager1", "nodemanager2"} {
		files, err := filepath.Glob(filepath.Join(c.ContainerLogDir(node), id.String(), "*", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) { // aggregated meanwhile
				t.Fatal(err)
			}
			content.Write(text)
		}
	}
	return content.String()
}

func TestAShellCommandRunsAsApplicationMaster(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := newClient(t, c, me(t))
	seen := filepath.Join(t.TempDir(), "seen")
	report := submit(t, client, shell("echo it runs; while [ ! -e "+seen+" ]; do sleep 0.1; done; exit 7"))
	await(t, client, report.ID, "at work", func(records.ApplicationReport) bool {
		return strings.Contains(containerLogs(t, c, report.ID, "stdout"), "it runs")
	})
	if err := os.WriteFile(seen, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	report = await(t, client, report.ID, "ended", ended)
	// It never registered: YARN counts that as a failure and tells the exit code.
	if report.State != records.ApplicationFailed || report.FinalStatus != records.FinalFailed || !strings.Contains(report.Diagnostics, "exitCode: 7") {
		t.Errorf("it ended as %s (%s): %s", report.State, report.FinalStatus, report.Diagnostics)
	}
	if report.User != me(t) || report.Queue != "default" && report.Queue != "root.default" || report.Type != "bobbin-test" || report.Name != "shell" {
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

func TestSubmittingTwiceIsSubmittingOnce(t *testing.T) {
	t.Parallel()
	client := newClient(t, clusters.Use(t, clusters.Features), me(t))
	application := shell("sleep 60")
	application.ID = submit(t, client, application).ID
	if _, err := client.Submit(t.Context(), application); err != nil {
		t.Errorf("the second submission: %v", err)
	}
}

func TestKillEndsAnApplicationAndItsProcesses(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := newClient(t, c, me(t))
	const unusual = "sleep 4321.25"
	report := submit(t, client, shell(unusual))
	await(t, client, report.ID, "at work", func(records.ApplicationReport) bool { return processes(t, unusual) > 0 })
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
	wait.Until(t, "its process has ended", func() bool { return processes(t, unusual) == 0 })
}

// processes counts the processes that run exactly this command.
func processes(t *testing.T, command string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ") == command {
			n++
		}
	}
	return n
}

func TestSubmissionsThatYarnRefuses(t *testing.T) {
	t.Parallel()
	client := newClient(t, clusters.Use(t, clusters.Features), me(t))
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
			application := shell("true")
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

func TestTheClusterLooksAsItsWebPagesSay(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := newClient(t, c, me(t))
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
		memory += n.Capability.MemoryMB
		if n.Rack != "/default-rack" || n.State != records.NodeRunning {
			t.Errorf("node is %+v", n)
		}
	}
	slices.Sort(hosts)
	if diff := cmp.Diff(c.NodeManagers(), hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	// The page adds up what is free and what is not, while other tests get and give back.
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

func TestApplicationsAreListedByFilter(t *testing.T) {
	t.Parallel()
	client := newClient(t, clusters.Use(t, clusters.Features), alice)
	application := shell("sleep 60")
	application.Name = "listed"
	id := submit(t, client, application).ID
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
		"all that fits": {yarnclient.Filter{States: live, Users: []string{alice}, Types: []string{"BOBBIN-test"}, Tags: []string{"BOBBIN"}, Name: "listed"}, true},
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

// A wrong port in one of two addresses must not keep anybody from the ResourceManager that
// has the other, and by itself is to be known for what it is.
func TestAWebServerIsNotTakenForAResourceManager(t *testing.T) {
	t.Parallel()
	conf := confOf(t, clusters.Use(t, clusters.Features))
	web, client := conf.Get("yarn.resourcemanager.webapp.address"), conf.Get("yarn.resourcemanager.address")
	for name, tc := range map[string]struct {
		addresses []string
		reached   bool
	}{
		"alone":                              {[]string{web}, false},
		"with the ResourceManager behind it": {[]string{web, client}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := yarnclient.FromConf(conf, me(t))
			if err != nil {
				t.Fatal(err)
			}
			o.Addresses = tc.addresses
			c := yarnclient.New(o)
			defer c.Close()
			_, err = c.ClusterMetrics(t.Context())
			_, foreign := errors.AsType[*wire.FrameError](err)
			if tc.reached != (err == nil) || !tc.reached && (!foreign || !strings.Contains(err.Error(), "HTTP") || !strings.Contains(err.Error(), web)) {
				t.Errorf("got %v", err)
			}
		})
	}
}
