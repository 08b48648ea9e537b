package yarn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// unmanaged is the master of an application that this test is.
func unmanaged(t *testing.T, c *cluster.Cluster) (*master, records.ApplicationReport) {
	t.Helper()
	client := newClient(t, c, me(t))
	report := submitUnmanaged(t, client, "default")
	m, err := newMaster(t.Context(), confOf(t, c), me(t), report.Attempt, report.AMRMToken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Error(err)
		}
	})
	return m, report
}

// allocate gets n containers and starts nothing in them; tokens are of their nodes.
func (m *master) allocate(t *testing.T, n int) (containers []records.Container, tokens map[records.NodeID]*creds.Token) {
	t.Helper()
	tokens = map[records.NodeID]*creds.Token{}
	m.ask(n)
	wait.Until(t, fmt.Sprintf("%d containers are allocated", n), func() bool {
		r, err := m.rm.Allocate(t.Context(), 0.5)
		if err != nil {
			t.Fatal(err)
		}
		for _, surplus := range r.Surplus {
			m.rm.Release(surplus.ID)
		}
		maps.Copy(tokens, r.NMTokens)
		m.nm.SetTokens(r.NMTokens)
		containers = append(containers, r.Allocated...)
		return len(containers) >= n
	})
	return containers, tokens
}

// end waits for the completion of a container.
func (m *master) end(t *testing.T, id records.ContainerID) records.ContainerStatus {
	t.Helper()
	var status records.ContainerStatus
	wait.Until(t, id.String()+" has ended", func() bool {
		r, err := m.rm.Allocate(t.Context(), 0.5)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Completed {
			if s.ID == id {
				status = s
			}
		}
		return status.ID == id
	})
	return status
}

func run(command string) records.ContainerLaunchContext {
	return records.ContainerLaunchContext{Commands: []string{command}}
}

// working is a file in a container's working directory.
func working(t *testing.T, c *cluster.Cluster, id records.ContainerID, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Dir(), "nodemanager*", "local", "usercache", "*", "appcache", id.Attempt.Application.String(), id.String(), name))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 {
		return ""
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return ""
	}
	return string(text)
}

func TestFilesComeIntoARunningContainer(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, _ := unmanaged(t, c)
	containers, _ := m.allocate(t, 1)
	it := containers[0]
	const command = "sleep 5101.25"
	if err := m.nm.Start(t.Context(), it, run("exec "+command)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the process runs", func() bool { return processes(t, command) == 1 })
	if err := m.awaitRunning(t.Context(), it); err != nil { // its NodeManager hears of the process a little later
		t.Fatal(err)
	}

	f := newFS(t, dfs.Options{Conf: confOf(t, c), User: me(t)})
	dir := scratch(t, f)
	if err := f.WriteFile(t.Context(), dir+"/new", []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat(t.Context(), dir+"/new")
	if err != nil {
		t.Fatal(err)
	}
	url, err := records.ParseURL(info.URI)
	if err != nil {
		t.Fatal(err)
	}
	resource := records.LocalResource{URL: url, Size: info.Size, Timestamp: info.ModTime.UnixMilli(), Type: records.LocalFile, Visibility: records.VisibilityApplication}
	stale := resource
	stale.URL.Path += ".gone"
	states := map[string]records.LocalizationStatus{}
	localize := func(name string, resource records.LocalResource, want records.LocalizationState) {
		t.Helper()
		if err := m.nm.Localize(t.Context(), it.Node, it.ID, map[string]records.LocalResource{name: resource}); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, name+" is "+string(want), func() bool {
			statuses, err := m.nm.LocalizationStatuses(t.Context(), it.Node, it.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range statuses[it.ID] {
				states[s.Name] = s
			}
			return states[name].State == want
		})
	}
	localize("new.txt", resource, records.LocalizationCompleted)
	localize("gone.txt", stale, records.LocalizationFailed)
	if states["gone.txt"].Diagnostics == "" {
		t.Error("why a file failed is not told")
	}
	if got := working(t, c, it.ID, "new.txt"); got != "hello" {
		t.Errorf("the container finds %q", got)
	}
	if processes(t, command) != 1 {
		t.Error("the process has ended")
	}
	other := it.ID
	other.ID += 1000
	statuses, err := m.nm.LocalizationStatuses(t.Context(), it.Node, it.ID, other)
	failed, _ := errors.AsType[nmclient.Failures](err)
	if len(statuses) != 1 || len(failed) != 1 || !errors.Is(failed.Of(other), nmclient.ErrNotTold) {
		t.Errorf("of a container that is there and one that is not: %+v, %v", statuses, err)
	}
	if err := m.nm.Localize(t.Context(), it.Node, other, nil); !errors.Is(err, yarnrpc.ErrYarn) || yarnrpc.MaybeSent(err) {
		t.Errorf("into a container that is not there: %v", err)
	}
	if err := m.nm.Stop(t.Context(), it.Node, it.ID); err != nil {
		t.Error(err)
	}
}

func TestAContainerGetsANewLaunchContextAndTheOldOneBack(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, _ := unmanaged(t, c)
	containers, _ := m.allocate(t, 1)
	it := containers[0]
	version := func(n int) string { return fmt.Sprintf("sleep 520%d.25", n) }
	alone := func(n int) {
		t.Helper()
		wait.Until(t, fmt.Sprintf("version %d runs alone", n), func() bool {
			for other := 1; other <= 3; other++ {
				want := 0
				if other == n {
					want = 1
				}
				if processes(t, version(other)) != want {
					return false
				}
			}
			return true
		})
	}
	// A NodeManager refuses while the last change is on its way.
	must := func(what string, call func(context.Context, records.NodeID, records.ContainerID) error) {
		t.Helper()
		wait.Until(t, what, func() bool {
			err := call(t.Context(), it.Node, it.ID)
			if err != nil && !errors.Is(err, yarnrpc.ErrYarn) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	reinitialize := func(n int, commit nmclient.Commitment) {
		t.Helper()
		must(fmt.Sprintf("version %d is taken", n), func(ctx context.Context, on records.NodeID, id records.ContainerID) error {
			return m.nm.Reinitialize(ctx, on, id, run("exec "+version(n)), commit)
		})
		alone(n)
	}

	if err := m.nm.Start(t.Context(), it, run("exec "+version(1))); err != nil {
		t.Fatal(err)
	}
	alone(1)
	if err := m.nm.Rollback(t.Context(), it.Node, it.ID); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("rollback without a reinitialization: %v", err)
	}
	reinitialize(2, nmclient.CommitLater)
	must("it is rolled back", m.nm.Rollback)
	alone(1)

	reinitialize(3, nmclient.CommitLater)
	must("it is committed", m.nm.Commit)
	if err := m.nm.Rollback(t.Context(), it.Node, it.ID); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("rollback after a commit: %v", err)
	}
	alone(3)

	reinitialize(2, nmclient.CommitAtOnce)
	if err := m.nm.Commit(t.Context(), it.Node, it.ID); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("commit of what was committed at once: %v", err)
	}

	before := pids(t, version(2))
	must("it is restarted", m.nm.Restart)
	wait.Until(t, "another process runs the same command", func() bool {
		after := pids(t, version(2))
		return len(after) == 1 && after[0] != before[0]
	})
	statuses, err := m.nm.Statuses(t.Context(), it.Node, it.ID)
	if err != nil || len(statuses) != 1 || statuses[0].State != records.ContainerRunning {
		t.Errorf("status is %+v, %v", statuses, err)
	}
	if err := m.nm.Stop(t.Context(), it.Node, it.ID); err != nil {
		t.Error(err)
	}
	if s := m.end(t, it.ID); s.ExitStatus != records.ExitKilledByAppMaster {
		t.Errorf("it ended as %+v", s)
	}
}

// pids are those of the processes that run exactly a command.
func pids(t *testing.T, command string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ") == command {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}

func TestSignalsReachAContainer(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, report := unmanaged(t, c)
	containers, _ := m.allocate(t, 2)
	polite, stubborn := containers[0], containers[1]
	const loop = `echo ready 1><LOG_DIR>/stdout; %s while true; do sleep 0.2; done 2>/dev/null`
	if err := m.nm.StartAll(t.Context(),
		nmclient.Launch{Container: polite, Context: run(fmt.Sprintf(loop, ""))},
		nmclient.Launch{Container: stubborn, Context: run(fmt.Sprintf(loop, `trap 'echo asked 1>><LOG_DIR>/stdout' TERM;`))},
	); err != nil {
		t.Fatal(err)
	}
	logged := func(text string, times int) {
		t.Helper()
		wait.Until(t, fmt.Sprintf("%q is logged %d times", text, times), func() bool {
			return strings.Count(containerLogs(t, c, report.ID, "stdout"), text) == times
		})
	}
	logged("ready", 2)
	if err := m.nm.Signal(t.Context(), stubborn.Node, stubborn.ID, records.SignalGracefulShutdown); err != nil {
		t.Error(err)
	}
	logged("asked", 1)
	if err := m.nm.Signal(t.Context(), polite.Node, polite.ID, records.SignalGracefulShutdown); err != nil {
		t.Error(err)
	}
	if s := m.end(t, polite.ID); s.ExitStatus != records.ExitTerminated {
		t.Errorf("after SIGTERM it ended as %+v", s)
	}
	if err := m.nm.Signal(t.Context(), stubborn.Node, stubborn.ID, records.SignalForcefulShutdown); err != nil {
		t.Error(err)
	}
	if s := m.end(t, stubborn.ID); s.ExitStatus != records.ExitForceKilled {
		t.Errorf("after SIGKILL it ended as %+v", s)
	}
}

func TestContainersOnSeveralNodesAtOnce(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, _ := unmanaged(t, c)
	containers, _ := m.allocate(t, 6)
	const command = "sleep 5301.25"
	var launches []nmclient.Launch
	hosts := map[string]bool{}
	for _, it := range containers {
		launches = append(launches, nmclient.Launch{Container: it, Context: run("exec " + command)})
		hosts[it.Node.Host] = true
	}
	if len(hosts) < 2 {
		t.Fatalf("all containers are on %v", hosts)
	}
	// One whose token was tampered with makes its NodeManager break the call off.
	forged := launches[2]
	forged.Container.Token = forged.Container.Token.Clone()
	forged.Container.Token.Password[0] ^= 1
	launches[2] = forged
	failed, _ := errors.AsType[nmclient.Failures](m.nm.StartAll(t.Context(), launches...))
	if len(failed) != 1 || !errors.Is(failed.Of(forged.Container.ID), yarnrpc.ErrInvalidToken) || yarnrpc.MaybeSent(failed[0]) {
		t.Errorf("with one forged token: %v", failed)
	}
	wait.Until(t, "the other five run", func() bool { return processes(t, command) == 5 })
	launches[2].Container = containers[2]
	failed, _ = errors.AsType[nmclient.Failures](m.nm.StartAll(t.Context(), launches...))
	if len(failed) != 5 || failed.Of(containers[2].ID) != nil || !errors.Is(failed[0], yarnrpc.ErrYarn) {
		t.Errorf("started again: %v", failed)
	}
	wait.Until(t, "all run", func() bool { return processes(t, command) == 6 })
	statuses, err := m.nm.StatusesAll(t.Context(), containers...)
	if err != nil || len(statuses) != 6 {
		t.Errorf("statuses are %+v, %v", statuses, err)
	}
	if err := m.nm.StopAll(t.Context(), containers...); err != nil {
		t.Error(err)
	}
	wait.Until(t, "none runs", func() bool { return processes(t, command) == 0 })
}

// told is a connection that tells of each write.
type told struct {
	net.Conn
	writes *atomic.Int32
}

func (c told) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.writes.Add(1)
	return n, err
}

// What an ApplicationMaster does next depends on whether the call may have run.
func TestANodeManagerThatDiesLeavesNoCallUnexplained(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Config{NodeManagers: 1})
	m, _ := unmanaged(t, c)
	containers, tokens := m.allocate(t, 1)
	it := containers[0]
	var writes atomic.Int32
	nodes := bobbintest.Closing(t, nmclient.New(nmclient.Options{
		RPC: yarnrpc.Options{MaxIdle: -1, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return told{conn, &writes}, err
		}},
		Policy: yarnrpc.Policy{MaxWait: 2 * time.Second, BaseDelay: 200 * time.Millisecond, MaxDelay: time.Second},
	}))
	nodes.SetTokens(tokens)
	const command = "sleep 5401.25"
	if err := nodes.Start(t.Context(), it, run("exec "+command)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the process runs", func() bool { return processes(t, command) == 1 })

	if err := c.Pause(t.Context(), "nodemanager1"); err != nil {
		t.Fatal(err)
	}
	before := writes.Load()
	outcome := make(chan error, 1)
	go func() {
		outcome <- nodes.Signal(t.Context(), it.Node, it.ID, records.SignalThreadDump)
	}()
	wait.Until(t, "the call is sent", func() bool { return writes.Load() > before })
	if err := c.Kill(t.Context(), "nodemanager1"); err != nil {
		t.Fatal(err)
	}
	if err := <-outcome; err == nil || !yarnrpc.MaybeSent(err) || !strings.Contains(err.Error(), it.ID.String()) {
		t.Errorf("a call that was on its way: %v", err)
	}
	if err := nodes.Restart(t.Context(), it.Node, it.ID); err == nil || yarnrpc.MaybeSent(err) {
		t.Errorf("a call of a NodeManager that is gone: %v", err)
	}
	if failed, _ := errors.AsType[nmclient.Failures](nodes.StopAll(t.Context(), it)); len(failed) != 1 || yarnrpc.MaybeSent(failed[0]) {
		t.Errorf("a stop at a NodeManager that is gone: %v", failed)
	}

	if err := c.Restart(t.Context(), "nodemanager1"); err != nil {
		t.Fatal(err)
	}
	statuses, err := nodes.Statuses(t.Context(), it.Node, it.ID)
	if err != nil || len(statuses) != 1 || statuses[0].State != records.ContainerRunning || processes(t, command) != 1 {
		t.Errorf("after the NodeManager has come back: %+v, %v", statuses, err)
	}
	if err := nodes.Stop(t.Context(), it.Node, it.ID); err != nil {
		t.Error(err)
	}
	wait.Until(t, "the process has ended", func() bool { return processes(t, command) == 0 })
}
