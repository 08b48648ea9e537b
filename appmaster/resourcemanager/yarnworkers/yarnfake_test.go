package yarnworkers

import (
	"cmp"
	"context"
	"errors"
	"strings"
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
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// application is an unmanaged application on a fake YARN, with the real YARN clients of Bobbin.
type application struct {
	client   *yarnclient.Client
	id       records.ApplicationID
	provider *Provider
}

// submit needs a bubble, and a fake without sockets.
func submit(t *testing.T, fake *yarnfake.Fake) *application {
	t.Helper()
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	toRM, err := yarnclient.FromConf(fake.Conf(), "alice")
	fail(err)
	toRM.RPC.Dial = fake.Dial
	a := &application{client: yarnclient.New(toRM)}
	t.Cleanup(func() { a.client.Close() })
	created, err := a.client.NewApplication(t.Context())
	fail(err)
	a.id = created.ID
	report, err := a.client.Submit(t.Context(), records.SubmissionContext{ID: a.id, Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1}})
	fail(err)
	nodes, err := a.client.ClusterNodes(t.Context())
	fail(err)
	rm, err := amrm.FromConf(fake.Conf())
	fail(err)
	nm, err := nmclient.FromConf(fake.Conf())
	fail(err)
	rm.Attempt, rm.Token, rm.RPC.Dial, nm.RPC.Dial = report.Attempt, report.AMRMToken, fake.Dial, fake.Dial
	rm.Policy = yarnrpc.Policy{} // as in Connect
	master, managers := amrm.New(rm), nmclient.New(nm)
	t.Cleanup(func() {
		if err := errors.Join(master.Close(), managers.Close()); err != nil {
			t.Error(err)
		}
	})
	a.provider, err = New(Config{
		ResourceManager: master, NodeManagers: managers, Attempt: report.Attempt,
		Registration: RegistrationAt("here", 1),
		Launch: func(records.ContainerID, records.NodeID, resourcemanager.WorkerResourceSpec) (records.ContainerLaunchContext, error) {
			return records.ContainerLaunchContext{Commands: []string{"a worker"}}, nil
		},
		Heartbeat: defaultHeartbeat, RequestInterval: defaultRequestInterval,
	}, quiet())
	fail(err)
	a.provider.KnowNodes(t.Context(), nodes)
	return a
}

// start runs the provider alone; stop ends it.
func (a *application) start(t *testing.T) (u *upward, stop func()) {
	t.Helper()
	u = new(upward)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.provider.Run(ctx, u.report) }()
	return u, func() {
		t.Helper()
		cancel(errStopped)
		if err := <-ended; !errors.Is(err, errStopped) {
			t.Errorf("provider ends with %v", err)
		}
	}
}

func startFake(t *testing.T, c yarnfake.Config) *yarnfake.Fake {
	t.Helper()
	c.InMemory, c.Heartbeat = true, cmp.Or(c.Heartbeat, time.Second)
	if c.Run == nil {
		c.Run = func(ctx context.Context, _ yarnfake.Container) records.ExitStatus {
			<-ctx.Done()
			return records.ExitTerminated
		}
	}
	fake, err := yarnfake.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fake.Stop(); err != nil {
			t.Error(err)
		}
	})
	return fake
}

var smallNode = records.Resource{MemoryMB: 2048, VCores: 8}

// A worker ran on the only large node, and the node came back smaller. YARN refused the request for
// another worker, and also refused its cancellation, so that the application could not end.
func TestAnApplicationEndsAfterItsNodeHasShrunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := startFake(t, yarnfake.Config{})
		a := submit(t, fake)
		u, stop := a.start(t)
		defer stop()
		a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(largeSpec, 1)})
		time.Sleep(3 * time.Second)
		if u.count("starting") != 1 {
			t.Fatalf("reported: %q", u.events)
		}
		fake.RestartNode(fake.Nodes()[0], smallNode)
		time.Sleep(defaultHeartbeat)
		a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(largeSpec, 2)})
		time.Sleep(time.Second)
		if u.count("completed") != 1 || u.count("refused: YARN refuses workers of 4096 MB and 4 vcores in queue root.default") != 1 {
			t.Errorf("reported: %q", u.events)
		}

		ended := make(chan error, 1)
		go func() { ended <- a.provider.Deregister(t.Context(), msg.ApplicationFailed, "no room") }()
		time.Sleep(time.Minute)
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the application does not end")
		}
		report, err := a.client.ApplicationReport(t.Context(), a.id)
		if err != nil || report.State != records.ApplicationFinished || report.FinalStatus != records.FinalFailed || report.Diagnostics != "no room" {
			t.Errorf("YARN reports %+v, %v", report, err)
		}
	})
}

// The nodes restart one after the other, first smaller and then in their old size. After the first
// refusal the session never served a job again.
func TestASessionOutlivesARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		node := s.fake.Nodes()[0]
		large := records.Resource{MemoryMB: 8192, VCores: 8}

		s.fake.RestartNode(node, smallNode)
		if told := s.job(t, "j1"); !strings.Contains(told, "YARN refuses workers of 4096 MB") {
			t.Errorf("with small nodes the job is told %q", told)
		}
		s.fake.RestartNode(node, large)
		time.Sleep(defaultHeartbeat) // then YARN reports it
		if told := s.job(t, "j2"); told != "" {
			t.Errorf("with large nodes again the job is told %q", told)
		}
		if status, err := s.manager.Status(t.Context()); err != nil || len(status.TaskExecutors) != 1 {
			t.Errorf("workers are %+v, %v", status, err)
		}
		s.stop()
	})
}

// session is a ResourceManager on a fake YARN, whose workers register and do nothing else.
type session struct {
	fake    *yarnfake.Fake
	manager *resourcemanager.ResourceManager
	stop    func()
}

func newSession(t *testing.T) *session {
	t.Helper()
	s := new(session)
	s.fake = startFake(t, yarnfake.Config{Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
		id := worker(c.ID)
		err := s.manager.Connect(id, discard{}).Receive(ctx, msg.RegisterTaskExecutor{
			ProtocolVersion: jobgraph.ProtocolVersion, Resource: id, Host: c.Node.Host, Slots: make([]msg.SlotStatus, 1),
		})
		if err != nil {
			return 1
		}
		<-ctx.Done()
		return records.ExitTerminated
	}})
	settings := resourcemanager.Configured(config.Config{})
	settings.ResourceManager, settings.IDs = "rm1", "#"
	settings.Worker = resourcemanager.WorkerResourceSpec{MemoryMB: 4096, VCores: 4, Slots: 1}
	var err error
	if s.manager, err = resourcemanager.New(settings, submit(t, s.fake).provider, quiet()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.manager.Run(t.Context()) }()
	s.stop = func() {
		s.manager.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return s
}

// discard is a connection to a worker that ignores messages.
type discard struct{}

func (discard) Send(msg.Message) bool { return true }
func (discard) Close(string)          {}

// told is a JobMaster that records the reason of NotEnoughResources.
type told chan string

func (j told) Send(m msg.Message) bool {
	if m, ok := m.(msg.NotEnoughResources); ok {
		j <- m.Reason
	}
	return true
}

// job needs a slot for a few seconds. It returns the reason if it cannot get one.
func (s *session) job(t *testing.T, id ids.JobID) string {
	t.Helper()
	jobMaster, gateway := ids.JobMasterID("master of "+id), make(told, 1)
	if err := s.manager.RegisterJobMaster(t.Context(), msg.RegisterJobMaster{Job: id, JobMaster: jobMaster}, gateway); err != nil {
		t.Fatal(err)
	}
	if err := s.manager.DeclareRequirements(t.Context(), msg.DeclareRequirements{Job: id, JobMaster: jobMaster, Needs: []msg.SlotNeed{{Slots: 1}}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	if err := s.manager.DisconnectJobMaster(t.Context(), id, jobMaster); err != nil {
		t.Fatal(err)
	}
	select {
	case reason := <-gateway:
		return reason
	default:
		return ""
	}
}

// TestWorkersAvoidBlockedNodes would catch a blocklist of which YARN learns nothing: of its beginning while
// workers are requested already, of its end, or after a restart of the ResourceManager, which forgets it.
func TestWorkersAvoidBlockedNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := startFake(t, yarnfake.Config{Nodes: 2, Heartbeat: -1, Node: records.Resource{MemoryMB: 64 << 10, VCores: 64}})
		a := submit(t, fake)
		u, stop := a.start(t)
		defer stop()
		bad := fake.Nodes()[0].Host
		total := 0
		order := func(more int, avoid ...string) {
			total += more
			a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, total), Avoid: avoid})
			time.Sleep(3 * defaultRequestInterval / 2)
		}
		beat := func() (onBad int) {
			fake.Beat() // YARN gives the containers now, and the provider learns of them a moment later
			time.Sleep(time.Second)
			if n := u.count("starting"); n != total {
				t.Fatalf("YARN has given %d containers of %d: %q", n, total, u.events)
			}
			return u.count("on " + bad)
		}
		order(4)
		order(0, bad) // the requests name both nodes
		if n := beat(); n != 0 {
			t.Errorf("%d workers start on the blocked node, for which they were requested before", n)
		}
		order(4, bad)
		fake.RestartResourceManager()
		time.Sleep(2 * defaultHeartbeat)
		if n := beat(); n != 0 {
			t.Errorf("%d workers start on the blocked node after a restart of the ResourceManager", n)
		}
		order(8)
		if n := beat(); n == 0 {
			t.Error("no worker starts on the node after its block")
		}
	})
}

// A NodeManager that got SIGSTOP accepts connections and calls and never answers. Over Hadoop's
// real protocol, containers whose start may have reached it are stopped, and those that were never
// sent are not.
func TestAFrozenNodeManagerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := startFake(t, yarnfake.Config{Nodes: 2, Heartbeat: -1})
		a := submit(t, fake)
		u, stop := a.start(t)
		const all = 10
		for _, total := range []int{2, all} { // the second time over the connections of the first
			a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, total)})
			time.Sleep(3 * defaultRequestInterval / 2)
			fake.Beat() // YARN gives the containers now, and the provider learns of them a moment later
			if total == all {
				fake.Freeze(fake.Nodes()[0])
			}
			time.Sleep(time.Second)
			if n := u.count("starting"); n != total {
				t.Fatalf("YARN has given %d containers of %d", n, total)
			}
		}
		time.Sleep(startTimeout)
		failed := u.count("failed: ")
		if failed == 0 || failed == all-2 || failed != u.count("the NodeManager has not answered for 20s") {
			t.Errorf("reported: %q", u.events)
		}
		fake.Thaw(fake.Nodes()[0])
		time.Sleep(time.Minute)
		containers, err := a.client.Containers(t.Context(), records.ApplicationAttemptID{Application: a.id, Attempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		if running := len(containers); running != all-failed || u.count("completed") != 0 {
			t.Errorf("%d containers run, of %d of which %d were given up; reported: %q", running, all, failed, u.events)
		}
		stop()
	})
}
