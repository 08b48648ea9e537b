package jobmaster

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

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a ResourceManager and a TaskExecutor in one, which obey at once.
type cluster struct {
	t  *testing.T
	jm *JobMaster

	mu         sync.Mutex // guards what follows
	declared   []int
	connection *actor.Connection
	closed     string // cause with which the JobMaster closed the connection
	silent     bool
	run        func(c *cluster, task ids.ExecutionAttemptID) // the code of a deployed task
	granted    chan ids.ExecutionAttemptID                   // tasks that may commit
}

func (c *cluster) Tell(ctx context.Context, m msg.Message) error {
	switch m := m.(type) {
	case msg.RegisterJobMaster:
		c.jm.Send(msg.JobMasterRegistered{ResourceManager: "rm1"})
	case msg.DeclareRequirements:
		c.mu.Lock()
		c.declared = append(c.declared, m.Needs[0].Slots)
		c.mu.Unlock()
		if m.Needs[0].Slots > 0 {
			connection := c.jm.Connect("w1", c)
			c.mu.Lock()
			c.connection = connection
			c.mu.Unlock()
			return c.say(ctx, msg.RegisterAtJobMaster{Resource: "w1", Host: "n1"})
		}
	}
	return nil
}

func (c *cluster) say(ctx context.Context, m msg.Message) error {
	c.mu.Lock()
	connection := c.connection
	c.mu.Unlock()
	return connection.Receive(ctx, m)
}

// Send is the TaskExecutor's end of the connection.
func (c *cluster) Send(m msg.Message) bool {
	go func() { // like a stream: the JobMaster's loop must not wait for itself
		var err error
		switch m := m.(type) {
		case msg.RegisteredAtJobMaster:
			err = errors.Join(
				c.say(c.t.Context(), msg.OfferSlots{Offers: []msg.SlotOffer{{Allocation: "a1"}}}),
				c.say(c.t.Context(), msg.HostReady{Host: "h1", DataAddress: "n1:1"}))
		case msg.DeployTasks:
			for _, task := range m.Tasks {
				c.run(c, task.Execution)
			}
		case msg.CommitGranted:
			c.granted <- m.Execution
		case msg.Heartbeat:
			if !c.silent {
				err = c.say(c.t.Context(), msg.Heartbeat{})
			}
		}
		if err != nil && !errors.Is(err, actor.ErrStopped) {
			c.t.Errorf("answer %T: %v", m, err)
		}
	}()
	return true
}

func (c *cluster) Close(cause string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == "" {
		c.closed = cause
	}
}

func (c *cluster) state(task ids.ExecutionAttemptID, state msg.ExecutionState) {
	if err := c.say(c.t.Context(), changed(msg.TaskStateChange{Execution: task, State: state})); err != nil {
		c.t.Errorf("report %s: %v", state, err)
	}
}

func newCluster(t *testing.T, collect string) *cluster {
	t.Helper()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	return newLoggingCluster(t, collect, logger)
}

func newLoggingCluster(t *testing.T, collect string, logger *logrus.Logger) *cluster {
	t.Helper()
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "j",
		Vertices: []jobgraph.Vertex{{Name: "v", Parallelism: 1, Source: true, Collect: collect}},
	}
	g.Digest = g.ComputeDigest()
	settings, err := Configured(config.Config{}, g)
	if err != nil {
		t.Fatal(err)
	}
	settings.Job, settings.JobMaster = "j1", "m1"
	c := &cluster{t: t, run: func(*cluster, ids.ExecutionAttemptID) {}}
	c.jm, err = New(settings, c, nil, logger)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type result struct {
	Details msg.JobDetails
	Results collect.Results
	err     error
}

func (c *cluster) start(ctx context.Context) <-chan result {
	done := make(chan result, 1)
	go func() {
		details, results, err := c.jm.Run(ctx)
		done <- result{details, results, err}
	}()
	return done
}

func TestJobRunsToItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "")
		c.run = func(c *cluster, task ids.ExecutionAttemptID) {
			c.state(task, msg.ExecutionRunning)
			time.Sleep(time.Hour) // of the test's own clock: heartbeats keep the worker
			c.state(task, msg.ExecutionFinished)
		}
		done := c.start(t.Context())
		time.Sleep(time.Minute)
		details, err := c.jm.Details(t.Context())
		if err != nil || details.Status != msg.JobRunning || !details.End.IsZero() {
			t.Errorf("after a minute: status %s, end %s, error %v", details.Status, details.End, err)
		}
		r := <-done
		if r.err != nil || r.Details.Status != msg.JobFinished || r.Details.End.Sub(r.Details.Start) != time.Hour {
			t.Errorf("outcome %+v, error %v", r.Details, r.err)
		}
		if got := fmt.Sprint(c.declared); got != "[1 0]" {
			t.Errorf("declared slots %s, want [1 0]: the last word must reach the ResourceManager", got)
		}
		if c.closed != "job has ended: FINISHED" {
			t.Errorf("connection was closed for %q", c.closed)
		}
		// The JobMaster does not announce the end of the job.
		details, err = c.jm.Details(t.Context())
		if err != nil || details.Status != msg.JobRunning || !details.End.IsZero() || details.Vertices[0].Status != msg.ExecutionFinished {
			t.Errorf("after the end: %+v, error %v", details, err)
		}
		overview, err := c.jm.Overview(t.Context())
		if err != nil || overview.Status != msg.JobRunning || !overview.End.IsZero() || overview.Tasks[msg.ExecutionFinished] != 1 {
			t.Errorf("in a list after the end: %+v, error %v", overview, err)
		}
		if _, err := c.jm.CollectPage(t.Context(), "top", 0, time.Hour); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("page after the end: got error %v", err)
		}
		if c.jm.Send(msg.JobMasterRegistered{}) {
			t.Error("message after the end was taken")
		}
		late := &cluster{t: t}
		c.jm.Connect("w2", late)
		if late.closed == "" {
			t.Error("connection after the end was not closed")
		}
		synctest.Wait()
	})
}

// TestTheLogShowsSlotsAtDebugLevel would catch a log without the slots of a job that waits for them, and one that shows
// them to everybody.
func TestTheLogShowsSlotsAtDebugLevel(t *testing.T) {
	t.Parallel()
	for level, want := range map[logrus.Level]int{logrus.DebugLevel: 2, logrus.InfoLevel: 0} {
		synctest.Test(t, func(t *testing.T) {
			logger, log := logtest.NewNullLogger()
			logger.SetLevel(level)
			c := newLoggingCluster(t, "", logger)
			ctx, cancel := context.WithCancel(t.Context())
			done := c.start(ctx)
			time.Sleep(2*time.Minute + time.Second)
			cancel()
			<-done
			got := slices.DeleteFunc(log.AllEntries(), func(e *logrus.Entry) bool { return e.Message != "slot pool" })
			if len(got) != want {
				t.Errorf("in two minutes at level %s the log shows the slots %d times, want %d", level, len(got), want)
			}
			synctest.Wait()
		})
	}
}

func TestSilentWorkerIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "")
		c.silent = true
		ctx, cancel := context.WithCancel(t.Context())
		done := c.start(ctx)
		time.Sleep(50*time.Second + time.Millisecond)
		details, err := c.jm.Details(t.Context())
		if err != nil || details.Restarts != 1 || details.Root == nil || details.Root.Resource != "w1" {
			t.Errorf("after 50 s of silence: %+v, error %v", details, err)
		}
		cancel()
		<-done
	})
}

// An ApplicationMaster that ends must not stop the work of its jobs: the next attempt continues it.
func TestSuspendedJobTouchesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "")
		leaving := errors.New("leaving")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := c.start(ctx)
		time.Sleep(time.Second)
		cancel(leaving)
		if r := <-done; !errors.Is(r.err, leaving) {
			t.Errorf("got error %v", r.err)
		}
		if got := fmt.Sprint(c.declared); got != "[1]" {
			t.Errorf("declared slots %s, want [1]", got)
		}
		if c.closed != "" {
			t.Errorf("TaskExecutor was told goodbye, for %q: it would give the job up", c.closed)
		}
		if _, err := c.jm.Details(t.Context()); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("question to a suspended job: got error %v", err)
		}
	})
}

func TestCancelledJobEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "")
		done := c.start(t.Context())
		time.Sleep(time.Second)
		if err := c.jm.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.state(ids.ExecutionAttemptID{}, msg.ExecutionCanceled)
		if r := <-done; r.err != nil || r.Details.Status != msg.JobCanceled {
			t.Errorf("status %s, error %v", r.Details.Status, r.err)
		}
	})
}

func TestCollectPageWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "top")
		c.run = func(c *cluster, task ids.ExecutionAttemptID) {
			c.state(task, msg.ExecutionRunning)
			time.Sleep(5 * time.Second)
			if err := c.say(t.Context(), msg.CollectBatch{Execution: task, Records: []byte("abc")}); err != nil {
				t.Errorf("send batch: %v", err)
			}
			time.Sleep(5 * time.Second)
			c.state(task, msg.ExecutionFinished)
		}
		begin := time.Now()
		done := c.start(t.Context())
		for _, want := range []struct {
			cursor  int64
			wait    time.Duration
			records string
			after   time.Duration // since the job began
		}{
			{0, time.Second, "", time.Second},
			{0, time.Minute, "abc", 5 * time.Second},
			{1, time.Second, "", 6 * time.Second},
		} {
			page, err := c.jm.CollectPage(t.Context(), "top", want.cursor, want.wait)
			if err != nil || string(page.Records) != want.records || time.Since(begin) != want.after {
				t.Errorf("page %d: %q after %s, error %v; want %q after %s", want.cursor, page.Records, time.Since(begin), err, want.records, want.after)
			}
		}
		if _, err := c.jm.CollectPage(t.Context(), "bottom", 0, time.Minute); !errors.Is(err, msg.ErrResultNotFound) {
			t.Errorf("unknown result: got error %v", err)
		}
		// The job ends while the client waits: the Dispatcher has the remaining records.
		if _, err := c.jm.CollectPage(t.Context(), "top", 1, time.Minute); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("page over the end: got error %v", err)
		}
		r := <-done
		if page, _, err := r.Results["top"].Page(1); err != nil || !page.End {
			t.Errorf("last page: %+v, error %v", page, err)
		}
	})
}

// TestTheResourceManagerIsHeardOut would catch a message of the ResourceManager that is dropped
// because thousands of workers are lost at once. Then a job would wait for ever for a lost worker,
// or would never learn that it cannot get its slots.
func TestTheResourceManagerIsHeardOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "")
		const workers = 5000
		for n := range workers { // before Run
			if !c.jm.Send(msg.TaskExecutorTerminated{Resource: ids.ResourceID(fmt.Sprint("w", n))}) {
				t.Fatalf("the word on worker %d is not taken", n)
			}
		}
		if !c.jm.Send(msg.NotEnoughResources{Job: "j1", Reason: "none is left"}) {
			t.Fatal("the last word is not taken")
		}
		r := <-c.start(t.Context())
		if r.err != nil || r.Details.Status != msg.JobFailed || r.Details.Root == nil || !strings.Contains(r.Details.Root.Failure.Message, "none is left") {
			t.Errorf("outcome %+v, error %v, want what was said last", r.Details, r.err)
		}
	})
}
