package yarnworkers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() logrus.FieldLogger {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.DebugLevel) // so that all log lines are made
	return logger
}

// fakeYARN gives containers at the next heartbeat of a NodeManager, one second after the request,
// and knows how containers end.
type fakeYARN struct {
	mu         sync.Mutex // guards all
	began      time.Time
	registerAs error
	awayFor    time.Duration // from the start
	allocateAs error
	asked      int
	askedAt    time.Time
	size       records.Resource
	hosts      []string // where containers are given, by turns
	dead       []string // hosts that accept calls and never answer
	lastID     int
	allocates  []time.Duration // since the start
	completed  []records.ContainerStatus
	tokens     int
	running    map[records.ContainerID]bool
	ended      map[records.ContainerID]records.ExitStatus
	starts     map[records.NodeID]int      // under way
	maxStarts  int                         // at one node
	maxAtOnce  int                         // at all
	stops      map[records.ContainerID]int // tried
	stoppedOn  map[string]int              // done, by host
	startTime  time.Duration
	startAs    error
	finished   string
	clientKey  []byte // the key from the registration
	queue      string // its queue
}

func newFakeYARN() *fakeYARN {
	return &fakeYARN{
		began: time.Now(), hosts: []string{"h1"},
		running: make(map[records.ContainerID]bool), ended: make(map[records.ContainerID]records.ExitStatus),
		starts: make(map[records.NodeID]int), stops: make(map[records.ContainerID]int), stoppedOn: make(map[string]int),
	}
}

func (y *fakeYARN) Register(context.Context, amrm.RegisterRequest) (amrm.Registration, error) {
	if time.Since(y.began) < y.awayFor {
		return amrm.Registration{}, fmt.Errorf("register: %w", syscall.ECONNREFUSED)
	}
	return amrm.Registration{
		Queue: "root.default", Maximum: records.Resource{MemoryMB: 8192, VCores: 8}, ClientToAMKey: []byte("for clients"),
	}, y.registerAs
}

func (y *fakeYARN) keep(key []byte) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.clientKey = key
}

func (y *fakeYARN) SetAsk(ask amrm.Ask) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.asked, y.askedAt, y.size = ask.Count, time.Now(), ask.Capability
}

func (y *fakeYARN) SetSchedulingRequest(r amrm.SchedulingRequest) {
	y.SetAsk(amrm.Ask{Key: r.Key, Capability: r.Capability, Count: r.Count})
}

func (y *fakeYARN) Blacklist(_, _ []string) {}

func (y *fakeYARN) Release(ids ...records.ContainerID) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, id := range ids {
		delete(y.running, id)
		y.completed = append(y.completed, records.ContainerStatus{ID: id, State: records.ContainerComplete, ExitStatus: records.ExitAborted})
	}
}

func (y *fakeYARN) Allocate(ctx context.Context, _ float32) (amrm.Response, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.allocates = append(y.allocates, time.Since(y.began))
	r := amrm.Response{Completed: y.completed}
	y.completed = nil
	if time.Since(y.askedAt) >= time.Second {
		for ; y.asked > 0; y.asked-- {
			on := nodeID(y.hosts[y.lastID%len(y.hosts)])
			y.lastID++
			r.Allocated = append(r.Allocated, records.Container{ID: containerID(y.lastID), Node: on, Resource: y.size, Priority: 1})
		}
	}
	if len(r.Allocated) > 0 {
		r.NMTokens = map[records.NodeID]*creds.Token{nodeID("h1"): {}}
	}
	return r, errors.Join(y.allocateAs, ctx.Err())
}

func (y *fakeYARN) Finish(_ context.Context, status records.FinalApplicationStatus, diagnostics, url string) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.finished = fmt.Sprintf("%s %s %s", status, diagnostics, url)
	return nil
}

func (y *fakeYARN) SetTokens(tokens map[records.NodeID]*creds.Token) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.tokens += len(tokens)
}

func (y *fakeYARN) Start(ctx context.Context, k records.Container, launch records.ContainerLaunchContext) error {
	y.mu.Lock()
	y.starts[k.Node]++
	y.maxStarts = max(y.maxStarts, y.starts[k.Node])
	y.maxAtOnce = max(y.maxAtOnce, sum(y.starts))
	y.mu.Unlock()
	err := y.answer(ctx, k.Node)
	if err == nil {
		select {
		case <-time.After(y.startTime):
		case <-ctx.Done():
		}
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.starts[k.Node]--
	if err != nil {
		return err
	}
	if y.startAs != nil {
		return y.startAs
	}
	if y.tokens == 0 || launch.Commands[0] != k.ID.String() {
		return errors.New("started without token, or by another's launch context")
	}
	y.running[k.ID] = true
	return ctx.Err()
}

func sum(counts map[records.NodeID]int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}

// answer waits for the answer of a node. A dead node never answers.
func (y *fakeYARN) answer(ctx context.Context, on records.NodeID) error {
	y.mu.Lock()
	dead := slices.Contains(y.dead, on.Host)
	y.mu.Unlock()
	if !dead {
		return nil
	}
	if ctx.Err() != nil {
		return &yarnrpc.CallError{Address: on.String(), Err: context.Cause(ctx)}
	}
	<-ctx.Done()
	return &yarnrpc.CallError{Address: on.String(), MaybeSent: true, Err: context.Cause(ctx)}
}

func (y *fakeYARN) Stop(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	y.mu.Lock()
	y.stops[id]++
	y.mu.Unlock()
	if err := y.answer(ctx, on); err != nil {
		return err
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	delete(y.running, id)
	y.stoppedOn[on.Host]++
	return nil
}

func (y *fakeYARN) stopped(host string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.stoppedOn[host]
}

func (y *fakeYARN) Statuses(ctx context.Context, on records.NodeID, ids ...records.ContainerID) ([]records.ContainerStatus, error) {
	if err := y.answer(ctx, on); err != nil {
		return nil, err
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if status, ended := y.ended[ids[0]]; ended {
		return []records.ContainerStatus{{ID: ids[0], State: records.ContainerComplete, ExitStatus: status}}, nil
	}
	return []records.ContainerStatus{{ID: ids[0], State: records.ContainerRunning}}, nil
}

func (y *fakeYARN) beats() []time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Clone(y.allocates)
}

func (y *fakeYARN) runningCount() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return len(y.running)
}

// upward collects what the provider reports.
type upward struct {
	mu     sync.Mutex // guards what follows
	events []string
	calls  int
	busy   chan struct{} // accepts no reports until it is closed; nil: accepts all
}

func (u *upward) report(ctx context.Context, events ...resourcemanager.WorkerEvent) error {
	u.mu.Lock()
	busy := u.busy
	u.mu.Unlock()
	if busy != nil {
		select {
		case <-busy:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls++
	for _, e := range events {
		u.events = append(u.events, describeReport(e))
	}
	return nil
}

func (u *upward) count(word string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for _, e := range u.events {
		if strings.Contains(e, word) {
			n++
		}
	}
	return n
}

// run runs a Provider on the fake; stop ends it and gives Run's error.
func run(t *testing.T, y *fakeYARN) (d *Provider, u *upward, stop func() error) {
	t.Helper()
	return runConfirming(t, y, nil)
}

func runConfirming(t *testing.T, y *fakeYARN, confirm func(context.Context) error) (d *Provider, u *upward, stop func() error) {
	t.Helper()
	d, err := New(Config{
		Confirm: confirm, ResourceManager: y, NodeManagers: y, Attempt: testAttempt, History: "http://history:8082",
		Launch: func(id records.ContainerID, _ records.NodeID, _ resourcemanager.WorkerResourceSpec) (records.ContainerLaunchContext, error) {
			return records.ContainerLaunchContext{Commands: []string{id.String()}}, nil
		},
		ClientToAMKey: y.keep, Registered: func(queue string) { y.queue = queue },
		Heartbeat: defaultHeartbeat, RequestInterval: defaultRequestInterval,
		Metrics: metrics.NewRegistry(time.Now), MetricsScope: metrics.Scope{Level: metrics.JobManager},
	}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	d.KnowNodes(t.Context(), testNodes())
	u = new(upward)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, u.report) }()
	return d, u, func() error {
		cancel(errStopped)
		return <-ended
	}
}

var errStopped = errors.New("stopped by the test")

// A container that YARN has after a second must run at most 100 ms later, and heartbeats must be
// rare before and after. This is the whole advantage over a heartbeat thread that sleeps.
func TestWorkersStartAsSoonAsYARNHasThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		y.startTime = 10 * time.Millisecond
		y.hosts = []string{"h1", "h2", "h3", "h4"}
		d, u, stop := run(t, y)
		time.Sleep(7 * time.Second) // between two slow heartbeats
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 40)})
		time.Sleep(1100*time.Millisecond + 5*y.startTime)
		synctest.Wait()
		if n := y.runningCount(); n != 40 || u.count("starting") != 40 {
			t.Errorf("%d workers run, %d are reported", n, u.count("starting"))
		}
		if y.maxStarts != callsPerNode {
			t.Errorf("%d starts at once at a node instead of %d", y.maxStarts, callsPerNode)
		}
		if beats := y.beats(); beats[0] != 5*time.Second || beats[1] != 7*time.Second {
			t.Errorf("allocates at %v", beats)
		}
		before := len(y.beats())
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(y.beats()) - before; n != 12 {
			t.Errorf("%d heartbeats in a quiet minute", n)
		}
		if err := stop(); !errors.Is(err, errStopped) {
			t.Errorf("run ends with %v", err)
		}
		if y.finished != "" || y.runningCount() != 40 {
			t.Errorf("a provider that is stopped touched something: %q, %d workers run", y.finished, y.runningCount())
		}
	})
}

// When the silence of a worker is reported, the node is asked for its container. So the end of the
// container is known within a fraction of a second, long before the next heartbeat.
func TestEndOfASilentWorkerIsFoundOutByItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		d, u, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 1)})
		time.Sleep(2 * time.Second)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 1), Check: []ids.ResourceID{worker(containerID(1))}})
		time.Sleep(250 * time.Millisecond)
		y.mu.Lock()
		y.ended[containerID(1)] = records.ExitForceKilled
		y.mu.Unlock()
		time.Sleep(150 * time.Millisecond)
		synctest.Wait()
		if u.count("completed: container ended: the process was killed") != 1 {
			t.Errorf("reported: %q", u.events)
		}
		stop()
	})
}

// The end waits for stops, but only while YARN's confirmation of the attempt holds. Otherwise a
// node that does not answer would keep the application for minutes.
func TestAnEndWaitsForADeadNodeOnlySoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		d, _, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 40)})
		time.Sleep(2 * time.Second)
		y.mu.Lock()
		y.dead = []string{"h1"}
		y.mu.Unlock()
		var release []resourcemanager.Release
		for id := 1; id <= 40; id++ {
			release = append(release, resourcemanager.Release{Worker: worker(containerID(id))})
		}
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 40), Release: release})
		began := time.Now()
		if err := d.Deregister(t.Context(), msg.ApplicationFailed, "why"); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited != 2*defaultHeartbeat {
			t.Errorf("deregistered after %v", waited)
		}
		stop()
	})
}

func TestDeregisterStopsReleasedWorkersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		d, _, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 2)})
		time.Sleep(2 * time.Second)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 2), Release: []resourcemanager.Release{
			{Worker: worker(containerID(1))}, {Worker: worker(containerID(2))},
		}})
		began := time.Now()
		long := strings.Repeat("ä", maxDiagnostics)
		if err := d.Deregister(t.Context(), msg.ApplicationCanceled, long); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("deregistration took %v of waiting", waited)
		}
		if y.runningCount() != 0 {
			t.Errorf("%d workers run", y.runningCount())
		}
		if !strings.HasPrefix(y.finished, "KILLED ää") || !strings.HasSuffix(y.finished, "ä … (cut) http://history:8082") || len(y.finished) > maxDiagnostics+40 {
			t.Errorf("finished with %d bytes, %.20q…", len(y.finished), y.finished)
		}
		stop()
	})
}

func TestRunEndsWhenTheAttemptIsGone(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*fakeYARN)
	}{
		{"at the registration", func(y *fakeYARN) { y.registerAs = amrm.ErrAttemptGone }},
		{"at a heartbeat", func(y *fakeYARN) { y.allocateAs = fmt.Errorf("allocate: %w", amrm.ErrAttemptGone) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := newFakeYARN()
				test.spoil(y)
				_, _, stop := run(t, y)
				time.Sleep(10 * time.Second)
				if err := stop(); !errors.Is(err, amrm.ErrAttemptGone) {
					t.Errorf("run ends with %v", err)
				}
			})
		})
	}
}

// Without repetition, a ResourceManager that restarts while an ApplicationMaster starts would end
// the application.
func TestRegistrationWaitsForYARN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		y.awayFor = time.Minute
		d, u, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 1)})
		time.Sleep(y.awayFor)
		if n := u.count("starting"); n != 0 {
			t.Errorf("%d workers start while YARN is away", n)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if u.count("starting") != 1 {
			t.Errorf("reported: %q", u.events)
		}
		if err := stop(); !errors.Is(err, errStopped) {
			t.Errorf("run ends with %v", err)
		}
		impatient := newFakeYARN()
		impatient.awayFor = time.Hour
		_, _, stop = run(t, impatient)
		time.Sleep(time.Minute)
		if err := stop(); !errors.Is(err, errStopped) {
			t.Errorf("run without YARN ends with %v", err)
		}
	})
}

// Without the key only the owner could connect. Without the queue, an application that cannot ask YARN does not know its own.
func TestTheKeyForClientsIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		y.awayFor = time.Second
		_, _, stop := run(t, y)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if string(y.clientKey) != "for clients" {
			t.Errorf("got key %q", y.clientKey)
		}
		if y.queue != "root.default" {
			t.Errorf("got queue %q", y.queue)
		}
		if err := stop(); !errors.Is(err, errStopped) {
			t.Errorf("run ends with %v", err)
		}
	})
}

func TestFailedStartIsReportedAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		y.startAs = errors.New("no space left")
		d, u, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 1)})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if u.count("failed: no space left") != 1 || u.count("completed") != 0 {
			t.Errorf("reported: %q", u.events)
		}
		stop()
		want := "Yarn.containersAllocated=1 Yarn.containersReleased=1 Yarn.containersStarted=0 " +
			"Yarn.containerStartsFailed no_answer=0 Yarn.containerStartsFailed token_refused=0 Yarn.containerStartsFailed refused=1 Yarn.containerStartsFailed not_asked=0 " +
			"Yarn.containersCompleted aborted=1"
		if got := counted(t, d, "Yarn.container"); got != want {
			t.Errorf("counted %s\nwant %s", got, want)
		}
		if y.lastID != 1 || y.asked != 0 {
			t.Errorf("%d workers were given, and %d asked for again without an order", y.lastID, y.asked)
		}
	})
}

// counted lists the metrics with a prefix, without histograms. Each must be in the table of metrics.
func counted(t *testing.T, d *Provider, prefix string) string {
	t.Helper()
	samples, err := d.config.Metrics.Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range samples {
		if row, known := metrics.Lookup(s.Scope.Level, s.Name); !known || row.Kind != s.Kind || row.Group != s.Group.Name {
			t.Errorf("%s, a %s, is in the table as %+v", s.Name, s.Kind, row)
		}
		if strings.HasPrefix(s.Name, prefix) && s.Summary == nil {
			all = append(all, strings.TrimSpace(s.Name+" "+s.Group.Value)+fmt.Sprintf("=%v", s.Value))
		}
	}
	return strings.Join(all, " ")
}

// TestFailedStartsHaveACause would catch a cause that is none of the table's, and a refusal that looks like a silent node.
func TestFailedStartsHaveACause(t *testing.T) {
	t.Parallel()
	call := func(err error) error {
		return &yarnrpc.CallError{Address: "n1:8041", Method: "startContainers", Err: err}
	}
	for want, errs := range map[startFailure][]error{
		noAnswer:     {call(yarnrpc.ErrTimeout), fmt.Errorf("start: %w", errNoAnswer)},
		tokenRefused: {nmclient.ErrNoToken, nmclient.ErrTokenExpired, call(yarnrpc.ErrInvalidToken)},
		refused:      {&yarnrpc.RemoteError{Class: "org.apache.hadoop.yarn.exceptions.YarnException"}, nmclient.ErrNotTold},
		notAsked:     {undescribed{errors.New("no certificate")}},
	} {
		for _, err := range errs {
			if got := startFailureOf(fmt.Errorf("start c1: %w", err)); got != want {
				t.Errorf("%v: %s, want %s", err, got, want)
			}
		}
	}
}

// It would catch a container that is counted as started or ended twice, one whose end has another cause, and a failed
// heartbeat that counts as a fast answer.
func TestMetricsOfContainersAndHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newFakeYARN()
		d, _, stop := run(t, y)
		d.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(testSpec, 4)})
		time.Sleep(2 * time.Second)
		y.mu.Lock()
		for n, status := range []records.ExitStatus{records.ExitPreempted, records.ExitForceKilled, 3} {
			y.completed = append(y.completed, records.ContainerStatus{ID: containerID(n + 1), State: records.ContainerComplete, ExitStatus: status})
		}
		y.mu.Unlock()
		time.Sleep(10 * time.Second)
		answered := len(y.beats())
		y.mu.Lock()
		y.allocateAs = errors.New("no answer")
		y.mu.Unlock()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		failed := len(y.beats()) - answered
		want := "Yarn.containersAllocated=4 Yarn.containersReleased=0 Yarn.containersStarted=4 " +
			"Yarn.containerStartsFailed no_answer=0 Yarn.containerStartsFailed token_refused=0 Yarn.containerStartsFailed refused=0 Yarn.containerStartsFailed not_asked=0 " +
			"Yarn.containersCompleted preempted=1 Yarn.containersCompleted sigkill=1 Yarn.containersCompleted exit_code=1"
		if got := counted(t, d, "Yarn.container"); got != want {
			t.Errorf("counted %s\nwant %s", got, want)
		}
		if got, want := counted(t, d, "Yarn.allocateFailures"), fmt.Sprintf("Yarn.allocateFailures=%d", failed); got != want || failed == 0 {
			t.Errorf("counted %s, want %s", got, want)
		}
		if waits := d.counts.waited.Summary(); waits.Count != 4 || waits.Max <= 0 || waits.Max > 2000 {
			t.Errorf("four containers have waited %+v ms", waits)
		}
		if latencies := d.counts.latency.Summary().Count; latencies != int64(answered) {
			t.Errorf("%d latencies of %d answers", latencies, answered)
		}
		stop()
	})
}

func TestConfigReportsAllFaultsAtOnce(t *testing.T) {
	_, err := New(Config{RequestInterval: time.Minute, Heartbeat: time.Second}, quiet())
	if err == nil || !strings.Contains(err.Error(), "clients") || !strings.Contains(err.Error(), "yarn.heartbeat.interval, 1 s") {
		t.Errorf("an empty Config gives %v", err)
	}
}
