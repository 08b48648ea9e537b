package uber

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestMain also runs as the processes of process_test.go.
func TestMain(m *testing.M) {
	if role := os.Getenv(behaviour); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}

// diary is the outside of a Provider: machine, ResourceManager and other provider. It writes down what they see.
type diary struct {
	mu      sync.Mutex // guards others, lines and workers
	others  []string   // what the other provider sees
	lines   []string   // what the machine and the ResourceManager see
	workers map[ids.ResourceID]*fakeWorker

	refuses error // of Start
	report  resourcemanager.Report
	fail    chan error // ends the other provider
}

func newDiary() *diary {
	return &diary{workers: make(map[ids.ResourceID]*fakeWorker), fail: make(chan error, 1)}
}

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// since returns what was written since the last call, when nothing more happens, first of the other provider.
func (d *diary) since() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := slices.Concat(d.others, d.lines)
	d.others, d.lines = nil, nil
	return lines
}

func (d *diary) worker(id ids.ResourceID) *fakeWorker {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.workers[id]
}

// Start implements Machine.
func (d *diary) Start(_ context.Context, id ids.ResourceID, l launch.WorkerProcess) (Worker, error) {
	d.write("start %s with %s", id, l.Credentials)
	if d.refuses != nil {
		return nil, d.refuses
	}
	w := &fakeWorker{diary: d, id: id, ends: make(chan string, 2)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.workers[id] = w
	return w, nil
}

// fakeWorker ends when it is told to, or by itself.
type fakeWorker struct {
	*diary
	id   ids.ResourceID
	ends chan string
}

func (w *fakeWorker) Stop() {
	w.write("stop %s", w.id)
	w.ends <- "stopped"
}

func (w *fakeWorker) Wait() string { return <-w.ends }

// Run implements resourcemanager.WorkerProvider.
func (d *diary) Run(ctx context.Context, report resourcemanager.Report) error {
	d.report = report
	select {
	case err := <-d.fail:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Order implements resourcemanager.WorkerProvider.
func (d *diary) Order(_ context.Context, o resourcemanager.Orders) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := fmt.Sprintf("others: total=%d", o.Workers[0].Total)
	for _, r := range o.Release {
		line += fmt.Sprintf(" release=%s", r.Worker)
	}
	d.others = append(d.others, line)
}

// Deregister implements resourcemanager.WorkerProvider.
func (d *diary) Deregister(_ context.Context, status msg.ApplicationStatus, _ string) error {
	d.write("deregister %s", status)
	return nil
}

func silent() logrus.FieldLogger {
	logger := logrus.New()
	logger.SetLevel(logrus.PanicLevel)
	return logger
}

func newProvider(t *testing.T, d *diary) *Provider {
	t.Helper()
	p, err := New(Config{
		Container: testContainer, Host: testHost, Spec: testSpec, Machine: d, Others: d,
		Launch: func(worker ids.ResourceID, _ string, _ resourcemanager.WorkerResourceSpec) (launch.WorkerProcess, error) {
			return launch.WorkerProcess{Credentials: []byte("the secret of " + worker)}, nil
		},
	}, silent())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAWorkerLivesInThisContainer would catch a worker that starts before the ResourceManager knows it, and
// would be refused; an end that nobody learns of; a worker that outlives its release or this process; and orders
// that the other provider gets for this container.
func TestAWorkerLivesInThisContainer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary()
		p := newProvider(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- p.Run(ctx, func(_ context.Context, events ...resourcemanager.WorkerEvent) error {
				for _, e := range events {
					d.write("%s", describe(report{e}))
				}
				return nil
			})
		}()
		expect := func(want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, d.since()); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
		}
		order := func(total int, release ...resourcemanager.Release) {
			p.Order(ctx, resourcemanager.Orders{Workers: []resourcemanager.WorkerOrder{{Spec: testSpec, Total: total}}, Release: release})
		}
		order(1)
		expect("others: total=0", "report c-uber-1 starting on here", "start c-uber-1 with the secret of c-uber-1")
		d.worker("c-uber-1").ends <- "killed"
		expect("report c-uber-1 completed: killed")

		d.refuses = errors.New("no process")
		order(2)
		expect("others: total=0", "report c-uber-2 starting on here",
			"start c-uber-2 with the secret of c-uber-2", "report c-uber-2 failed: no process")

		d.refuses = nil
		order(3)
		d.since()
		order(4, resourcemanager.Release{Worker: "c-uber-3"})
		expect("others: total=0", "stop c-uber-3", "report c-uber-4 starting on here", "start c-uber-4 with the secret of c-uber-4")

		// The other provider starts one, too.
		order(5)
		if err := d.report(ctx, resourcemanager.WorkerStarting{Worker: "container_2", Spec: testSpec}); err != nil {
			t.Error(err)
		}
		expect("others: total=1", "report container_2 starting on ")
		order(5)
		expect("others: total=1")

		// Workers of earlier masters are all the other provider's: one beside an earlier master has ended with it.
		if err := d.report(ctx, resourcemanager.PreviousWorkers{Workers: []resourcemanager.PreviousWorker{{Worker: "container_1"}}}); err != nil {
			t.Error(err)
		}
		order(5, resourcemanager.Release{Worker: "container_1"})
		expect("others: total=1 release=container_1", "report previous container_1")

		if err := p.Deregister(ctx, msg.ApplicationSucceeded, ""); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("run = %v", err)
		}
		expect("deregister SUCCEEDED", "stop c-uber-4")
	})
}

// TestTheOtherProviderFails would catch an ApplicationMaster that goes on, with its worker, although YARN has given its
// attempt up.
func TestTheOtherProviderFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary()
		p := newProvider(t, d)
		ended := make(chan error)
		go func() {
			ended <- p.Run(t.Context(), func(context.Context, ...resourcemanager.WorkerEvent) error { return nil })
		}()
		p.Order(t.Context(), resourcemanager.Orders{Workers: []resourcemanager.WorkerOrder{{Spec: testSpec, Total: 1}}})
		synctest.Wait()
		gone := errors.New("attempt is gone")
		d.fail <- gone
		if err := <-ended; !errors.Is(err, gone) {
			t.Errorf("run = %v, want %v", err, gone)
		}
		if diff := cmp.Diff([]string{"others: total=0", "start c-uber-1 with the secret of c-uber-1", "stop c-uber-1"}, d.since()); diff != "" {
			t.Errorf("seen (-want +got):\n%s", diff)
		}
	})
}

// TestConfig would catch a provider that starts without what it needs.
func TestConfig(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{Container: testContainer}, silent()); err == nil {
		t.Error("a provider without a machine is made")
	}
}
