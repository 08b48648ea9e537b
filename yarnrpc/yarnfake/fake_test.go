package yarnfake_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// It would catch a fake that differs from a cluster in any of the three protocols, at any
// protection: the typed clients would hang.
func TestAnApplicationMastersWholeLife(t *testing.T) {
	for _, protection := range []string{"authentication", "integrity", "privacy"} {
		t.Run(protection, func(t *testing.T) {
			fake := start(t, yarnfake.Config{Nodes: 2, Protection: protection})
			client, report, m := unmanaged(t, fake)

			m.ask(1)
			m.run(t, `echo \$CONTAINER_ID $PWD; exit 3`, func() bool { return len(m.completed) == 1 })
			for id, s := range m.completed {
				if s.ExitStatus != 3 {
					t.Errorf("%s ended as %s: %s", id, s.ExitStatus, s.Diagnostics)
				}
				out, err := os.ReadFile(filepath.Join(fake.Logs(id), "prelaunch.out"))
				if err != nil || !strings.HasPrefix(string(out), id.String()+" /") {
					t.Errorf("it wrote %q, %v", out, err)
				}
			}
			clear(m.completed)

			m.ask(4)
			m.run(t, "sleep 1000", func() bool { return len(m.running) == 4 })
			stopped, released := m.running[0], m.running[1]
			statuses, err := m.nm.Statuses(t.Context(), stopped.Node, stopped.ID)
			if err != nil || len(statuses) != 1 || statuses[0].State != records.ContainerRunning {
				t.Errorf("a running container is %+v, %v", statuses, err)
			}
			if err := m.nm.Start(t.Context(), stopped, records.ContainerLaunchContext{}); err == nil {
				t.Error("a container was started twice")
			}
			if err := m.nm.Stop(t.Context(), stopped.Node, stopped.ID); err != nil {
				t.Error(err)
			}
			m.rm.Release(released.ID)
			m.run(t, "", func() bool { return len(m.completed) == 2 })
			if s := m.completed[stopped.ID]; s.ExitStatus != records.ExitKilledByAppMaster {
				t.Errorf("the stopped one ended as %s", s.ExitStatus)
			}
			if s := m.completed[released.ID]; s.ExitStatus != records.ExitAborted {
				t.Errorf("the released one ended as %s", s.ExitStatus)
			}
			containers, err := client.Containers(t.Context(), report.Attempt)
			if err != nil || len(containers) != 2 {
				t.Errorf("%d containers are reported, %v", len(containers), err)
			}
			if err := m.rm.Finish(t.Context(), records.FinalSucceeded, "all is well", ""); err != nil {
				t.Fatal(err)
			}
			report = await(t, client, report.ID, ended)
			if report.State != records.ApplicationFinished || report.FinalStatus != records.FinalSucceeded || report.Diagnostics != "all is well" {
				t.Errorf("report is %+v", report)
			}
		})
	}
}

// lead is a whole ApplicationMaster: it runs two containers and ends.
func lead(ctx context.Context, fake *yarnfake.Fake, c yarnfake.Container) error {
	m, err := newMaster(fake, c.ID.Attempt, c.Credentials.ByKind(creds.KindAMRM))
	if err != nil {
		return err
	}
	defer m.close()
	if _, err := m.rm.Register(ctx, amrm.RegisterRequest{Host: "here", RPCPort: -1}); err != nil {
		return err
	}
	m.ask(2)
	if err := m.until(ctx, "work", func() bool { return len(m.completed) == 2 }); err != nil {
		return err
	}
	return m.rm.Finish(ctx, records.FinalSucceeded, "", "")
}

// If a scheduler looks only at memory and cores, it gives one GPU to many containers.
func TestContainersShareNoGPU(t *testing.T) {
	gpus := func(r records.Resource, n int64) records.Resource {
		return r.With("yarn.io/gpu", records.ResourceAmount{Value: n})
	}
	fake := start(t, yarnfake.Config{Node: gpus(records.Resource{MemoryMB: 8192, VCores: 8}, 3)})
	_, _, m := unmanaged(t, fake)
	m.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: gpus(unit, 2).With("widgets", records.ResourceAmount{Value: 1}), Count: 2})
	m.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 2}, Capability: gpus(unit, 1), Count: 2})
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 2 })
	for _, c := range m.running {
		want := gpus(unit, 1)
		if c.Priority == 1 {
			want = gpus(unit, 2)
		}
		if c.Resource != want {
			t.Errorf("%s of priority %d has %s, want %s", c.ID, c.Priority, c.Resource, want)
		}
	}
	r, err := m.rm.Allocate(t.Context(), 0)
	if err != nil || len(r.Allocated) > 0 || r.Headroom != (records.Resource{MemoryMB: 8192 - 2*256, VCores: 6}) {
		t.Errorf("then came %+v, %v", r, err)
	}
	m.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 3}, Capability: gpus(unit, 4), Count: 1})
	if _, err := m.rm.Allocate(t.Context(), 0); !errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		t.Errorf("more than a node has: %v", err)
	}
}

// The same with only goroutines in a bubble. If the fake waits for real time, or leaves a
// goroutine behind, the test hangs. The first attempt fails, the second leads.
func TestAManagedApplicationFitsIntoABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fake *yarnfake.Fake
		var works atomic.Int32
		fake = start(t, yarnfake.Config{Nodes: 2, InMemory: true, Heartbeat: time.Second, Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
			switch {
			case !c.Master:
				works.Add(1)
				return 0
			case c.ID.Attempt.Attempt == 1:
				return 9
			case lead(ctx, fake, c) != nil:
				return 1
			default:
				return 0
			}
		}})
		client := newClient(t, fake)
		report := submit(t, client, records.SubmissionContext{Name: "managed"})
		report = await(t, client, report.ID, ended)
		if report.State != records.ApplicationFinished || report.Attempt.Attempt != 2 || works.Load() != 2 {
			t.Errorf("%s at attempt %d after %d containers: %s", report.State, report.Attempt.Attempt, works.Load(), report.Diagnostics)
		}
		attempts, err := client.Attempts(t.Context(), report.ID)
		if err != nil || len(attempts) != 2 || attempts[0].State != records.AttemptFailed {
			t.Errorf("attempts are %+v, %v", attempts, err)
		}
	})
}

// A child process must find what a NodeManager provides: its files, variables in the
// order of their references, its credentials, its own directory.
func TestAMasterIsAChildProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(file, []byte("echo from the file; exit $1"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	url, err := records.ParseURL("file://" + file)
	if err != nil {
		t.Fatal(err)
	}
	resource := records.LocalResource{URL: url, Timestamp: info.ModTime().UnixMilli(), Type: records.LocalFile, Visibility: records.VisibilityApplication}
	changed := resource
	changed.Timestamp--
	for _, test := range []struct {
		name     string
		resource records.LocalResource
		exit     string
	}{
		{"a file is copied and run", resource, "exitCode: 7"},
		{"a file that has changed is refused", changed, "exitCode: -1000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake := start(t, yarnfake.Config{MaxAttempts: 1})
			client := newClient(t, fake)
			report := submit(t, client, records.SubmissionContext{Name: "shell", Container: records.ContainerLaunchContext{
				LocalResources: map[string]records.LocalResource{"dir/input": test.resource},
				Environment:    map[string]string{"A": "{{B}}<CPS>a", "B": "b"},
				Commands:       []string{"test $A = b:a &&", "test -s $HADOOP_TOKEN_FILE_LOCATION &&", "bash dir/input 7", "1><LOG_DIR>/stdout"},
			}})
			report = await(t, client, report.ID, ended)
			if report.State != records.ApplicationFailed || !strings.Contains(report.Diagnostics, test.exit) {
				t.Errorf("%s: %s", report.State, report.Diagnostics)
			}
			if strings.Contains(test.exit, "7") {
				id := records.ContainerID{Attempt: report.Attempt, ID: 1}
				out, err := os.ReadFile(filepath.Join(fake.Logs(id), "stdout"))
				if err != nil || string(out) != "from the file\n" {
					t.Errorf("it wrote %q, %v", out, err)
				}
			}
		})
	}
}

func TestAKilledApplicationsMasterIsTold(t *testing.T) {
	fake := start(t, yarnfake.Config{})
	client, report, m := unmanaged(t, fake)
	m.ask(1)
	m.run(t, "sleep 1000", func() bool { return len(m.running) == 1 })
	if err := client.Kill(t.Context(), report.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.rm.Allocate(t.Context(), 0); !isGone(err) {
		t.Errorf("error is %v", err)
	}
	if r := await(t, client, report.ID, ended); r.State != records.ApplicationKilled || r.Diagnostics != "enough" {
		t.Errorf("it is %s: %s", r.State, r.Diagnostics)
	}
}

func TestADelegationTokenLogsInUntilItIsCancelled(t *testing.T) {
	fake := start(t, yarnfake.Config{Protection: "privacy"})
	client := newClient(t, fake)
	token, err := client.DelegationToken(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	list := func() ([]records.NodeReport, error) {
		o, err := yarnclient.FromConf(fake.Conf(), "")
		if err != nil {
			t.Fatal(err)
		}
		o.RPC.Token, o.Policy.MaxWait = creds.Fixed(token), time.Nanosecond
		c := yarnclient.New(o)
		defer c.Close()
		return c.ClusterNodes(t.Context())
	}
	if nodes, err := list(); err != nil || len(nodes) != 1 {
		t.Errorf("with a token: %v, %v", nodes, err)
	}
	if err := client.CancelDelegationToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if _, err := list(); !isInvalidToken(err) {
		t.Errorf("after it was cancelled: %v", err)
	}
}

// The key that the master was given must verify the tokens of its clients.
func TestTheMastersKeyVerifiesItsClients(t *testing.T) {
	fake := start(t, yarnfake.Config{ClientTokens: true})
	client := newClient(t, fake)
	report := submit(t, client, records.SubmissionContext{Unmanaged: true})
	m, err := newMaster(fake, report.Attempt, report.AMRMToken)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	registration, err := m.rm.Register(t.Context(), amrm.RegisterRequest{})
	if err != nil {
		t.Fatal(err)
	}
	report = await(t, client, report.ID, func(r records.ApplicationReport) bool { return r.ClientToAMToken != nil })
	if got := fmt.Sprintf("%x", report.ClientToAMToken.Password); got != hmacOf(registration.ClientToAMKey, report.ClientToAMToken.Identifier) {
		t.Error("the token was made with another key")
	}
}

func TestTheQueueAndTheMetricsAreTold(t *testing.T) {
	fake := start(t, yarnfake.Config{Nodes: 3})
	client := newClient(t, fake)
	metrics, err := client.ClusterMetrics(t.Context())
	if err != nil || metrics.Active != 3 {
		t.Errorf("metrics are %+v, %v", metrics, err)
	}
	queue, err := client.QueueInfo(t.Context(), "default", yarnclient.QueueDetail{})
	if err != nil || queue.State != records.QueueRunning {
		t.Errorf("queue is %+v, %v", queue, err)
	}
	if _, err := client.QueueInfo(t.Context(), "root.nowhere", yarnclient.QueueDetail{}); !errors.Is(err, yarnclient.ErrQueueNotFound) {
		t.Errorf("a queue that is not there: got %v, want ErrQueueNotFound", err)
	}
	rights, err := client.QueueUserACLs(t.Context())
	if err != nil || len(rights) != 2 || rights[1].Queue != queue.Path || !slices.Contains(rights[1].ACLs, records.QueueSubmitApplications) {
		t.Errorf("rights are %+v, %v", rights, err)
	}
}
