package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

const jobID = ids.JobID("0123456789abcdef0123456789abcdef")

// miniature is REST over a Dispatcher and its JobMasters, with a worker that
// runs the job's one task as the test says.
type miniature struct {
	*dispatcher.Dispatcher
	t    *testing.T
	task func(w *worker, task ids.ExecutionAttemptID)
}

func (m *miniature) Attempts(context.Context) ([]msg.AttemptDetails, error) { return nil, nil }

func (m *miniature) Application(context.Context) (msg.ApplicationDetails, error) {
	return msg.ApplicationDetails{}, nil
}

func (m *miniature) JobStart(context.Context, ids.JobID) ([]msg.Span, error) { return nil, nil }

func (m *miniature) Start(context.Context) ([]msg.Span, error) { return nil, nil }

func (m *miniature) Blocklist(context.Context) ([]msg.BlockedNode, error) { return nil, nil }

func (m *miniature) TaskExecutors(context.Context) ([]msg.TaskExecutorDetails, error) {
	return []msg.TaskExecutorDetails{{Resource: "w1", Host: "n1", SlotsTotal: 1}}, nil
}

func (m *miniature) SlotSupply(context.Context) (msg.SlotSupply, error) {
	return msg.SlotSupply{Total: 1}, nil
}

func (m *miniature) startJobMaster(_ context.Context, start dispatcher.StartJobMaster) (dispatcher.JobMaster, error) {
	s := start.Submission
	c, err := jobmaster.Configured(config.Config{}, s.Graph)
	if err != nil {
		return nil, err
	}
	c.Job, c.JobMaster, c.Program = s.Job, start.JobMaster, s.Program
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	w := &worker{miniature: m, incoming: make(chan msg.Message, 16)}
	w.master, err = jobmaster.New(c, w, nil, logger)
	return w.master, err
}

// worker is the ResourceManager and the TaskExecutor of one job.
type worker struct {
	*miniature
	master     *jobmaster.JobMaster
	connection *actor.Connection
	incoming   chan msg.Message // from the JobMaster to serve
}

func (w *worker) Tell(_ context.Context, m msg.Message) error {
	switch m := m.(type) {
	case msg.RegisterJobMaster:
		w.master.Send(msg.JobMasterRegistered{ResourceManager: "rm1"})
	case msg.DeclareRequirements:
		if m.Needs[0].Slots > 0 {
			w.connection = w.master.Connect("w1", w)
			go w.serve()
		}
	}
	return nil
}

func (w *worker) Send(m msg.Message) bool {
	w.incoming <- m
	return true
}

func (w *worker) Close(cause string) { w.Send(msg.Disconnect{Cause: cause}) }

func (w *worker) say(m msg.Message) {
	if err := w.connection.Receive(context.Background(), m); err != nil && !errors.Is(err, actor.ErrStopped) {
		w.t.Errorf("say %T: %v", m, err)
	}
}

func (w *worker) change(to msg.TaskStateChange) {
	w.say(msg.TaskStatesChanged{Changes: []msg.TaskStateChange{to}})
}

func (w *worker) state(task ids.ExecutionAttemptID, state msg.ExecutionState) {
	w.change(msg.TaskStateChange{Execution: task, State: state})
}

func (w *worker) serve() {
	w.say(msg.RegisterAtJobMaster{Resource: "w1", Host: "n1"})
	for m := range w.incoming {
		switch m := m.(type) {
		case msg.RegisteredAtJobMaster:
			w.say(msg.OfferSlots{Offers: []msg.SlotOffer{{Allocation: "a1"}}})
			w.say(msg.HostReady{Host: "h1", DataAddress: "n1:1"})
		case msg.DeployTasks:
			for _, task := range m.Tasks {
				w.state(task.Execution, msg.ExecutionRunning)
				w.task(w, task.Execution)
			}
		case msg.CancelTasks:
			for _, task := range m.Executions {
				w.state(task, msg.ExecutionCanceled)
			}
		case msg.Disconnect:
			return
		}
	}
}

// begin starts a cluster whose job's task does what the test says, and returns REST's address.
func begin(t *testing.T, task func(*worker, ids.ExecutionAttemptID)) (*miniature, string) {
	t.Helper()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	m := &miniature{t: t, task: task}
	m.Dispatcher = dispatcher.New(dispatcher.Config{Mode: dispatcher.Attached, IDs: ids.Random()}, nil, m.startJobMaster, func(context.Context, ids.JobID, msg.JobStatus) {}, logger)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	server := rest.New(rest.Config{}, m, logger)
	web := httptest.NewServer(server.Unguarded())
	t.Cleanup(func() {
		web.Close()
		cancel()
		<-done
	})
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "j",
		Vertices: []jobgraph.Vertex{{Name: "v", Parallelism: 1, Source: true, Collect: "top"}},
	}
	g.Digest = g.ComputeDigest()
	if err := m.Submit(t.Context(), dispatcher.Submission{Job: jobID, Graph: g}); err != nil {
		t.Fatal(err)
	}
	return m, web.URL + "/jobs/" + string(jobID)
}

func request(t *testing.T, method, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// readAll collects as a client does: page by page, and again from the start when the epoch changes.
func readAll(t *testing.T, job string) string {
	t.Helper()
	var records []byte
	cursor := "0"
	epoch := 0
	for {
		response := request(t, http.MethodGet, job+"/collect/top?wait=10s&cursor="+cursor)
		page, err := restapi.ReadPage(response)
		if err != nil {
			t.Fatalf("status %d: %v", response.StatusCode, err)
		}
		if page.Epoch != epoch {
			records, epoch = nil, page.Epoch
		}
		records = append(records, page.Records...)
		if page.End {
			return string(records)
		}
		cursor = response.Header.Get("Bobbin-Next")
	}
}

// fetch waits until a job has ended.
func fetch(t *testing.T, job string) msg.JobEnded {
	t.Helper()
	for {
		var result restapi.Result
		if err := json.NewDecoder(request(t, http.MethodGet, job+"/result?wait=10s").Body).Decode(&result); err != nil {
			t.Fatal(err)
		}
		if ended := result.JobEnded(); ended.Status.GloballyTerminal() {
			return ended
		}
	}
}

func TestJobFromSubmissionToResult(t *testing.T) {
	t.Parallel()
	m, job := begin(t, func(w *worker, task ids.ExecutionAttemptID) {
		w.say(msg.CollectBatch{Execution: task, Records: []byte("attempt " + task.String() + " ")})
		if task.Attempt == 0 {
			w.change(msg.TaskStateChange{Execution: task, State: msg.ExecutionFailed, Failure: msg.NewFailure("boom", "")})
			return
		}
		w.say(msg.CollectBatch{Execution: task, Sequence: 1, Records: []byte("done")})
		w.change(msg.TaskStateChange{Execution: task, State: msg.ExecutionFinished, Counters: map[string]int64{"words": 3}})
	})
	if got := readAll(t, job); got != "attempt e0-v0-s0-a1 done" {
		t.Errorf("client reads %q: what the failed attempt collected is void", got)
	}
	if r := fetch(t, job); r.Status != msg.JobFinished || r.Counters["words"] != 3 || r.Failure != nil {
		t.Errorf("result %+v", r)
	}
	if o, err := m.Outcome(t.Context()); err != nil || o.Status != msg.ApplicationSucceeded {
		t.Errorf("outcome %+v, error %v", o, err)
	}
}

func TestFailureReachesClientAndYARN(t *testing.T) {
	t.Parallel()
	m, job := begin(t, func(w *worker, task ids.ExecutionAttemptID) {
		failure := msg.NewFailure("panic: boom", "main.explode()")
		failure.Permanent = true
		w.change(msg.TaskStateChange{Execution: task, State: msg.ExecutionFailed, Failure: failure})
	})
	r := fetch(t, job)
	if r.Status != msg.JobFailed || r.Failure == nil || r.Failure.Message != "v (1/1) on n1: panic: boom" || r.Failure.Stack != "main.explode()" {
		t.Errorf("result %+v, failure %+v", r, r.Failure)
	}
	var told struct {
		Tasks []struct{ Exception, Task, Location string } `json:"all-exceptions"`
	}
	if err := json.NewDecoder(request(t, http.MethodGet, job+"/exceptions").Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	if len(told.Tasks) != 1 || told.Tasks[0].Exception != "panic: boom\nmain.explode()" || told.Tasks[0].Task != "v (1/1)" || told.Tasks[0].Location != "n1" {
		t.Errorf("exceptions of tasks %+v", told.Tasks)
	}
	const want = "v (1/1) on n1: panic: boom\nmain.explode()"
	if o, err := m.Outcome(t.Context()); err != nil || o.Status != msg.ApplicationFailed || o.Diagnostics != want {
		t.Errorf("outcome %+v, error %v", o, err)
	}
}

func TestCancelOverREST(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	began := time.Now()
	m, job := begin(t, func(*worker, ids.ExecutionAttemptID) { close(running) })
	<-running
	for range 2 {
		if response := request(t, http.MethodPatch, job); response.StatusCode != http.StatusAccepted {
			t.Errorf("cancel: status %d", response.StatusCode)
		}
	}
	if r := fetch(t, job); r.Status != msg.JobCanceled || r.Duration > time.Since(began) {
		t.Errorf("result %+v", r)
	}
	if o, err := m.Outcome(t.Context()); err != nil || o.Status != msg.ApplicationCanceled {
		t.Errorf("outcome %+v, error %v", o, err)
	}
}
