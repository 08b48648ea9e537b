package yarn

import (
	"context"
	"errors"
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
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// left is what runs in the container that one attempt leaves to the next.
const left = "sleep 3217.25"

// It would catch a registration that drops the containers of earlier attempts or the tokens of their nodes: the second
// attempt starts nothing, and has nothing else by which to stop what the first has started.
func TestASecondAttemptFindsTheContainersOfTheFirst(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := newClient(t, c, me(t))
	application, f, dir := stage(t, c, "bequeath")
	application.MaxAttempts, application.KeepContainers = 2, true
	report := submit(t, client, application)
	awaitFile(t, f, dir+"/"+startedAs)
	text, err := f.ReadFile(t.Context(), dir+"/"+startedAs, 100)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	awaitHeardOf(t, c, report.ID)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	report = await(t, client, report.ID, "finished", ended)
	if report.FinalStatus != records.FinalSucceeded || report.Attempt.Attempt != 2 {
		t.Errorf("attempt %d ended as %s (%s): %s\n%s", report.Attempt.Attempt, report.State, report.FinalStatus, report.Diagnostics, containerLogs(t, c, report.ID, "std*"))
	}
	if n := processes(t, left); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// awaitHeardOf waits until the ResourceManager has heard that an application's second container runs. It keeps no other for
// the next attempt, and tells of it nowhere but in its log.
func awaitHeardOf(t *testing.T, c *cluster.Cluster, id records.ApplicationID) {
	t.Helper()
	heard := regexp.MustCompile(strings.TrimPrefix(id.String(), "application") + `_01_000002 Container Transitioned from ACQUIRED to RUNNING`)
	wait.For(t, "the ResourceManager has heard of the container", func() (bool, error) {
		log, err := os.ReadFile(filepath.Join(c.LogDir(), "resourcemanager.log"))
		return heard.Match(log), err
	})
}

// bequeath is the first attempt: it runs a container, tells its own pid, and waits to be killed.
func (m *master) bequeath(ctx context.Context, tell func(pid string) error) error {
	m.ask(1)
	if err := m.until(ctx, left, func() bool { return len(m.running) == 1 }); err != nil {
		return err
	}
	for id, container := range m.running {
		if err := m.awaitRunning(ctx, container); err != nil {
			return fmt.Errorf("%s does not run: %w", id, err)
		}
	}
	if err := tell(strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	return m.until(ctx, "", func() bool { return false })
}

// inherit is the second attempt: it stops the first one's container.
func (m *master) inherit(ctx context.Context) error {
	if len(m.as.PreviousContainers) != 1 {
		return fmt.Errorf("the registration has the containers %+v, want one", m.as.PreviousContainers)
	}
	container := m.as.PreviousContainers[0]
	if container.ID.Attempt.Attempt != 1 || container.Resource != unit || m.as.NMTokens[container.Node] == nil {
		return fmt.Errorf("the registration has the container %+v, and tokens of %d nodes", container, len(m.as.NMTokens))
	}
	m.nm.SetTokens(m.as.NMTokens)
	if err := m.awaitRunning(ctx, container); err != nil {
		return err
	}
	if err := m.nm.Stop(ctx, container.Node, container.ID); err != nil {
		return err
	}
	m.running[container.ID] = container
	if err := m.until(ctx, "", func() bool { return len(m.running) == 0 }); err != nil {
		return err
	}
	if status := m.completed[container.ID]; status.ExitStatus != records.ExitKilledByAppMaster {
		return fmt.Errorf("the container ended as %s: %s", status.ExitStatus, status.Diagnostics)
	}
	return nil
}

// awaitRunning waits until a container's NodeManager says that its process runs.
func (m *master) awaitRunning(ctx context.Context, container records.Container) error {
	var asked error
	err := m.until(ctx, "", func() bool {
		statuses, err := m.nm.Statuses(ctx, container.Node, container.ID)
		asked = err
		return err != nil || statuses[0].SubState == records.ContainerSubRunning || statuses[0].State == records.ContainerComplete
	})
	return errors.Join(err, asked)
}
