package minicluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
)

// programHash stands for the program of this process, which every worker has.
const programHash = "local"

// loopback is the address of the one node.
const loopback = "127.0.0.1"

// provider starts workers as goroutines: see hasRoom.
type provider struct {
	options Options
	mux     *rolerpc.Mux
	orders  chan resourcemanager.Orders // from Order to Run, which may start later; never closed
	ended   chan completion             // from the workers to Run
	workers sync.WaitGroup

	// Only Run uses what follows.
	running map[ids.ResourceID]*Worker // started, and neither ended nor released
	ordered resourcemanager.Orders
	started map[resourcemanager.WorkerResourceSpec]int
	number  int // of the last worker
	// refused are the kinds of which the ResourceManager knows that there is no room for all ordered workers.
	refused map[resourcemanager.WorkerResourceSpec]bool
}

// completion says that a worker has ended. Its goroutines may still run if it was killed.
type completion struct {
	worker ids.ResourceID
	cause  string
}

func newProvider(o Options) *provider {
	return &provider{
		options: o, orders: make(chan resourcemanager.Orders), ended: make(chan completion),
		running: make(map[ids.ResourceID]*Worker),
		started: make(map[resourcemanager.WorkerResourceSpec]int), refused: make(map[resourcemanager.WorkerResourceSpec]bool),
	}
}

// Order hands orders to Run.
func (d *provider) Order(ctx context.Context, orders resourcemanager.Orders) {
	select {
	case d.orders <- orders:
	case <-ctx.Done():
	}
}

// Deregister does nothing: there is no YARN.
func (d *provider) Deregister(context.Context, msg.ApplicationStatus, string) error { return nil }

// Run starts and ends workers as ordered, and ends them all when ctx ends.
func (d *provider) Run(ctx context.Context, report resourcemanager.Report) error {
	defer d.workers.Wait()
	events := []resourcemanager.WorkerEvent{resourcemanager.NodesChanged{Nodes: []string{loopback}}}
	for {
		if len(events) > 0 && report(ctx, events...) != nil {
			return nil // the cluster has ended
		}
		events = nil
		select {
		case d.ordered = <-d.orders:
			for _, r := range d.ordered.Release {
				if w := d.running[r.Worker]; w != nil {
					delete(d.running, r.Worker)
					w.end(nil)
				}
			}
		case e := <-d.ended:
			if d.running[e.worker] != nil { // it was not released
				delete(d.running, e.worker)
				events = append(events, resourcemanager.WorkerCompleted{Worker: e.worker, Cause: e.cause})
			}
		case <-ctx.Done():
			return nil
		}
		for _, order := range d.ordered.Workers {
			for d.started[order.Spec] < order.Total && d.hasRoom(order.Spec) {
				d.started[order.Spec]++
				d.number++
				id := ids.ResourceID("local-" + strconv.Itoa(d.number))
				// A worker may register only after the ResourceManager knows it.
				if report(ctx, append(events, resourcemanager.WorkerStarting{Worker: id, Spec: order.Spec, Host: loopback})...) != nil {
					return nil
				}
				events = nil
				d.running[id] = d.start(ctx, id, order.Spec)
			}
			events = append(events, d.refusal(order)...)
		}
	}
}

// hasRoom tells whether another worker of a kind may start. Options bound only the workers with default slots: a
// job whose slot sharing groups have resources needs a certain number of others.
func (d *provider) hasRoom(spec resourcemanager.WorkerResourceSpec) bool {
	return !spec.Profile.IsDefault() || d.living(spec) < d.options.Workers
}

// living counts the workers of a kind that have not been killed. The ResourceManager may miss a killed worker
// before its end is reported, and order another one.
func (d *provider) living(spec resourcemanager.WorkerResourceSpec) (n int) {
	for _, w := range d.running {
		if w.spec == spec && !w.dying.Load() {
			n++
		}
	}
	return n
}

// refusal tells the ResourceManager when there is no room for the ordered workers of a kind, and when there is
// some again. Otherwise a job would wait for slots that never come, until slot.request.timeout.
func (d *provider) refusal(order resourcemanager.WorkerOrder) []resourcemanager.WorkerEvent {
	switch full := d.started[order.Spec] < order.Total; {
	case full && !d.refused[order.Spec]:
		d.refused[order.Spec] = true
		return []resourcemanager.WorkerEvent{resourcemanager.WorkersRefused{Spec: order.Spec, Reason: fmt.Sprintf(
			"a local run has %d TaskExecutors (%s) with %d slots each (%s): raise one of these options, or lower the parallelism",
			d.options.Workers, config.LocalTaskManagers.Name(), d.options.Slots, config.TaskSlots.Name())}}
	case !full && d.refused[order.Spec]:
		delete(d.refused, order.Spec)
		return []resourcemanager.WorkerEvent{resourcemanager.RefusalEnded{Spec: order.Spec}, resourcemanager.OrdersTaken{Spec: order.Spec}}
	}
	return nil
}

// start starts a worker. It reports its end to Run.
func (d *provider) start(ctx context.Context, id ids.ResourceID, spec resourcemanager.WorkerResourceSpec) *Worker {
	living, end := context.WithCancelCause(ctx)
	w := &Worker{spec: spec, end: end, roles: rolerpc.NewLocal(d.mux, rolerpc.LocalConfig{
		Dialer:   rolerpc.Peer{Identity: pki.Identity{Role: pki.RoleTaskExecutor, Resource: id}},
		Listener: rolerpc.Peer{Identity: pki.Identity{Role: pki.RoleApplicationMaster}},
		Logger:   d.options.Logger,
	})}
	server := exchange.ServerConfig{Host: ids.PartitionHost(id), ListenHost: loopback, Logger: d.options.Logger}
	hosts := Hosts{
		Process: Process{Program: d.options.Program, FileSystem: d.options.FileSystem},
		Stdout:  d.options.Stdout, Logger: d.options.Logger,
	}
	if d.options.Process != nil {
		w.wires = new(wires)
		hosts.Process, hosts.DataPlane, server.Listen = d.options.Process(w), w.wires.dataPlane, w.wires.listen
	}
	ended := func(err error) {
		c := completion{id, "ended"}
		if err != nil {
			c.cause = err.Error()
		}
		select {
		case d.ended <- c:
		case <-ctx.Done():
		}
	}
	d.workers.Go(func() {
		<-living.Done()
		if w.Killed() { // its goroutines may live longer
			ended(ErrKilled)
		}
	})
	d.workers.Go(func() {
		err := errors.Join(d.execute(living, id, spec, w.roles, hosts, server), w.roles.Close())
		end(nil)
		ended(err)
	})
	return w
}

// execute runs a TaskExecutor.
func (d *provider) execute(ctx context.Context, id ids.ResourceID, spec resourcemanager.WorkerResourceSpec, roles *rolerpc.Local, hosts Hosts, server exchange.ServerConfig) error {
	copies := filepath.Join(os.TempDir(), "bobbin-"+ids.Random())
	defer os.RemoveAll(copies) // the executor has removed what it has copied
	partitions, err := taskexecutor.OpenPartitions(ctx, []string{filepath.Join(copies, "partitions")}, server)
	if err != nil {
		return err
	}
	defer partitions.Close() // the folder goes anyway
	executor, err := taskexecutor.New(taskexecutor.Config{
		Resource: id, Node: loopback, Slots: spec.Slots, VCores: spec.VCores, External: spec.External, Profile: spec.Profile,
		Programs: map[string]string{programHash: ""},
		Options:  taskexecutor.OptionsFrom(d.options.Config),
	}, taskexecutor.Environment{
		Roles: taskexecutor.OneMaster{Roles: roles}, Hosts: hosts, Instructions: msg.StartHost{ListenHost: loopback}, Logger: d.options.Logger,
		Partitions: partitions,
		Artifacts: taskexecutor.DiskArtifacts{
			Open: func() (taskexecutor.Files, error) { return shared{hosts.Process.FileSystem}, nil },
			Dirs: []string{copies}, InPlace: true,
		},
	})
	if err != nil {
		return err
	}
	return executor.Run(ctx)
}

// shared is the file system of the cluster's caller, who closes it.
type shared struct{ filesystem.FileSystem }

// Close does nothing.
func (shared) Close() error { return nil }
