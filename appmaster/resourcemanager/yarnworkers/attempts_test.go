package yarnworkers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// attempts is an application on a fake YARN that keeps containers: its masters run a ResourceManager with a Provider, and its
// workers register at the one that leads.
type attempts struct {
	t    *testing.T
	fake *yarnfake.Fake

	mu      sync.Mutex // guards what follows
	leader  *resourcemanager.ResourceManager
	epoch   int
	began   []records.ContainerID // containers of workers that were started
	alive   map[records.ContainerID]bool
	workers int // that the last master had at its end
}

// run is what runs in a container.
func (a *attempts) run(ctx context.Context, c yarnfake.Container) records.ExitStatus {
	if !c.Master {
		return a.work(ctx, c)
	}
	if err := a.master(ctx, c); err != nil {
		if !errors.Is(err, errPlanned) {
			a.t.Error(err)
		}
		return 1
	}
	return 0
}

var errPlanned = errors.New("the first master fails as planned")

// work is a worker, which registers at each new leader.
func (a *attempts) work(ctx context.Context, c yarnfake.Container) records.ExitStatus {
	a.mu.Lock()
	a.began = append(a.began, c.ID)
	a.alive[c.ID] = true
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.alive, c.ID)
	}()
	id, known := worker(c.ID), 0
	for ctx.Err() == nil {
		a.mu.Lock()
		leader, epoch := a.leader, a.epoch
		a.mu.Unlock()
		if leader != nil && epoch > known {
			known = epoch
			_ = leader.Connect(id, discard{}).Receive(ctx, msg.RegisterTaskExecutor{ // the leader may just end
				ProtocolVersion: jobgraph.ProtocolVersion, Resource: id, Host: c.Node.Host, Slots: make([]msg.SlotStatus, 1),
				Memory: testSpec.Memory, VCores: testSpec.VCores,
			})
		}
		time.Sleep(100 * time.Millisecond)
	}
	return records.ExitTerminated
}

// master is an attempt. The first one starts two workers and fails. The second one takes them over, lets one after the other
// go when they are idle, and ends the application.
func (a *attempts) master(ctx context.Context, c yarnfake.Container) error {
	rm, err := amrm.FromConf(a.fake.Conf())
	if err != nil {
		return err
	}
	nm, err := nmclient.FromConf(a.fake.Conf())
	if err != nil {
		return err
	}
	rm.Attempt, rm.Token, rm.RPC.Dial, nm.RPC.Dial = c.ID.Attempt, c.Credentials.ByKind(creds.KindAMRM), a.fake.Dial, a.fake.Dial
	rm.Policy = yarnrpc.Policy{} // as in Connect
	toRM, toNM := amrm.New(rm), nmclient.New(nm)
	defer func() {
		if err := errors.Join(toRM.Close(), toNM.Close()); err != nil {
			a.t.Error(err)
		}
	}()
	provider, err := New(Config{
		ResourceManager: toRM, NodeManagers: toNM, Attempt: c.ID.Attempt, KeepPrevious: true,
		Registration: RegistrationAt("here", 1),
		Launch: func(records.ContainerID, records.NodeID, resourcemanager.WorkerResourceSpec) (records.ContainerLaunchContext, error) {
			return records.ContainerLaunchContext{Commands: []string{"a worker"}}, nil
		},
		Heartbeat: defaultHeartbeat, RequestInterval: defaultRequestInterval,
	}, quiet())
	if err != nil {
		return err
	}
	epoch := int(c.ID.Attempt.Attempt)
	settings := resourcemanager.Configured(config.Config{})
	settings.ResourceManager, settings.IDs = ids.NewResourceManagerID(ids.Epoch(epoch), "rm"), "#"
	settings.Worker, settings.Standby = testSpec, true
	if epoch == 1 {
		settings.Floor.Slots = 2
	}
	manager, err := resourcemanager.New(settings, provider, quiet())
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Run(ctx) }()
	defer func() {
		manager.Stop()
		if err := <-ended; err != nil {
			a.t.Error(err)
		}
	}()
	time.Sleep(time.Second) // it finds out that it leads
	if err := manager.Lead(ctx); err != nil {
		return err
	}
	a.mu.Lock()
	a.leader, a.epoch = manager, epoch
	a.mu.Unlock()
	time.Sleep(10 * time.Second)
	status, err := manager.Status(ctx)
	if err != nil {
		return err
	}
	if len(status.TaskExecutors) != 2 || status.Previous+status.Requested+status.Starting != 0 {
		return fmt.Errorf("attempt %d has %+v", epoch, status)
	}
	if epoch == 1 {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.leader = nil
		return errPlanned
	}
	time.Sleep(settings.IdleTimeout)
	a.mu.Lock()
	a.workers = len(a.alive)
	a.mu.Unlock()
	return manager.Shutdown(ctx, msg.ApplicationSucceeded, "")
}

// TestWorkersOutliveTheirMaster runs two attempts over Hadoop's real protocol. It would catch a worker that ends with its
// master, or that the next one replaces although it returns, and a container of the first attempt that the second one cannot
// stop, because it has no token for its node.
func TestWorkersOutliveTheirMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &attempts{t: t, alive: make(map[records.ContainerID]bool)}
		a.fake = startFake(t, yarnfake.Config{Nodes: 2, Run: a.run})
		options, err := yarnclient.FromConf(a.fake.Conf(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		options.RPC.Dial = a.fake.Dial
		client := yarnclient.New(options)
		defer client.Close()
		created, err := client.NewApplication(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Submit(t.Context(), records.SubmissionContext{
			ID: created.ID, KeepContainers: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
			Container: records.ContainerLaunchContext{Commands: []string{"a master"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		report, err := client.ApplicationReport(t.Context(), created.ID)
		if err != nil || report.FinalStatus != records.FinalSucceeded || report.Attempt.Attempt != 2 {
			t.Errorf("YARN reports %+v, %v", report, err)
		}
		if len(a.began) != 2 || slices.ContainsFunc(a.began, func(id records.ContainerID) bool { return id.Attempt.Attempt != 1 }) {
			t.Errorf("these workers were started: %v", a.began)
		}
		if a.workers != 0 || len(a.alive) != 0 {
			t.Errorf("%d idle workers run before the end, and %d after it", a.workers, len(a.alive))
		}
	})
}
