package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// programHash stands for the program of all jobs.
const programHash = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"

// worker is a TaskExecutor with its task hosts, in a container of its own or in its master's (beside.go).
type worker struct {
	w         *World
	id        ids.ResourceID
	container records.ContainerID
	node      *node
	process   *engine.Process
	master    *master // of the attempt that has started it
	slots     int
	profile   msg.ResourceProfile // of the slots
	memory    memory.Worker
	resource  records.Resource // of the container
	hosts     []*host
	copies    *copies
	disks     *disks
	uber      bool // it is in the container of its master
	exit      records.ExitStatus
	fault     error
}

func (k *worker) kill() { k.process.Kill() }

// silence keeps the ends of the worker's processes from their peers.
func (k *worker) silence() {
	k.w.silent[k.process] = true
	for _, h := range k.hosts {
		k.w.silent[h.process] = true
	}
}

// eachLink does something to all streams of the worker.
func (k *worker) eachLink(do func(link)) {
	for _, l := range k.w.links[k.process] {
		do(l)
	}
}

// startWorker starts a TaskExecutor in a container of a node.
func (w *World) startWorker(n *node, c books.Container, l records.ContainerLaunchContext, exited func(records.ExitStatus, string)) *worker {
	k := &worker{w: w, node: n, container: c.ID, resource: c.Resource, id: ids.ResourceID(c.ID.String())}
	k.start(l.Environment, l.Tokens, func(ctx context.Context) context.Context { return ctx }, func() {
		k.killHosts() // the NodeManager kills the process group
		exited(k.exit, fmt.Sprint(k.fault))
	})
	return k
}

// start starts the process of the worker, under a context that the caller may bound. ended is called at its end.
func (k *worker) start(environment map[string]string, tokens []byte, bound func(context.Context) context.Context, ended func()) {
	k.exit, k.copies, k.disks = records.ExitForceKilled, &copies{k: k, files: make(map[string]string)}, newDisks(k)
	k.w.containers = append(k.w.containers, k)
	k.w.facts[Workers]++
	k.process = k.w.engine.Start(string(k.id), func(ctx context.Context) {
		if k.fault = k.run(bound(ctx), environment, tokens); k.fault == nil {
			k.exit = records.ExitSuccess
		} else {
			k.exit = 1
		}
	}, func() {
		clear(k.copies.files) // the NodeManager removes the container's folders
		k.disks.end()
		k.w.ended(k.process)
		ended()
	})
}

// spec is what the worker's first master has ordered.
func (k *worker) spec() resourcemanager.WorkerResourceSpec {
	return resourcemanager.WorkerResourceSpec{MemoryMB: k.memory.ContainerMB(), VCores: k.resource.VCores, Slots: k.slots, Profile: k.profile}
}

func (k *worker) killHosts() {
	for _, h := range k.hosts {
		h.process.Kill()
	}
}

func (k *worker) run(ctx context.Context, environment map[string]string, tokens []byte) error {
	description, err := launch.Decode[launch.TaskExecutor](environment[launch.Variable])
	if err != nil {
		return err
	}
	k.master = k.w.masterAt(description.AMAddress)
	k.slots, k.profile, k.memory = description.Memory.Slots, description.Profile, description.Memory
	var leader ha.Retrieval
	var giveUp time.Duration
	if dir := description.HighAvailability; dir != "" {
		leader, giveUp = ha.NewRetrieval(k.w.hdfs.openAs(k.process, login{tokens: k.copies.tokens.Load}), dir), masterExpiry+time.Minute
	}
	executor, err := taskexecutor.New(taskexecutor.Config{
		GiveUp: giveUp, Seed: k.w.stream("looks of " + string(k.id)).Uint64(),
		Address:  description.AMAddress,
		Resource: k.id, Node: k.node.nm.ID().Host, Slots: description.Memory.Slots, Memory: description.Memory, VCores: description.VCores, Profile: description.Profile,
		Programs: map[string]string{programHash: "program"}, // also in a session: no process of the simulation has a disk
		Tokens:   tokens,
		Options:  taskexecutor.OptionsFrom(k.w.config),
	}, taskexecutor.Environment{
		Roles: dialer{k}, Hosts: k, Leader: leader,
		Instructions: msg.StartHost{ListenHost: k.node.nm.ID().Host}, Logger: k.w.logger,
		Artifacts: k.copies, UpdateTokens: k.copies.tokens.Update, Partitions: k.disks,
	})
	if err != nil {
		return err
	}
	return executor.Run(ctx)
}

// Start implements taskexecutor.HostStarter.
func (k *worker) Start(_ context.Context, spec taskexecutor.HostSpec) (taskexecutor.Host, error) {
	if k.w.engine.Now().Before(k.node.broken) {
		k.w.facts[NoHosts]++
		if k.master.failedAt(k.node) {
			k.w.excuse(k.container.Attempt.Application, "its task hosts do not start on two nodes")
		}
		return nil, fmt.Errorf("start host %s: %w", spec.Host, syscall.ENOSPC)
	}
	h := &host{w: k.w, worker: k, id: spec.Host, tasks: make(map[ids.ExecutionAttemptID]func() error)}
	k.hosts = append(k.hosts, h)
	k.w.facts[Hosts]++
	h.process = k.w.engine.Start(string(k.id)+" "+string(spec.Host), h.run, func() { //nolint:contextcheck // another process
		k.w.ended(h.process)
		k.w.engine.After(time.Millisecond, k.process, func() { h.exited = true })
	})
	near, far := connect[msg.Message](k.w, "control "+string(spec.Host), k.process, h.process, leastLocal, mostLocal)
	h.near, h.far = channel{near}, channel{far}
	return h, nil
}

// hostNamed returns the task host with a process of this name; nil: there is none.
func (w *World) hostNamed(name string) *host {
	for _, k := range w.containers {
		for _, h := range k.hosts {
			if h.process.Name == name {
				return h
			}
		}
	}
	return nil
}

// workerOf returns the worker whose process this is, or whose task host; nil: there is none.
func (w *World) workerOf(p *engine.Process) *worker {
	for _, k := range w.containers {
		if k.process == p || slices.ContainsFunc(k.hosts, func(h *host) bool { return h.process == p }) {
			return k
		}
	}
	return nil
}

// host is the process of a task host.
type host struct {
	w         *World
	worker    *worker
	process   *engine.Process
	id        ids.HostID
	near, far channel
	tasks     map[ids.ExecutionAttemptID]func() error // that run: why they are cancelled
	exited    bool                                    // its parent knows
	fault     error
}

func (h *host) run(ctx context.Context) {
	h.fault = taskhost.Run(ctx, h.far, taskhost.Options{
		Program: program{h}, Stdout: io.Discard,
		Open: func(start msg.StartHost) (taskhost.Surroundings, error) {
			var tokens dfs.Tokens
			if err := tokens.Update(start.Tokens); err != nil {
				return taskhost.Surroundings{}, err
			}
			return taskhost.Surroundings{
				Files: h.w.hdfs.openAs(h.process, login{tokens: tokens.Load}), CloseFiles: func() error { return nil },
				UpdateTokens: tokens.Update, Logger: h.w.logger.WithField("host", h.id),
			}, nil
		},
		DataPlane: h.w.plane.open(h.process, h.worker.disks),
	})
	if errors.Is(h.fault, taskhost.ErrTaskStuck) {
		h.w.facts[Stuck]++
	}
}

// stuck reports whether a cancelled task still runs.
func (h *host) stuck() bool {
	for _, cause := range h.tasks {
		if cause() != nil {
			return true
		}
	}
	return false
}

// Control implements taskexecutor.Host.
func (h *host) Control() control.Channel { return h.near }

// PID implements taskexecutor.Host: the simulation samples no memory.
func (h *host) PID() int { return 0 }

// Kill implements taskexecutor.Host.
func (h *host) Kill() { h.w.engine.After(0, nil, h.process.Kill) }

// Wait implements taskexecutor.Host.
func (h *host) Wait() taskexecutor.Exit {
	h.worker.process.Wait(func() bool { return h.exited })
	return taskexecutor.Exit{How: fmt.Sprint("exit: ", h.fault)}
}
