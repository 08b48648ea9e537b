package sim

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// programHash stands for the program that every worker has.
const programHash = "sim"

// worker is a container with its processes: the TaskExecutor and its task hosts.
type worker struct {
	w       *World
	id      ids.ResourceID
	host    string // the node
	master  *master
	process *engine.Process // nil before the start
	killed  bool
	hosts   []*host
	fault   error
	ended   func(how string)
}

// start starts the TaskExecutor.
func (k *worker) start(spec resourcemanager.WorkerResourceSpec) {
	if k.killed {
		return
	}
	k.process = k.w.engine.Start(string(k.id), func(ctx context.Context) {
		k.fault = k.run(ctx, spec)
	}, func() {
		for _, h := range k.hosts { // the NodeManager kills the process group
			h.process.Kill()
		}
		k.w.ended(k.process)
		k.ended(fmt.Sprint("exit: ", k.fault))
	})
}

func (k *worker) run(ctx context.Context, spec resourcemanager.WorkerResourceSpec) error {
	executor, err := taskexecutor.New(taskexecutor.Config{
		Resource: k.id, Node: k.host, Slots: spec.Slots, VCores: spec.VCores,
		Programs: map[string]string{programHash: "sim"},
		IDs:      ids.Source{Reader: reader{k.w.stream(string(k.id))}}.Random(),
		Options:  taskexecutor.OptionsFrom(k.w.config),
	}, taskexecutor.Environment{
		Roles: dialer{k}, Hosts: k,
		Instructions: msg.StartHost{ListenHost: k.host}, Logger: k.w.logger,
	})
	if err != nil {
		return err
	}
	return executor.Run(ctx)
}

// kill ends the container.
func (k *worker) kill() {
	k.killed = true
	if k.process != nil {
		k.process.Kill()
	}
}

// Start implements taskexecutor.HostStarter.
func (k *worker) Start(_ context.Context, spec taskexecutor.HostSpec) (taskexecutor.Host, error) {
	h := &host{w: k.w, worker: k, id: spec.Host}
	k.hosts = append(k.hosts, h)
	h.process = k.w.engine.Start(string(k.id)+" "+string(spec.Host), h.run, func() { //nolint:contextcheck // another process
		k.w.ended(h.process)
		k.w.engine.After(time.Millisecond, k.process, func() { h.exited = true })
	})
	near, far := connect[msg.Message](k.w, "control "+string(spec.Host), k.process, h.process, leastLocal, mostLocal)
	h.near, h.far = channel{near}, channel{far}
	return h, nil
}

// host is the process of a task host.
type host struct {
	w         *World
	worker    *worker
	process   *engine.Process
	id        ids.HostID
	near, far channel
	exited    bool // its parent knows
	fault     error
}

func (h *host) run(ctx context.Context) {
	h.fault = taskhost.Run(ctx, h.far, taskhost.Options{
		Program: program{h}, Stdout: io.Discard,
		Open: func(msg.StartHost) (taskhost.Surroundings, error) {
			return taskhost.Surroundings{Files: h.w.hdfs.open(h.process), CloseFiles: func() error { return nil }, Logger: h.w.logger.WithField("host", h.id)}, nil
		},
		DataPlane: h.w.plane.open(h.process),
	})
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
