package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() logrus.FieldLogger {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.DebugLevel) // so that all log lines are made
	return logger
}

// fakeProvider starts workers w1, w2, … at once and records its calls.
type fakeProvider struct {
	fail   chan error // ends Run
	report chan Report

	mu      sync.Mutex // guards what follows
	journal []string
	orders  int
	started int
}

func newFakeProvider() *fakeProvider {
	return &fakeProvider{fail: make(chan error, 1), report: make(chan Report, 1)}
}

func (d *fakeProvider) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.journal = append(d.journal, fmt.Sprintf(format, args...))
}

func (d *fakeProvider) lines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.journal)
}

func (d *fakeProvider) Run(ctx context.Context, report Report) error {
	d.report <- report
	select {
	case err := <-d.fail:
		return err
	case <-ctx.Done():
		d.write("end")
		return context.Cause(ctx)
	}
}

func (d *fakeProvider) Order(ctx context.Context, o Orders) {
	report := <-d.report
	d.report <- report
	d.mu.Lock()
	d.orders++
	d.mu.Unlock()
	for _, r := range o.Release {
		d.write("release %s", r.Worker)
	}
	for _, id := range o.Check {
		d.write("check %s", id)
	}
	for ; d.started < o.Workers[0].Total; d.started++ {
		id := ids.ResourceID(fmt.Sprintf("w%d", d.started+1))
		d.write("start %s", id)
		if err := report(ctx, WorkerStarting{Worker: id, Spec: o.Workers[0].Spec, Host: "h"}); err != nil {
			d.write("report: %v", err)
		}
	}
}

func (d *fakeProvider) Deregister(_ context.Context, status msg.ApplicationStatus, diagnostics string) error {
	d.write("deregister %s %s", status, diagnostics)
	return errDeregister
}

var errDeregister = errors.New("deregistration failed")

// mailbox is a gateway whose messages a test reads.
type mailbox chan msg.Message

func (m mailbox) Send(message msg.Message) bool { m <- message; return true }
func (m mailbox) Close(string)                  { close(m) }

// next gives the next message, and ends the test when none comes.
func next(t *testing.T, from <-chan msg.Message) msg.Message {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(time.Hour): // of the test's own clock
		t.Fatal("no message comes")
		return nil
	}
}

func registration(id ids.ResourceID) msg.RegisterTaskExecutor {
	return msg.RegisterTaskExecutor{
		ProtocolVersion: jobgraph.ProtocolVersion, Resource: id, Host: "h",
		Slots: []msg.SlotStatus{{Index: 0}, {Index: 1}},
	}
}

// start runs a ResourceManager in the test's bubble; end gives Run's error.
func start(ctx context.Context, t *testing.T, provider WorkerProvider) (r *ResourceManager, end func() error) {
	t.Helper()
	return startLogging(ctx, t, provider, quiet())
}

func startLogging(ctx context.Context, t *testing.T, provider WorkerProvider, logger logrus.FieldLogger) (r *ResourceManager, end func() error) {
	t.Helper()
	r, err := New(testConfig(), provider, logger)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return r, func() error { return <-ended }
}

func declare(ctx context.Context, t *testing.T, r *ResourceManager, jobMaster mailbox, slots int) {
	t.Helper()
	if err := r.RegisterJobMaster(ctx, msg.RegisterJobMaster{Job: "j1", JobMaster: "m1"}, jobMaster); err != nil {
		t.Fatal(err)
	}
	if err := r.DeclareRequirements(ctx, msg.DeclareRequirements{Job: "j1", JobMaster: "m1", Needs: []msg.SlotNeed{{Slots: slots}}}); err != nil {
		t.Fatal(err)
	}
}

// The loop passes a job's requirements to the provider, the worker's registration to the core, and
// the grant back. Only time reveals a worker that is frozen.
func TestLoopServesAJobAndFindsAFrozenWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := newFakeProvider()
		r, end := start(t.Context(), t, provider)
		jobMaster, worker := make(mailbox, 10), make(mailbox, 10)
		declare(t.Context(), t, r, jobMaster, 1)
		synctest.Wait()
		connection := r.Connect("w1", worker)
		if err := connection.Receive(t.Context(), registration("w1")); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if m, ok := next(t, worker).(msg.TaskExecutorRegistered); !ok || m.ResourceManager != "rm1" {
			t.Errorf("answer to the registration is %+v", m)
		}
		if m, ok := next(t, worker).(msg.RequestSlots); !ok || m.JobMaster != "m1" {
			t.Errorf("grant is %+v", m)
		}
		for range 4 {
			if m, ok := next(t, worker).(msg.Heartbeat); !ok {
				t.Errorf("instead of a heartbeat came %+v", m)
			}
		}
		if m, ok := next(t, worker).(msg.ReleaseTaskExecutor); !ok {
			t.Errorf("a frozen worker got %+v", m)
		}
		if waited := time.Since(began); waited != 50*time.Second {
			t.Errorf("worker was given up after %v", waited)
		}
		if m, ok := next(t, jobMaster).(msg.JobMasterRegistered); !ok {
			t.Errorf("JobMaster got %+v", m)
		}
		if m, ok := next(t, jobMaster).(msg.TaskExecutorTerminated); !ok || m.Resource != "w1" {
			t.Errorf("JobMaster got %+v", m)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"start w1", "release w1", "start w2"}, provider.lines()); diff != "" {
			t.Errorf("provider was told (-want +got):\n%s", diff)
		}
		r.Stop()
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// The first worker gets tokens that came before everything else, and gets them before its slot
// requests.
func TestLoopPassesTokensOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, end := start(t.Context(), t, newFakeProvider())
		if err := r.UpdateTokens(t.Context(), msg.Secret("second")); err != nil {
			t.Fatal(err)
		}
		declare(t.Context(), t, r, make(mailbox, 10), 1)
		synctest.Wait()
		worker := make(mailbox, 10)
		if err := r.Connect("w1", worker).Receive(t.Context(), registration("w1")); err != nil {
			t.Fatal(err)
		}
		if m, ok := next(t, worker).(msg.TaskExecutorRegistered); !ok {
			t.Errorf("answer to the registration is %+v", m)
		}
		if m, ok := next(t, worker).(msg.UpdateTokens); !ok || string(m.Tokens) != "second" {
			t.Errorf("after it came %+v", m)
		}
		if m, ok := next(t, worker).(msg.RequestSlots); !ok {
			t.Errorf("grant is %+v", m)
		}
		r.Stop()
		if err := end(); err != nil {
			t.Error(err)
		}
		if err := r.UpdateTokens(t.Context(), msg.Secret("third")); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Workers are released before the application is deregistered, and every caller gets the answer of
// the provider.
func TestShutdownReleasesWorkersThenDeregisters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := newFakeProvider()
		r, end := start(t.Context(), t, provider)
		declare(t.Context(), t, r, make(mailbox, 10), 3)
		synctest.Wait()
		for range 2 {
			if err := r.Shutdown(t.Context(), msg.ApplicationFailed, "why"); !errors.Is(err, errDeregister) {
				t.Errorf("shutdown gives %v", err)
			}
		}
		r.Stop()
		if err := end(); err != nil {
			t.Error(err)
		}
		want := []string{"start w1", "start w2", "release w1", "release w2", "deregister FAILED why", "end"}
		if diff := cmp.Diff(want, provider.lines()); diff != "" {
			t.Errorf("provider was told (-want +got):\n%s", diff)
		}
		if err := r.Shutdown(t.Context(), msg.ApplicationFailed, "why"); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("shutdown after the end gives %v", err)
		}
	})
}

// A process that ends must not change anything outside: the next attempt may need its workers.
func TestStopTouchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := newFakeProvider()
		r, end := start(t.Context(), t, provider)
		declare(t.Context(), t, r, make(mailbox, 10), 1)
		synctest.Wait()
		r.Stop()
		r.Stop()
		if err := end(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"start w1", "end"}, provider.lines()); diff != "" {
			t.Errorf("provider was told (-want +got):\n%s", diff)
		}
	})
}

func TestRunEndsWithTheProvidersError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := newFakeProvider()
		_, end := start(t.Context(), t, provider)
		fatal := errors.New("attempt is gone")
		provider.fail <- fatal
		if err := end(); !errors.Is(err, fatal) {
			t.Errorf("run ends with %v", err)
		}
	})
}

// A provider that hangs must not block the role, and the log must say that the role waits for it.
func TestRunEndsWhenTheProviderTakesNoOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := hangingProvider{newFakeProvider()}
		logger, told := logtest.NewNullLogger()
		r, end := startLogging(t.Context(), t, provider, logger)
		began := time.Now()
		declare(t.Context(), t, r, make(mailbox, 10), 1)
		time.Sleep(slowTime)
		synctest.Wait()
		last := told.LastEntry()
		if err, _ := last.Data[logrus.ErrorKey].(error); !errors.Is(err, errProviderHangs) {
			t.Errorf("after %v the log says %q last: %v", slowTime, last.Message, err)
		}
		if err := end(); !errors.Is(err, errProviderHangs) || time.Since(began) != HangTime {
			t.Errorf("run ends after %v with %v", time.Since(began), err)
		}
	})
}

type hangingProvider struct{ *fakeProvider }

func (hangingProvider) Order(ctx context.Context, _ Orders) { <-ctx.Done() }

// A switch fails, and thousands of connections are lost before the provider has accepted the first
// order. This is no hang. The provider must check each worker, and gets only the last total.
func TestABurstOfLossesWaitsForABusyProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, more = 3000, 100
		provider := busyProvider{newFakeProvider(), make(chan struct{}, 1)}
		r, end := start(t.Context(), t, provider)
		jobMaster := make(mailbox, 1+more)
		declare(t.Context(), t, r, jobMaster, 2*workers)
		synctest.Wait()
		connections := make([]*actor.Connection, workers)
		for i := range connections {
			id := ids.ResourceID(fmt.Sprintf("w%d", i+1))
			connections[i] = r.Connect(id, discard{})
			if err := connections[i].Receive(t.Context(), registration(id)); err != nil {
				t.Fatal(err)
			}
		}

		provider.turn <- struct{}{}
		for _, c := range connections {
			if err := c.Closed(t.Context(), "the switch has failed"); err != nil {
				t.Fatal(err)
			}
		}
		for i := range more {
			declare(t.Context(), t, r, jobMaster, 2*(workers+1+i))
		}
		synctest.Wait()
		<-provider.turn
		synctest.Wait()

		var want []string
		for i := range workers {
			want = append(want, fmt.Sprintf("start w%d", i+1))
		}
		for i := range workers {
			want = append(want, fmt.Sprintf("check w%d", i+1))
		}
		for i := range more {
			want = append(want, fmt.Sprintf("start w%d", workers+i+1))
		}
		if diff := cmp.Diff(want, provider.lines()); diff != "" {
			t.Errorf("provider was told (-want +got):\n%s", diff)
		}
		if provider.orders != 1+workers+1 {
			t.Errorf("it got %d orders", provider.orders)
		}
		r.Stop()
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// busyProvider accepts no orders while its turn is taken.
type busyProvider struct {
	*fakeProvider
	turn chan struct{} // with room for one
}

func (d busyProvider) Order(ctx context.Context, o Orders) {
	select {
	case d.turn <- struct{}{}:
		d.fakeProvider.Order(ctx, o)
		<-d.turn
	case <-ctx.Done():
	}
}

// discard is a gateway that drops all messages.
type discard struct{}

func (discard) Send(msg.Message) bool { return true }
func (discard) Close(string)          {}

// workerEnd is a TaskExecutor's end of a stream.
type workerEnd struct {
	messages chan msg.Message
	closed   chan error
}

func (w workerEnd) Hears() msg.Kinds                         { return msg.ResourceManagerToTaskExecutor }
func (w workerEnd) Receive(_ context.Context, m msg.Message) { w.messages <- m }
func (w workerEnd) Closed(_ context.Context, cause error)    { w.closed <- cause }

// Over rolerpc's streams, with encoding: a worker that registers gets the token. Messages with
// another token, or from another worker, are ignored.
func TestStreamsAreFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := newFakeProvider()
		r, end := start(t.Context(), t, provider)
		declare(t.Context(), t, r, make(mailbox, 10), 1)
		synctest.Wait()

		mux := new(rolerpc.Mux)
		mux.Handle(Target, r.Accept)
		local := rolerpc.NewLocal(mux, rolerpc.LocalConfig{
			Dialer: rolerpc.Peer{Identity: pki.Identity{Application: "a", Role: pki.RoleTaskExecutor, Resource: "w1"}},
			Logger: quiet(), Encode: true,
		})
		worker := workerEnd{make(chan msg.Message, 10), make(chan error, 1)}
		stream, err := local.Open(t.Context(), Target, worker)
		if err != nil {
			t.Fatal(err)
		}
		stream.Send(registration("w2"))
		if m, ok := next(t, worker.messages).(msg.RegistrationRejected); !ok {
			t.Errorf("a worker that claims to be another got %+v", m)
		}
		stream.Send(registration("w1"))
		registered, ok := next(t, worker.messages).(msg.TaskExecutorRegistered)
		if !ok {
			t.Fatalf("registration is answered by %+v", registered)
		}
		grant, ok := next(t, worker.messages).(msg.RequestSlots)
		if !ok {
			t.Fatalf("after the registration came %+v", grant)
		}

		stream.SetToken("another")
		stream.Send(msg.SlotsFreed{Slots: grant.Slots})
		synctest.Wait()
		if status, err := r.Status(t.Context()); err != nil || len(status.TaskExecutors) != 1 || status.TaskExecutors[0].SlotsFree != 1 {
			t.Errorf("after a stale message the status is %+v, error %v", status, err)
		}

		stream.SetToken(string(registered.ResourceManager))
		stream.Close("leaving")
		<-worker.closed
		time.Sleep(time.Minute) // YARN does not report its end, so the ResourceManager gives it up by its deadline
		synctest.Wait()
		if status, err := r.Status(t.Context()); err != nil || len(status.TaskExecutors) != 0 {
			t.Errorf("after the worker left the status is %+v, error %v", status, err)
		}
		if err := local.Close(); err != nil {
			t.Error(err)
		}
		r.Stop()
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

func TestConfigReportsAllFaultsAtOnce(t *testing.T) {
	_, err := New(Config{HeartbeatInterval: time.Minute, HeartbeatTimeout: time.Second}, newFakeProvider(), quiet())
	if err == nil {
		t.Fatal("an empty Config is taken")
	}
	for _, want := range []string{"fencing token", "taskmanager.numberOfTaskSlots", "heartbeat.timeout"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
	if _, err := New(testConfig(), newFakeProvider(), quiet()); err != nil {
		t.Error(err)
	}
}
