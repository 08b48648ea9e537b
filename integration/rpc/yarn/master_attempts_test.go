package yarn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// leftVariable holds the command of the container that one attempt leaves to the next.
const leftVariable = "BOBBIN_TEST_LEFT"

// The test would catch a registration that loses the containers of earlier attempts, or the tokens of their nodes. The
// second attempt starts nothing, and has no other way to stop the first one's container.
func TestASecondAttemptFindsTheContainersOfTheFirst(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	application, dir := rpctest.InContainer(t, c, "bequeath")
	left := rpctest.Sleep()
	application.Container.Environment[leftVariable] = left
	application.MaxAttempts, application.KeepContainers = 2, true
	report := rpctest.Submit(t, client, application)
	pid, err := strconv.Atoi(rpctest.Told(t, dir, startedAs))
	if err != nil {
		t.Fatal(err)
	}
	awaitHeardOf(t, c, report.ID)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	report = rpctest.Await(t, client, report.ID, "finished", rpctest.Ended)
	if report.FinalStatus != records.FinalSucceeded || report.Attempt.Attempt != 2 {
		t.Errorf("attempt %d ended as %s (%s): %s\n%s", report.Attempt.Attempt, report.State, report.FinalStatus, report.Diagnostics, rpctest.Logs(t, c, report.ID, "std*"))
	}
	if n := len(rpctest.Processes(t, left)); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// awaitHeardOf waits until the ResourceManager knows that an application's second container runs. Only then does it
// keep the container for the next attempt. It reports this only in its log.
func awaitHeardOf(t *testing.T, c *cluster.Cluster, id records.ApplicationID) {
	t.Helper()
	heard := regexp.MustCompile(strings.TrimPrefix(id.String(), "application") + `_01_000002 Container Transitioned from ACQUIRED to RUNNING`)
	wait.For(t, "the ResourceManager has heard of the container", func() (bool, error) {
		log, err := os.ReadFile(filepath.Join(c.LogDir(), "resourcemanager.log"))
		return heard.Match(log), err
	})
}

// bequeath is the master of both attempts. The first one runs a container, tells its own pid, and waits to be killed.
func bequeath(ctx context.Context, m *rpctest.Contained) error {
	if m.Attempt.Attempt > 1 {
		return inherit(ctx, m)
	}
	m.Ask(1)
	if err := m.Until(ctx, "a container is started", os.Getenv(leftVariable), m.Has(1)); err != nil {
		return err
	}
	for id, container := range m.Running {
		if err := m.AwaitRunning(ctx, container); err != nil {
			return fmt.Errorf("%s does not run: %w", id, err)
		}
	}
	if err := m.Tell(startedAs, strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	return m.Until(ctx, "its end", "", func() bool { return false })
}

// inherit is the second attempt: it stops the first one's container.
func inherit(ctx context.Context, m *rpctest.Contained) error {
	if len(m.As.PreviousContainers) != 1 {
		return fmt.Errorf("the registration has the containers %+v, want one", m.As.PreviousContainers)
	}
	container := m.As.PreviousContainers[0]
	if container.ID.Attempt.Attempt != 1 || container.Resource != rpctest.Unit() || m.As.NMTokens[container.Node] == nil {
		return fmt.Errorf("the registration has the container %+v, and tokens of %d nodes", container, len(m.As.NMTokens))
	}
	if err := m.AwaitRunning(ctx, container); err != nil {
		return err
	}
	if err := m.NM.Stop(ctx, container.Node, container.ID); err != nil {
		return err
	}
	// This asks the node and sends no heartbeat, with which the node would forget the container. The ResourceManager
	// may lose its end: the attempts share the list of ends, but each has its own lock for it
	// (RMAppAttemptImpl#pullJustFinishedContainers).
	return wait.Poll(ctx, "it has ended", func() error {
		statuses, err := m.NM.Statuses(ctx, container.Node, container.ID)
		if err != nil {
			return err
		}
		switch status := statuses[0]; {
		case status.State != records.ContainerComplete:
			return fmt.Errorf("it is %s", status.State)
		case status.ExitStatus != records.ExitKilledByAppMaster:
			return fmt.Errorf("%w: it ended as %s: %s", wait.ErrGivenUp, status.ExitStatus, status.Diagnostics)
		}
		return nil
	})
}
