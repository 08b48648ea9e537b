package minicluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// programHash stands for the program of this process, which every worker has.
const programHash = "local"

// loopback is the address of the one node.
const loopback = "127.0.0.1"

// provider starts workers as goroutines.
type provider struct {
	options Options
	mux     *rolerpc.Mux
	orders  chan resourcemanager.Orders // from Order to Run, which may start later; never closed
	workers sync.WaitGroup
}

func newProvider(o Options) *provider {
	return &provider{options: o, orders: make(chan resourcemanager.Orders)}
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
	if err := report(ctx, resourcemanager.NodesChanged{Nodes: []string{loopback}}); err != nil {
		return nil
	}
	started := 0
	release := make(map[ids.ResourceID]context.CancelFunc)
	for {
		var orders resourcemanager.Orders
		select {
		case orders = <-d.orders:
		case <-ctx.Done():
			return nil
		}
		for _, r := range orders.Release {
			if end, running := release[r.Worker]; running {
				end()
				delete(release, r.Worker)
			}
		}
		for ; started < orders.Total; started++ {
			id := ids.ResourceID("local-" + strconv.Itoa(started+1))
			if err := report(ctx, resourcemanager.WorkerStarting{Worker: id, Host: loopback}); err != nil {
				return nil
			}
			running, end := context.WithCancel(ctx)
			release[id] = end
			d.workers.Go(func() {
				defer end()
				cause := "ended"
				if err := d.worker(running, id, orders.Spec); err != nil {
					cause = err.Error()
				}
				if running.Err() == nil {
					_ = report(ctx, resourcemanager.WorkerCompleted{Worker: id, Cause: cause}) // an error means that the cluster has ended
				}
			})
		}
	}
}

// worker is the life of one TaskExecutor.
func (d *provider) worker(ctx context.Context, id ids.ResourceID, spec resourcemanager.WorkerResourceSpec) error {
	roles := rolerpc.NewLocal(d.mux, rolerpc.LocalConfig{
		Dialer:   rolerpc.Peer{Identity: pki.Identity{Role: pki.RoleTaskExecutor, Resource: id}},
		Listener: rolerpc.Peer{Identity: pki.Identity{Role: pki.RoleApplicationMaster}},
		Logger:   d.options.Logger,
	})
	executor, err := taskexecutor.New(taskexecutor.Config{
		Resource: id, Node: loopback, Slots: spec.Slots, VCores: spec.VCores,
		Programs: map[string]string{programHash: ""},
		IDs:      ids.Random(), Options: taskexecutor.OptionsFrom(d.options.Config),
	}, taskexecutor.Environment{
		Roles: roles, Hosts: hosts{d.options}, Instructions: msg.StartHost{ListenHost: loopback}, Logger: d.options.Logger,
	})
	if err != nil {
		return errors.Join(err, roles.Close())
	}
	return errors.Join(executor.Run(ctx), roles.Close())
}

// hosts starts task hosts as goroutines.
type hosts struct{ options Options }

// Start starts a task host.
func (h hosts) Start(ctx context.Context, spec taskexecutor.HostSpec) (taskexecutor.Host, error) {
	near, far := net.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := &host{conn: near, cancel: cancel, ended: make(chan error, 1)}
	go func() { // ends with its control connection, or by Kill
		started.ended <- taskhost.Run(ctx, control.New(far, msg.TaskExecutorToHost), taskhost.Options{
			Program: h.options.Program,
			Open: func(msg.StartHost) (taskhost.Surroundings, error) {
				return taskhost.Surroundings{
					Files: h.options.FileSystem, CloseFiles: func() error { return nil }, // the caller of the cluster closes them
					Logger: h.options.Logger.WithField("host", spec.Host),
				}, nil
			},
			Stdout: h.options.Stdout,
		})
	}()
	return started, nil
}

// host is a task host in this process.
type host struct {
	conn   net.Conn
	cancel context.CancelFunc
	ended  chan error
}

func (h *host) Control() control.Channel { return taskexecutor.Controlling(h.conn) }
func (h *host) PID() int                 { return 0 }
func (h *host) Kill()                    { h.cancel() }

// Wait waits for the host's goroutines.
func (h *host) Wait() taskexecutor.Exit {
	err := <-h.ended
	h.cancel()
	if err == nil {
		return taskexecutor.Exit{How: "ended"}
	}
	return taskexecutor.Exit{How: fmt.Sprint(err)}
}
