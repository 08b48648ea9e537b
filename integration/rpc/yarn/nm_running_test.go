package yarn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// allocate gets n containers on hosts of the default partition, the same number on each, and starts nothing in them.
func allocate(t *testing.T, m *rpctest.Master, n int) (containers []records.Container) {
	t.Helper()
	unit := rpctest.Unit()
	m.RM.SetAsk(amrm.Ask{Key: rpctest.Key(), Capability: unit, Count: n, Hosts: amrm.Spread(m.Nodes, n, unit), Strict: n > 1})
	m.Heard = func(r amrm.Response) { containers = append(containers, r.Allocated...) }
	m.Await(t, fmt.Sprintf("%d containers are allocated", n), "", func() bool { return len(containers) >= n })
	m.Heard = nil
	return containers
}

// end waits for the completion of a container.
func end(t *testing.T, m *rpctest.Master, id records.ContainerID) records.ContainerStatus {
	t.Helper()
	m.Await(t, id.String()+" has ended", "", func() bool { return m.Completed[id].ID == id })
	return m.Completed[id]
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

// TestFilesComeIntoARunningContainer would catch a file that gets another name, and one that fails without an error.
func TestFilesComeIntoARunningContainer(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, _ := rpctest.Unmanaged(t, c, rpctest.Client(t, c, rpctest.Me(t)))
	containers := allocate(t, m, 1)
	it := containers[0]
	command := rpctest.Sleep()
	if err := m.NM.Start(t.Context(), it, run("exec "+command)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the process runs", func() bool { return len(rpctest.Processes(t, command)) == 1 })
	if err := m.AwaitRunning(t.Context(), it); err != nil { // its NodeManager learns of the process a little later
		t.Fatal(err)
	}

	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: rpctest.Me(t)})
	dir := rpctest.Scratch(t, f)
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
		if err := m.NM.Localize(t.Context(), it.Node, it.ID, map[string]records.LocalResource{name: resource}); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, name+" is "+string(want), func() bool {
			statuses, err := m.NM.LocalizationStatuses(t.Context(), it.Node, it.ID)
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
		t.Error("the report does not say why a file failed")
	}
	if got := working(t, c, it.ID, "new.txt"); got != "hello" {
		t.Errorf("the container finds %q", got)
	}
	if len(rpctest.Processes(t, command)) != 1 {
		t.Error("the process has ended")
	}
	other := it.ID
	other.ID += 1000
	statuses, err := m.NM.LocalizationStatuses(t.Context(), it.Node, it.ID, other)
	failed, _ := errors.AsType[nmclient.Failures](err)
	if len(statuses) != 1 || len(failed) != 1 || !errors.Is(failed.Of(other), nmclient.ErrNotTold) {
		t.Errorf("of a known and an unknown container: %+v, %v", statuses, err)
	}
	if err := m.NM.Localize(t.Context(), it.Node, other, nil); !errors.Is(err, yarnrpc.ErrYarn) || yarnrpc.MaybeSent(err) {
		t.Errorf("into an unknown container: %v", err)
	}
	if err := m.NM.Stop(t.Context(), it.Node, it.ID); err != nil {
		t.Error(err)
	}
}

// TestAContainerGetsANewLaunchContextAndTheOldOneBack would catch a reinitialization that is committed although it
// should not be, and the opposite.
func TestAContainerGetsANewLaunchContextAndTheOldOneBack(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, _ := rpctest.Unmanaged(t, c, rpctest.Client(t, c, rpctest.Me(t)))
	containers := allocate(t, m, 1)
	it := containers[0]
	unusual := rpctest.Sleep()
	version := func(n int) string { return fmt.Sprintf("%s%d", unusual, n) }
	alone := func(n int) {
		t.Helper()
		wait.Until(t, fmt.Sprintf("version %d runs alone", n), func() bool {
			for other := 1; other <= 3; other++ {
				want := 0
				if other == n {
					want = 1
				}
				if len(rpctest.Processes(t, version(other))) != want {
					return false
				}
			}
			return true
		})
	}
	// A NodeManager refuses while the last change is under way.
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
			return m.NM.Reinitialize(ctx, on, id, run("exec "+version(n)), commit)
		})
		alone(n)
	}

	if err := m.NM.Start(t.Context(), it, run("exec "+version(1))); err != nil {
		t.Fatal(err)
	}
	alone(1)
	if err := m.NM.Rollback(t.Context(), it.Node, it.ID); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("rollback without a reinitialization: %v", err)
	}
	reinitialize(2, nmclient.CommitLater)
	must("it is rolled back", m.NM.Rollback)
	alone(1)

	reinitialize(3, nmclient.CommitLater)
	must("it is committed", m.NM.Commit)
	if err := m.NM.Rollback(t.Context(), it.Node, it.ID); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("rollback after a commit: %v", err)
	}
	alone(3)

	reinitialize(2, nmclient.CommitAtOnce)
	if err := m.NM.Commit(t.Context(), it.Node, it.ID); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("commit after an automatic commit: %v", err)
	}

	before := rpctest.Processes(t, version(2))
	must("it is restarted", m.NM.Restart)
	wait.Until(t, "another process runs the same command", func() bool {
		after := rpctest.Processes(t, version(2))
		return len(after) == 1 && after[0] != before[0]
	})
	statuses, err := m.NM.Statuses(t.Context(), it.Node, it.ID)
	if err != nil || len(statuses) != 1 || statuses[0].State != records.ContainerRunning {
		t.Errorf("status is %+v, %v", statuses, err)
	}
	if err := m.NM.Stop(t.Context(), it.Node, it.ID); err != nil {
		t.Error(err)
	}
	if s := end(t, m, it.ID); s.ExitStatus != records.ExitKilledByAppMaster {
		t.Errorf("it ended as %+v", s)
	}
}

// TestSignalsReachAContainer would catch a wrong signal.
func TestSignalsReachAContainer(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, report := rpctest.Unmanaged(t, c, rpctest.Client(t, c, rpctest.Me(t)))
	containers := allocate(t, m, 2)
	polite, stubborn := containers[0], containers[1]
	const loop = `%s echo ready 1><LOG_DIR>/stdout; while true; do sleep 0.2; done 2>/dev/null`
	if err := m.NM.StartAll(t.Context(),
		nmclient.Launch{Container: polite, Context: run(fmt.Sprintf(loop, ""))},
		nmclient.Launch{Container: stubborn, Context: run(fmt.Sprintf(loop, `trap 'echo asked 1>><LOG_DIR>/stdout' TERM;`))},
	); err != nil {
		t.Fatal(err)
	}
	logged := func(text string, times int) {
		t.Helper()
		wait.Until(t, fmt.Sprintf("%q is logged %d times", text, times), func() bool {
			return strings.Count(rpctest.Logs(t, c, report.ID, "stdout"), text) == times
		})
	}
	logged("ready", 2)
	if err := m.NM.Signal(t.Context(), stubborn.Node, stubborn.ID, records.SignalGracefulShutdown); err != nil {
		t.Error(err)
	}
	logged("asked", 1)
	if err := m.NM.Signal(t.Context(), polite.Node, polite.ID, records.SignalGracefulShutdown); err != nil {
		t.Error(err)
	}
	if s := end(t, m, polite.ID); s.ExitStatus != records.ExitTerminated {
		t.Errorf("after SIGTERM it ended as %+v", s)
	}
	if err := m.NM.Signal(t.Context(), stubborn.Node, stubborn.ID, records.SignalForcefulShutdown); err != nil {
		t.Error(err)
	}
	if s := end(t, m, stubborn.ID); s.ExitStatus != records.ExitForceKilled {
		t.Errorf("after SIGKILL it ended as %+v", s)
	}
}

// TestContainersOnSeveralNodesAtOnce would catch an error that is assigned to another container of the same call.
func TestContainersOnSeveralNodesAtOnce(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, _ := rpctest.Unmanaged(t, c, rpctest.Client(t, c, rpctest.Me(t)))
	containers := allocate(t, m, 6)
	command := rpctest.Sleep()
	var launches []nmclient.Launch
	hosts := map[string]bool{}
	for _, it := range containers {
		launches = append(launches, nmclient.Launch{Container: it, Context: run("exec " + command)})
		hosts[it.Node.Host] = true
	}
	if len(hosts) < 2 {
		t.Fatalf("all containers are on %v", hosts)
	}
	// If a token was changed, the NodeManager breaks off the whole call.
	forged := launches[2]
	forged.Container.Token = forged.Container.Token.Clone()
	forged.Container.Token.Password[0] ^= 1
	launches[2] = forged
	failed, _ := errors.AsType[nmclient.Failures](m.NM.StartAll(t.Context(), launches...))
	if len(failed) != 1 || !errors.Is(failed.Of(forged.Container.ID), yarnrpc.ErrInvalidToken) || yarnrpc.MaybeSent(failed[0]) {
		t.Errorf("with one forged token: %v", failed)
	}
	wait.Until(t, "the other five run", func() bool { return len(rpctest.Processes(t, command)) == 5 })
	launches[2].Container = containers[2]
	failed, _ = errors.AsType[nmclient.Failures](m.NM.StartAll(t.Context(), launches...))
	if len(failed) != 5 || failed.Of(containers[2].ID) != nil || !errors.Is(failed[0], yarnrpc.ErrYarn) {
		t.Errorf("started again: %v", failed)
	}
	wait.Until(t, "all run", func() bool { return len(rpctest.Processes(t, command)) == 6 })
	statuses, err := m.NM.StatusesAll(t.Context(), containers...)
	if err != nil || len(statuses) != 6 {
		t.Errorf("statuses are %+v, %v", statuses, err)
	}
	if err := m.NM.StopAll(t.Context(), containers...); err != nil {
		t.Error(err)
	}
	wait.Until(t, "none runs", func() bool { return len(rpctest.Processes(t, command)) == 0 })
}
