package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/yarnworkers"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// patience bounds each wait, far above any normal time here.
const patience = 3 * time.Minute

// startWorkers measures the time in which the ResourceManager's worker provider gets workers.
func startWorkers(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Workers",
		text: "The times run from the order to Bobbin's worker provider, which gets workers from YARN. *Granted* ends when YARN has granted the " +
			"last container. *Running* ends when the process of the last worker connects to the worker provider's process. The workers are " +
			"shells with 128 MB and one core, so this measures only requests for containers and their starts. The time " +
			"between the two is the work of the NodeManagers. For each container a NodeManager starts four shells by VFORK, " +
			"as Java 8 does; later JDKs start one more process before each shell. Hadoop's native library does not come from " +
			"Maven. Without this library a NodeManager would start almost twenty more processes to set permissions, but the " +
			"NodeManagers of this cluster use the JDK for that.",
		head: []string{"workers", "to reach", "granted", "running"},
	}
	metrics, err := r.cluster.RM().Metrics(ctx)
	if err != nil {
		return t, err
	}
	m, err := newMaster(ctx, r)
	if err != nil {
		return t, err
	}
	for _, n := range []struct {
		workers, runs int
		goal          string
	}{{1, 15, "0.6 s"}, {10, 9, "1.2 s"}, {50, 5, "3 s"}} {
		if n.workers > metrics.TotalVCores {
			t.row(fmt.Sprint(n.workers), n.goal, "", fmt.Sprintf("no room on %d vcores", metrics.TotalVCores))
			continue
		}
		var granted, running []time.Duration
		for range r.runs(n.runs) {
			took, err := m.startAndRelease(ctx, n.workers)
			if err != nil {
				return t, errors.Join(err, m.close(ctx))
			}
			granted, running = append(granted, took.granted), append(running, took.running)
		}
		t.row(fmt.Sprint(n.workers), n.goal, spread(granted, millis), spread(running, millis))
	}
	return t, m.close(ctx)
}

// master is an ApplicationMaster in this process, which YARN calls unmanaged. It consists only of
// the worker provider.
type master struct {
	rig      *rig
	id       records.ApplicationID
	clients  *yarnworkers.Clients
	provider *yarnworkers.Provider
	workers  *workers
	ordered  int // number of workers in all

	stop  context.CancelCauseFunc
	ended chan error // receives the result of the provider's Run; has room for it
}

var errStopped = errors.New("benchmark has ended")

func newMaster(ctx context.Context, r *rig) (_ *master, err error) {
	m := &master{rig: r, ended: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close(ctx))
		}
	}()
	report, err := m.submit(ctx)
	if err != nil {
		return nil, err
	}
	held := creds.Credentials{Tokens: map[string]*creds.Token{"": report.AMRMToken}}
	if m.clients, err = yarnworkers.Connect(r.client.Conf, report.Attempt, &held, nil, quiet()); err != nil {
		return nil, err
	}
	nodes, err := r.client.YARN.ClusterNodes(ctx, records.NodeRunning)
	if err != nil {
		return nil, err
	}
	if m.workers, err = listen(ctx); err != nil {
		return nil, err
	}
	m.provider, err = yarnworkers.New(yarnworkers.Config{
		ResourceManager: m.clients.ResourceManager,
		NodeManagers:    m.clients.NodeManagers,
		Registration:    yarnworkers.RegistrationAt("localhost", 1),
		Attempt:         report.Attempt,
		Launch:          m.workers.launch,
		Heartbeat:       config.Config{}.Duration(config.YarnHeartbeatInterval),
		RequestInterval: config.Config{}.Duration(config.YarnContainerRequestInterval),
	}, quiet())
	if err != nil {
		return nil, err
	}
	m.provider.KnowNodes(ctx, nodes)
	running, stop := context.WithCancelCause(ctx)
	m.stop = stop
	go func() { m.ended <- m.provider.Run(running, m.workers.take) }() // until stop
	return m, nil
}

// submit makes the application, and waits until YARN has a token for its ApplicationMaster.
func (m *master) submit(ctx context.Context) (report records.ApplicationReport, err error) {
	yarn := m.rig.client.YARN
	created, err := yarn.NewApplication(ctx)
	if err != nil {
		return report, err
	}
	m.id = created.ID
	report, err = yarn.Submit(ctx, records.SubmissionContext{
		ID: m.id, Name: "bench", Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
	})
	if err != nil {
		return report, err
	}
	err = await(ctx, "a token of the application", func() (bool, error) {
		report, err = yarn.ApplicationReport(ctx, m.id)
		return report.AMRMToken != nil, err
	})
	return report, err
}

// startTimes holds the times of the last one of some workers, from their order.
type startTimes struct{ granted, running time.Duration }

// startAndRelease orders n workers, waits until all run, and releases them.
func (m *master) startAndRelease(ctx context.Context, n int) (took startTimes, err error) {
	if err := outOfStep(ctx); err != nil {
		return took, err
	}
	start := time.Now()
	m.order(ctx, n, nil)
	if err := m.workers.await(ctx, n); err != nil {
		return took, err
	}
	took.running = time.Since(start)
	started, last := m.workers.started()
	took.granted = last.Sub(start)
	m.order(ctx, 0, started)
	if err := m.workers.await(ctx, 0); err != nil {
		return took, err
	}
	return took, await(ctx, "YARN to count no container", func() (bool, error) {
		app, err := m.rig.cluster.RM().App(ctx, m.id.String())
		return app.RunningContainers <= 0, err // -1 for none
	})
}

func (m *master) order(ctx context.Context, more int, release []resourcemanager.Release) {
	m.ordered += more
	small := resourcemanager.WorkerResourceSpec{MemoryMB: 128, VCores: 1, Slots: 1}
	m.provider.Order(ctx, resourcemanager.Orders{
		Workers: []resourcemanager.WorkerOrder{{Spec: small, Total: m.ordered}}, Release: release,
	})
}

// close ends the application.
func (m *master) close(ctx context.Context) error {
	var faults []error
	if m.stop != nil {
		faults = append(faults, m.provider.Deregister(ctx, msg.ApplicationSucceeded, ""))
		m.stop(errStopped)
		if err := <-m.ended; !errors.Is(err, errStopped) {
			faults = append(faults, err)
		}
	} else if m.id != (records.ApplicationID{}) {
		faults = append(faults, m.rig.client.YARN.Kill(ctx, m.id, "the benchmark has failed"))
	}
	if m.workers != nil {
		faults = append(faults, m.workers.close())
	}
	if m.clients != nil {
		faults = append(faults, m.clients.Close())
	}
	return errors.Join(faults...)
}

// workers is the processes in containers. Each holds a connection to this process as long as it
// lives.
type workers struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	running  int
	granted  []ids.ResourceID
	last     time.Time // time at which the last one was granted
	failures []string
}

func listen(ctx context.Context) (*workers, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &workers{listener: listener}
	w.serving.Go(w.accept)
	return w, nil
}

func (w *workers) accept() {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return // closed
		}
		w.serving.Go(func() {
			defer conn.Close()
			w.count(+1)
			_, _ = conn.Read(make([]byte, 1)) // blocks while the worker lives
			w.count(-1)
		})
	}
}

func (w *workers) count(change int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running += change
}

// launch returns a worker: a shell that connects and waits.
func (w *workers) launch(records.ContainerID, records.NodeID, resourcemanager.WorkerResourceSpec) (records.ContainerLaunchContext, error) {
	port := w.listener.Addr().(*net.TCPAddr).Port
	return records.ContainerLaunchContext{Commands: []string{
		fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; exec sleep infinity", port),
	}}, nil
}

// take is the provider's Report.
func (w *workers) take(_ context.Context, events ...resourcemanager.WorkerEvent) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, event := range events {
		switch e := event.(type) {
		case resourcemanager.WorkerStarting:
			w.granted, w.last = append(w.granted, e.Worker), time.Now()
		case resourcemanager.NodesChanged, resourcemanager.OrdersTaken: // they add and remove no worker
		default:
			w.failures = append(w.failures, fmt.Sprintf("%T %+v", e, e))
		}
	}
	return nil
}

// started returns the started workers once, so that they can be released, and the time at which
// YARN granted the last of them.
func (w *workers) started() (list []resourcemanager.Release, last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.granted {
		list = append(list, resourcemanager.Release{Worker: id, Cause: "measured"})
	}
	w.granted = nil
	return list, w.last
}

// await waits until n workers run.
func (w *workers) await(ctx context.Context, n int) error {
	return await(ctx, fmt.Sprintf("%d workers to run", n), func() (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.failures) > 0 {
			return false, fmt.Errorf("driver reports %s", w.failures[0])
		}
		return w.running == n, nil
	})
}

// close waits for the ends of the workers, after their application has ended.
func (w *workers) close() error {
	err := w.listener.Close()
	w.serving.Wait()
	return err
}

// await waits for a condition.
func await(ctx context.Context, what string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("waited %v in vain for %s", patience, what))
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		if done, err := is(); done || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
