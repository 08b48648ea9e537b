package appmaster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

const testJob = ids.JobID("0123456789abcdef0123456789abcdef")

// cluster is a running Component over workers.
type cluster struct {
	*Component
	workers *workers
	end     context.CancelCauseFunc
	ended   chan error
}

var errTestOver = errors.New("test is over")

func startCluster(t *testing.T, mode dispatcher.Mode, files *dataflowtest.Files) *cluster {
	t.Helper()
	return startClusterWith(t, config.Config{}, mode, files)
}

func startClusterWith(t *testing.T, options config.Config, mode dispatcher.Mode, files *dataflowtest.Files) *cluster {
	t.Helper()
	c := &cluster{workers: newWorkers(t, files), ended: make(chan error, 1)}
	w, err := memory.WorkerOf(options)
	if err != nil {
		t.Fatal(err)
	}
	c.Component, err = NewComponent(ComponentConfig{
		Epoch:  1,
		Config: options, Mode: mode, Files: files,
		Worker: resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 1, Slots: 1, Memory: w},
	}, c.workers, quiet())
	if err != nil {
		t.Fatal(err)
	}
	c.workers.mux = c.Mux
	ctx, end := context.WithCancelCause(context.WithoutCancel(t.Context()))
	c.end = end
	go func() { c.ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		c.end(errTestOver)
		if err := <-c.ended; !errors.Is(err, errTestOver) {
			t.Errorf("Run = %v, want the cause of its context", err)
		}
	})
	return c
}

func (c *cluster) submit(t *testing.T, graph *jobgraph.JobGraph) {
	t.Helper()
	err := c.Dispatcher.Submit(t.Context(), dispatcher.Submission{
		Job: testJob, Graph: graph, Program: msg.Program{Name: "counting", SHA256: programHash},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) result(t *testing.T) msg.JobEnded {
	t.Helper()
	for {
		ended, err := c.Dispatcher.JobResult(t.Context(), testJob, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if ended.Status.GloballyTerminal() {
			return ended
		}
	}
}

// TestAJobRunsToItsEnd runs a job over two workers with one slot each. It would catch roles that do not
// reach each other, and a message that changes in its encoding.
func TestAJobRunsToItsEnd(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\ny\nx\n", "/in/b": "x\n"})
	c := startCluster(t, dispatcher.Attached, files)
	c.submit(t, planned(t, files, "/in", nil))

	var records []byte
	for cursor := int64(0); ; {
		page, err := c.Dispatcher.CollectPage(t.Context(), testJob, "counts", cursor, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, page.Records...)
		if cursor = page.Next; page.End {
			break
		}
	}
	sum := 0
	for len(records) > 0 { // a uvarint length, and a signed number of one byte
		length, n := binary.Uvarint(records)
		value, _ := binary.Varint(records[n:])
		sum += int(value)
		records = records[n+int(length):]
	}
	if sum != 4 {
		t.Errorf("collected counts sum up to %d, want 4", sum)
	}
	executors, err := gateway{Dispatcher: c.Dispatcher, workers: c.ResourceManager}.TaskExecutors(t.Context())
	if err != nil || len(executors) != 2 {
		t.Errorf("%d task executors, error %v; want 2", len(executors), err)
	}
	if ended := c.result(t); ended.Status != msg.JobFinished || ended.Failure != nil {
		t.Errorf("job is %s with failure %v, want FINISHED", ended.Status, ended.Failure)
	}
	outcome, err := c.Dispatcher.Outcome(t.Context())
	if err != nil || outcome.Status != msg.ApplicationSucceeded {
		t.Errorf("outcome %+v, error %v; want SUCCEEDED", outcome, err)
	}
	if err := c.ResourceManager.Shutdown(t.Context(), outcome.Status, outcome.Diagnostics); err != nil {
		t.Fatal(err)
	}
	want := []string{"release w1", "release w2", `deregister SUCCEEDED ""`}
	if diff := cmp.Diff(want, c.workers.lines()); diff != "" {
		t.Errorf("driver was told something else (-want +got):\n%s", diff)
	}
}

// TestManagedMemoryBoundsOperators would catch an operator that takes more than taskmanager.memory.managed.size,
// and a budget that no option changes. Many keys go to files; a single one that exceeds the memory fails.
func TestManagedMemoryBoundsOperators(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	var words strings.Builder
	for n := range 100_000 {
		fmt.Fprintf(&words, "word%d\n", n)
	}
	words.WriteString(strings.Repeat("x", 8<<20))
	for size, want := range map[string]msg.JobStatus{"6m": msg.JobFailed, "400m": msg.JobFinished} {
		files := dataflowtest.NewFiles(map[string]string{"/in": words.String()})
		options, err := config.New(config.Layer{Values: map[string]string{config.TaskManagerManagedSize.Name(): size}})
		if err != nil {
			t.Fatal(err)
		}
		c := startClusterWith(t, options, dispatcher.Detached, files)
		c.submit(t, planned(t, files, "/in", nil))
		ended := c.result(t)
		if ended.Status != want || want == msg.JobFailed && !strings.Contains(ended.Failure.Message, config.TaskManagerManagedFraction.Name()) {
			t.Errorf("with %s the job is %s, want %s: %v", size, ended.Status, want, ended.Failure)
		}
	}
}

// TestAJobSurvivesItsWorker would catch a JobMaster that does not learn of a lost worker, and a
// ResourceManager that gets no replacement.
func TestAJobSurvivesItsWorker(t *testing.T) {
	t.Parallel()
	reading, goOn := make(chan struct{}, 100), make(chan struct{})
	content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\ny\n"})
	files := content.View(func(call dataflowtest.Call) error {
		if call.Op == "Load" && !call.Done {
			reading <- struct{}{}
			<-goOn
		}
		return nil
	})
	c := startCluster(t, dispatcher.Session, files)
	c.submit(t, planned(t, content, "/in", map[string]string{config.RestartStrategy.Name(): "none"}))
	<-reading
	c.workers.kill("w1")
	close(goOn)
	ended := c.result(t)
	if ended.Status != msg.JobFinished {
		t.Errorf("job is %s: %v; want FINISHED", ended.Status, ended.Failure)
	}
	details, err := c.Dispatcher.JobDetails(t.Context(), testJob)
	if err != nil || details.Restarts != 1 || details.Root == nil || !strings.Contains(details.Root.Failure.Message, "worker w1 on 127.0.0.1 is lost") {
		t.Errorf("%d restarts for %+v, error %v; want one for the lost worker", details.Restarts, details.Root, err)
	}
}

// TestFailuresReachTheOwner would catch a failed job without its reason.
func TestFailuresReachTheOwner(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\nboom\n"})
	for name, test := range map[string]struct {
		options map[string]string // of the job
		want    string
	}{
		"a task panics":                {map[string]string{config.RestartStrategy.Name(): "none"}, "panic: boom of the user's"},
		"its options make no sense":    {map[string]string{config.RestartStrategy.Name(): "sometimes"}, "sometimes"},
		"its heartbeat is not allowed": {map[string]string{config.HeartbeatInterval.Name(): "0 s"}, "heartbeat.interval"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, dispatcher.Detached, files)
			c.submit(t, planned(t, files, "/in", test.options))
			outcome, err := c.Dispatcher.Outcome(t.Context())
			if err != nil || outcome.Status != msg.ApplicationFailed || !strings.Contains(outcome.Diagnostics, test.want) {
				t.Errorf("outcome %+v, error %v; want FAILED and %q", outcome, err, test.want)
			}
		})
	}
}

// TestACancelledJobAndAClusterThatIsShutDown would catch requests of the owner that have no effect.
func TestACancelledJobAndAClusterThatIsShutDown(t *testing.T) {
	t.Parallel()
	reading, goOn := make(chan struct{}, 100), make(chan struct{})
	content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
	files := content.View(func(call dataflowtest.Call) error {
		if call.Op == "Load" && !call.Done {
			reading <- struct{}{}
			<-goOn
		}
		return nil
	})
	c := startCluster(t, dispatcher.Attached, files)
	c.submit(t, planned(t, content, "/in", nil))
	<-reading
	jobs, err := c.Dispatcher.Jobs(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].Status != msg.JobRunning {
		t.Errorf("jobs %+v, error %v; want the one that runs", jobs, err)
	}
	if err := c.Dispatcher.CancelJob(t.Context(), testJob); err != nil {
		t.Error(err)
	}
	for details := (msg.JobDetails{}); details.Status != msg.JobCancelling; { // the answer comes before the effect
		if details, err = c.Dispatcher.JobDetails(t.Context(), testJob); err != nil {
			t.Fatal(err)
		}
	}
	close(goOn)
	if ended := c.result(t); ended.Status != msg.JobCanceled {
		t.Errorf("job is %s, want CANCELED", ended.Status)
	}
	if outcome, err := c.Dispatcher.Outcome(t.Context()); err != nil || outcome.Status != msg.ApplicationCanceled {
		t.Errorf("outcome %+v, error %v; want CANCELED", outcome, err)
	}

	idle := startCluster(t, dispatcher.Session, files)
	if err := idle.Dispatcher.ShutDown(t.Context()); err != nil {
		t.Error(err)
	}
	if outcome, err := idle.Dispatcher.Outcome(t.Context()); err != nil || outcome.Status != msg.ApplicationSucceeded {
		t.Errorf("outcome of a session %+v, error %v; want SUCCEEDED", outcome, err)
	}
}

// TestADriverThatFailsEndsTheRoles would catch an ApplicationMaster that continues although YARN has given
// it up.
func TestADriverThatFailsEndsTheRoles(t *testing.T) {
	t.Parallel()
	w := newWorkers(t, dataflowtest.NewFiles(nil))
	c, err := NewComponent(ComponentConfig{
		Epoch: 1,
		Mode:  dispatcher.Session, Worker: resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 1, Slots: 1},
	}, w, quiet())
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("attempt is gone")
	w.broken <- gone
	if err := c.Run(t.Context()); !errors.Is(err, gone) {
		t.Errorf("Run = %v, want the driver's error", err)
	}
	if diff := cmp.Diff([]string(nil), w.lines()); diff != "" {
		t.Errorf("driver was told something (-want +got):\n%s", diff)
	}
}

// TestWorkersOfAJobThatIsBeingMadeMayWait would catch a recovered job that loses its workers while HDFS is away: its
// JobMaster is not made yet, and the workers would take it for a job that has ended.
func TestWorkersOfAJobThatIsBeingMadeMayWait(t *testing.T) {
	t.Parallel()
	recovering, goOn := make(chan struct{}), make(chan error)
	w, err := memory.WorkerOf(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
	component, err := NewComponent(ComponentConfig{
		Epoch: 2, Mode: dispatcher.Session, Worker: resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 1, Slots: 1, Memory: w},
		JobRecovered: func(context.Context, *dispatcher.Submission) error {
			close(recovering)
			return <-goOn
		},
	}, newWorkers(t, files), quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- component.Run(ctx) }()
	opened := func(job ids.JobID) error {
		_, err := component.Mux.Accept(rolerpc.NewStream(ctx, rolerpc.Peer{}, jobMasterTarget+string(job), nil, quiet()))
		return err
	}
	err = component.Recover(ctx, dispatcher.Recovered{Jobs: []dispatcher.RecoveredJob{{
		Submission: dispatcher.Submission{Job: testJob, Graph: planned(t, files, "/in", nil)}, Commits: map[int]ha.Commit{},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	<-recovering
	if err := opened(testJob); !errors.Is(err, rolerpc.ErrNotReady) {
		t.Errorf("the job that is recovered: %v", err)
	}
	if err := opened("another"); !errors.Is(err, rolerpc.ErrUnknownTarget) {
		t.Errorf("a job that is not known: %v", err)
	}
	goOn <- errTestOver
	for {
		result, err := component.Dispatcher.JobResult(ctx, testJob, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if result.Status.GloballyTerminal() {
			break
		}
	}
	if err := opened(testJob); !errors.Is(err, rolerpc.ErrUnknownTarget) {
		t.Errorf("the job that could not be recovered: %v", err)
	}
	end(errTestOver)
	if err := <-ended; !errors.Is(err, errTestOver) {
		t.Errorf("Run = %v, want the cause of its context", err)
	}
}

// TestAnAcceptedJobIsNotRefusedForItsSize would catch an application that fails after its largest node has died with the
// ApplicationMaster, because its program executes an accepted job again that would not fit any more.
func TestAnAcceptedJobIsNotRefusedForItsSize(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
	c := startCluster(t, dispatcher.Application, files)
	submit := func(job ids.JobID) error {
		return c.Submit(t.Context(), dispatcher.Submission{
			Job: job, Graph: planned(t, files, "/in", nil), Program: msg.Program{Name: "counting", SHA256: programHash},
		})
	}
	if err := submit("1"); err != nil {
		t.Fatal(err)
	}
	c.limits = func() launch.Limits { return launch.Limits{} }
	if err := submit("1"); !errors.Is(err, msg.ErrJobExists) && !errors.Is(err, msg.ErrJobEnded) {
		t.Errorf("the accepted job is answered with %v", err)
	}
	if err := submit("2"); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("a new job is answered with %v", err)
	}
}
