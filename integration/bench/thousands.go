package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/fleet"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	thousandsRuns    = 3
	thousandsNodes   = 500
	thousandsWorkers = 2000
	// connectingWorkers is how many workers connect at a time. Otherwise thousands of them would share the processors
	// for so long that the ApplicationMaster takes them for strangers that keep it waiting (package doorstep).
	connectingWorkers = 32
	// nodeMB is the memory of a simulated node: the ApplicationMaster's, or that of the workers that it gets if they
	// are not spread evenly.
	nodeMB = 8 << 10
)

// startThousands measures the start of a job with thousands of workers, on a real ResourceManager and simulated
// NodeManagers.
func startThousands(ctx context.Context, r *rig) (_ table, err error) {
	t := table{
		title: "Two thousand workers on a real ResourceManager",
		text: fmt.Sprintf("`bobbin run -d -t yarn-per-job -p %[1]d` on a real ResourceManager with %[2]d simulated NodeManagers "+
			"(`integration/internal/fleet`), which heartbeat each second. The client and the ApplicationMaster are real processes. "+
			"The ApplicationMaster starts the containers over Hadoop's RPC, and the NodeManagers start the workers as goroutines of the "+
			"benchmark's process: real TaskExecutors, each with its own TLS connection, of which %[3]d connect at a time. All share the same two processors. The times run from the "+
			"start of the command. *Started* ends when the last container is started, *registered* when the last worker has the "+
			"answer to its registration. Java is Hadoop's AMRMClient, which asks for as many containers on the same nodes and starts "+
			"nothing in them; its time begins with its registration, in a process that runs already. The last rows are processor times until then.",
			thousandsWorkers, thousandsNodes, connectingWorkers),
		head: []string{"step", "to reach", "Bobbin", "Java"},
	}
	own, err := cluster.Start(ctx, cluster.Config{
		Version: r.cluster.Version(), NodeManagers: 1, MemoryMB: 512, VCores: 1, Users: []string{user}, // too small for an ApplicationMaster
		YARN: map[string]string{"yarn.scheduler.maximum-allocation-mb": strconv.Itoa(nodeMB), "yarn.scheduler.maximum-allocation-vcores": "8"},
	})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	there, err := newRig(ctx, options{bin: r.bin, runs: r.most}, own)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, there.close()) }()
	h := &thousands{rig: there, connecting: make(chan struct{}, connectingWorkers)}
	nodes, err := h.startNodes(ctx)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, nodes.Stop(context.WithoutCancel(ctx))) }()
	input, err := there.threeLines(ctx)
	if err != nil {
		return t, err
	}
	var all []milestones
	for i := range r.runs(thousandsRuns) {
		m, err := h.measure(ctx, input, i)
		if err != nil {
			return t, err
		}
		all = append(all, m)
	}
	java, err := compileJava(ctx, there, "asks", "Asks")
	if err != nil {
		return t, err
	}
	var asked []time.Duration
	for range r.runs(thousandsRuns) {
		took, err := there.askInJava(ctx, java, nodes.Hosts())
		if err != nil {
			return t, err
		}
		asked = append(asked, took)
	}
	of := func(step func(milestones) time.Duration) string { return spread(pick(all, step), seconds) }
	t.row("ApplicationMaster started", "", of(func(m milestones) time.Duration { return m.master }), "")
	t.row("first container started", "", of(func(m milestones) time.Duration { return m.first }), "")
	t.row("last container started", "", of(func(m milestones) time.Duration { return m.started }), "")
	t.row("all containers granted", "", "", spread(asked, seconds))
	t.row("**last worker registered**", "10 s", of(func(m milestones) time.Duration { return m.registered }), "")
	t.row("processors: ApplicationMaster", "", of(func(m milestones) time.Duration { return m.masterCPU }), "")
	t.row("processors: ResourceManager", "", of(func(m milestones) time.Duration { return m.yarnCPU }), "")
	t.row("processors: NodeManagers and workers", "", of(func(m milestones) time.Duration { return m.ownCPU }), "")
	return t, nil
}

// askInJava returns the time in which Java's client gets the containers.
func (r *rig) askInJava(ctx context.Context, java, hosts []string) (time.Duration, error) {
	app, err := unmanagedApplication(ctx, r)
	if err != nil {
		return 0, err
	}
	last, err := r.lastLine(ctx, slices.Concat(java, []string{app.String(), strconv.Itoa(thousandsWorkers)}, hosts))
	if err != nil {
		return 0, err
	}
	var spent struct{ Seconds float64 }
	err = json.Unmarshal(last, &spent)
	return time.Duration(spent.Seconds * float64(time.Second)), err
}

// thousands is the state of startThousands.
type thousands struct {
	rig        *rig
	connecting chan struct{} // has a token for each connecting worker

	mu         sync.Mutex // guards all below
	masters    int        // that were ever started
	masterPID  int
	master     time.Time
	started    []time.Time
	registered []time.Time
	failures   []string
}

// milestones are times from the start of the command.
type milestones struct {
	master, first, started, registered time.Duration
	masterCPU, yarnCPU, ownCPU         time.Duration // in that time
}

func (h *thousands) startNodes(ctx context.Context) (*fleet.Nodes, error) {
	conf, err := hadoopconf.Load(h.rig.cluster.ConfDir(), hadoopconf.Environment{})
	if err != nil {
		return nil, err
	}
	return fleet.StartNodes(ctx, fleet.NodesConfig{
		Conf: conf, Version: h.rig.cluster.Version(), Count: thousandsNodes,
		Resource: records.Resource{MemoryMB: nodeMB, VCores: 8}, Start: h.run,
	})
}

// run runs a container to its end: a worker, or an ApplicationMaster.
func (h *thousands) run(ctx context.Context, c fleet.Container) records.ExitStatus {
	settings, err := launch.Decode[launch.TaskExecutor](c.Launch.Environment[launch.Variable])
	if err == nil && settings.AMAddress != "" {
		return h.runWorker(ctx, c, settings)
	}
	h.mu.Lock()
	h.masters++
	h.master = time.Now()
	dir := filepath.Join(h.rig.scratch, "masters", strconv.Itoa(h.masters))
	h.mu.Unlock()
	err = fleet.RunMaster(ctx, c, dir, h.rig.program("bobbin"), func(pid int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.masterPID = pid
	})
	if err != nil && ctx.Err() == nil {
		h.fail(fmt.Errorf("ApplicationMaster of %s in %s: %w", c.ID, dir, err))
	}
	return fleet.Exit(err)
}

func (h *thousands) runWorker(ctx context.Context, c fleet.Container, settings launch.TaskExecutor) records.ExitStatus {
	h.mu.Lock()
	h.started = append(h.started, time.Now())
	h.mu.Unlock()
	held, err := creds.Parse(c.Launch.Tokens)
	if err != nil {
		h.fail(err)
		return 1
	}
	credentials, err := pki.ParsePEM(held.Secrets[launch.SecretCredentials])
	if err != nil {
		h.fail(err)
		return 1
	}
	select {
	case h.connecting <- struct{}{}:
	case <-ctx.Done():
		return records.ExitForceKilled
	}
	release := sync.OnceFunc(func() { <-h.connecting })
	defer release()
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.AddHook(registration(func(at time.Time) {
		release()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.registered = append(h.registered, at)
	}))
	err = fleet.Run(ctx, fleet.Worker{Container: ids.ResourceID(c.ID.String()), Launch: settings, Credentials: credentials}, fleet.Waiting(ctx), log)
	return fleet.Exit(err)
}

// registration is called when a worker logs that it is registered.
type registration func(at time.Time)

// Levels implements logrus.Hook.
func (registration) Levels() []logrus.Level { return []logrus.Level{logrus.InfoLevel} }

// Fire implements logrus.Hook.
func (r registration) Fire(e *logrus.Entry) error {
	if e.Message == "registered at resource manager" {
		r(e.Time)
	}
	return nil
}

func (h *thousands) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = append(h.failures, err.Error())
}

// measure starts a job, and ends it when its workers are registered.
func (h *thousands) measure(ctx context.Context, input string, run int) (m milestones, err error) {
	h.mu.Lock()
	h.started, h.registered, h.master = nil, nil, time.Time{}
	h.mu.Unlock()
	yarn, own, err := h.used()
	if err != nil {
		return m, err
	}
	begin := time.Now()
	_, out, err := h.rig.run(ctx, h.rig.program("bobbin"), "run", "-d", "-o", "json", "-t", "yarn-per-job", "-p", strconv.Itoa(thousandsWorkers),
		"-D", "jobmanager.memory.process.size=2g", "-D", "taskmanager.numberOfTaskSlots=1", "-D", "taskmanager.memory.process.size=1g",
		h.rig.program("examples/wordcount-tuned"), "--input", input, "--output", "thousands-"+strconv.Itoa(run))
	if err != nil {
		return m, err
	}
	_, last := cutLastLine(out)
	var told struct{ Application string }
	if err := json.Unmarshal(last, &told); err != nil {
		return m, err
	}
	app, err := records.ParseApplicationID(told.Application)
	if err != nil {
		return m, fmt.Errorf("read the report of bobbin run: %w\n%s", err, out)
	}
	defer func() { err = errors.Join(err, h.rig.end(context.WithoutCancel(ctx), app)) }()
	err = await(ctx, fmt.Sprintf("%d workers to register", thousandsWorkers), func() (bool, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.failures) > 0 {
			return false, errors.New(h.failures[0])
		}
		return len(h.registered) >= thousandsWorkers, nil
	})
	yarnAfter, ownAfter, failed := h.used()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err = errors.Join(err, failed); err != nil {
		return m, fmt.Errorf("%w; %d are started, and %d are registered", err, len(h.started), len(h.registered))
	}
	m = milestones{
		master: h.master.Sub(begin), first: h.started[0].Sub(begin),
		started: h.started[len(h.started)-1].Sub(begin), registered: h.registered[thousandsWorkers-1].Sub(begin),
		yarnCPU: yarnAfter - yarn, ownCPU: ownAfter - own,
	}
	m.masterCPU, err = processCPU(h.masterPID)
	return m, err
}

// used returns the processor time of the ResourceManager and of this process so far.
func (h *thousands) used() (yarn, own time.Duration, err error) {
	pid, alive := h.rig.cluster.Pid("resourcemanager")
	if !alive {
		return 0, 0, errors.New("read processor time of the ResourceManager: it does not run")
	}
	yarn, err = processCPU(pid)
	return yarn, ownCPU(), err
}
