package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

const (
	runningID = ids.JobID("11111111111111111111111111111111")
	failedID  = ids.JobID("22222222222222222222222222222222")
	emptyID   = ids.JobID("33333333333333333333333333333333")
	token     = "open sesame"
)

// fakeGateway is a cluster with a running and a failed job.
type fakeGateway struct {
	start     time.Time
	err       error // error of every answer, if set
	cancelled []ids.JobID
	seen      []ids.JobID // jobs whose clients are alive
	shut      bool
	waits     []time.Duration
	cursors   []int64
}

func (g *fakeGateway) details() []msg.JobDetails {
	at := func(seconds int) time.Time { return g.start.Add(time.Duration(seconds) * time.Second) }
	root := msg.ExceptionEntry{
		Time: at(4), Failure: msg.Failure{Message: "panic: <boom>", Stack: "main.explode()\n\t/src/main.go:7"},
		Task: "count (2/2)", Location: "node2", Resource: "container_1_0001_01_000003",
	}
	lost := msg.ExceptionEntry{
		Time: at(2), Failure: msg.Failure{Message: "worker is lost"}, Location: "node1", Resource: "container_1_0001_01_000002",
	}
	return []msg.JobDetails{
		{
			ID: runningID, Name: "word <count>", Status: msg.JobRunning, Start: at(0), Parallelism: 2,
			Note:       "it runs in waves, with blocking exchanges: a part of it needs 4 slots at a time, and the cluster has 2",
			Config:     map[string]string{"parallelism.default": "2", "my.password": "sesame", "restart-strategy.type": "none"},
			Timestamps: map[msg.JobStatus]time.Time{msg.JobInitializing: at(0), msg.JobCreated: at(0), msg.JobRunning: at(1)},
			Vertices: []msg.VertexDetails{
				{
					ID: strings.Repeat("a", 32), Name: "read -> split", Parallelism: 2, Status: msg.ExecutionRunning, Start: at(1),
					Tasks:   map[msg.ExecutionState]int{msg.ExecutionRunning: 1, msg.ExecutionFinished: 1},
					Traffic: msg.Traffic{ReadRecords: 100, ReadBytes: 5000, WriteRecords: 90, WriteBytes: 4000},
					Splits:  msg.SplitProgress{Read: 3, All: 8, Bytes: 20_000},
				},
				{
					ID: strings.Repeat("b", 32), Name: "count", Parallelism: 2, Status: msg.ExecutionCreated, Blocked: 1,
					Tasks:  map[msg.ExecutionState]int{msg.ExecutionScheduled: 1, msg.ExecutionCreated: 1},
					Inputs: []msg.VertexInput{{Vertex: strings.Repeat("a", 32), Pattern: jobgraph.AllToAll, Missing: 1}},
				},
			},
		},
		{
			ID: failedID, Name: "broken", Status: msg.JobFailed, Start: at(0), End: at(5), Restarts: 1,
			Timestamps: map[msg.JobStatus]time.Time{msg.JobInitializing: at(0), msg.JobFailed: at(5)},
			Vertices: []msg.VertexDetails{{
				ID: strings.Repeat("c", 32), Name: "count", Parallelism: 2, Status: msg.ExecutionFailed, Start: at(1), End: at(5),
				Tasks:    map[msg.ExecutionState]int{msg.ExecutionFailed: 1, msg.ExecutionCanceled: 1},
				Counters: map[string]int64{"words": 7},
			}},
			Root: &root, Exceptions: []msg.ExceptionEntry{root, lost}, TaskFailures: []msg.ExceptionEntry{root},
			Counters: map[string]int64{"words": 7},
		},
	}
}

// sampleOf is that of a task which has been idle and back-pressured for these shares of a minute.
func sampleOf(idle, backPressured float64) msg.TaskSample {
	of := func(share float64) time.Duration { return time.Duration(share * float64(time.Minute)) }
	return msg.TaskSample{Over: time.Minute, Until: msg.TaskMetrics{Activity: msg.Activity{Idle: of(idle), BackPressured: of(backPressured)}}}
}

func (g *fakeGateway) Jobs(context.Context) ([]msg.JobOverview, error) {
	var jobs []msg.JobOverview
	for _, d := range g.details() {
		o := msg.JobOverview{
			ID: d.ID, Name: d.Name, Status: d.Status, Start: d.Start, End: d.End, Modified: g.start.Add(3 * time.Second),
			Note: d.Note, Tasks: map[msg.ExecutionState]int{},
		}
		for _, v := range d.Vertices {
			o.TotalTasks += v.Parallelism
			for state, n := range v.Tasks {
				o.Tasks[state] += n
			}
		}
		jobs = append(jobs, o)
	}
	return jobs, g.err
}

func (g *fakeGateway) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	for _, d := range g.details() {
		if d.ID == job {
			return d, g.err
		}
	}
	return msg.JobDetails{}, fmt.Errorf("%w: %s", msg.ErrJobNotFound, job)
}

const (
	runningVertex = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	waitingVertex = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb" // of the same job
	failedVertex  = "cccccccccccccccccccccccccccccccc"
)

func (g *fakeGateway) VertexSubtasks(ctx context.Context, job ids.JobID, vertex string) (msg.VertexSubtasks, error) {
	d, err := g.JobDetails(ctx, job)
	if err != nil {
		return msg.VertexSubtasks{}, err
	}
	i := slices.IndexFunc(d.Vertices, func(v msg.VertexDetails) bool { return v.ID == vertex })
	if i < 0 {
		return msg.VertexSubtasks{}, fmt.Errorf("%w: %s", msg.ErrVertexNotFound, vertex)
	}
	times := func(created, scheduled, deploying, running, finished, failed int64) (t msg.StateTimes) {
		for state, second := range map[msg.ExecutionState]int64{
			msg.ExecutionCreated: created, msg.ExecutionScheduled: scheduled, msg.ExecutionDeploying: deploying, msg.ExecutionRunning: running,
			msg.ExecutionFinished: finished, msg.ExecutionFailed: failed,
		} {
			if second >= 0 {
				t.Enter(state, g.start.Add(time.Duration(second)*time.Second))
			}
		}
		return t
	}
	at := func(n string, a msg.TaskAttempt) msg.TaskAttempt {
		a.Resource, a.Node = ids.ResourceID("container_1_0001_01_00000"+n), "node"+n
		return a
	}
	busy := msg.TaskTimes{Busy: 1500 * time.Millisecond, Idle: 400 * time.Millisecond, BackPressured: 100 * time.Millisecond}
	subtasks := map[string][]msg.Subtask{
		runningVertex: {
			{
				TaskAttempt: at("2", msg.TaskAttempt{
					Number: 1, State: msg.ExecutionRunning, Entered: times(1, 2, 3, 4, -1, -1), Times: busy,
					Traffic: msg.Traffic{ReadRecords: 60, ReadBytes: 3000, WriteRecords: 50, WriteBytes: 2000},
				}),
				Earlier: []msg.TaskAttempt{
					at("3", msg.TaskAttempt{State: msg.ExecutionFailed, Entered: times(0, 0, 0, -1, -1, 1)}),
					at("3", msg.TaskAttempt{Number: 2, State: msg.ExecutionRunning, Entered: times(-1, -1, 5, 5, -1, -1)}),
				},
				Sample: sampleOf(0.05, 0.2),
				User: &msg.UserMetrics{Metrics: []msg.UserMetric{
					{Kind: metrics.KindCounter, Name: "words", Value: 5},
					{Kind: metrics.KindGauge, Name: "size", Value: 9},
					{Operator: 1, Kind: metrics.KindCounter, Name: "words", Value: 2},
				}},
			},
			{TaskAttempt: at("2", msg.TaskAttempt{
				State: msg.ExecutionFinished, Entered: times(0, 0, 1, 1, 3, -1), Times: busy,
				Traffic: msg.Traffic{ReadRecords: 40, ReadBytes: 2000, WriteRecords: 40, WriteBytes: 2000},
			})},
		},
		waitingVertex: {
			{TaskAttempt: msg.TaskAttempt{State: msg.ExecutionScheduled, Entered: times(0, 1, -1, -1, -1, -1)}},
			{TaskAttempt: msg.TaskAttempt{State: msg.ExecutionScheduled, Entered: times(0, 1, -1, -1, -1, -1)}},
		},
		failedVertex: {
			{TaskAttempt: at("2", msg.TaskAttempt{State: msg.ExecutionFailed, Entered: times(0, 0, 1, 2, -1, 4), Times: busy})},
			{TaskAttempt: at("3", msg.TaskAttempt{State: msg.ExecutionFailed, Entered: times(0, 0, 1, 2, -1, 5), Times: busy})},
		},
	}
	return msg.VertexSubtasks{VertexDetails: d.Vertices[i], Subtasks: subtasks[vertex]}, g.err
}

func (g *fakeGateway) CancelJob(_ context.Context, job ids.JobID) error {
	if job == failedID {
		return fmt.Errorf("%w: it is FAILED", msg.ErrJobEnded)
	}
	g.cancelled = append(g.cancelled, job)
	return g.err
}

func (g *fakeGateway) ClientSeen(_ context.Context, job ids.JobID) error {
	g.seen = append(g.seen, job)
	return g.err
}

func (g *fakeGateway) JobResult(_ context.Context, job ids.JobID, wait time.Duration) (msg.JobEnded, error) {
	g.waits = append(g.waits, wait)
	if job == runningID {
		return msg.JobEnded{Job: job, Status: msg.JobRunning}, g.err
	}
	return msg.JobEnded{
		Job: job, Status: msg.JobFailed, Duration: 5 * time.Second, Counters: map[string]int64{"words": 7},
		Failure: &msg.Failure{Message: "panic: <boom>", Stack: "main.explode()"},
	}, g.err
}

func (g *fakeGateway) CollectPage(_ context.Context, _ ids.JobID, name string, cursor int64, wait time.Duration) (msg.CollectPage, error) {
	g.waits = append(g.waits, wait)
	g.cursors = append(g.cursors, cursor)
	if name != "top" {
		return msg.CollectPage{}, msg.ErrResultNotFound
	}
	return msg.CollectPage{Epoch: 2, Next: cursor + 3, Records: []byte{1, 'x', 0xff}, End: true}, g.err
}

func (g *fakeGateway) Blocklist(context.Context) ([]msg.BlockedNode, error) {
	return []msg.BlockedNode{{Node: "node2", Cause: "no space left on device", Until: g.start.Add(10 * time.Minute)}}, g.err
}

func (g *fakeGateway) Attempts(context.Context) ([]msg.AttemptDetails, error) {
	return []msg.AttemptDetails{
		{
			Attempt: 1, Container: "container_1700000000000_0007_01_000001", State: "FAILED",
			Started: g.start, Ended: g.start.Add(time.Minute), Diagnostics: "AM Container exited with exitCode: 137",
		},
		{Attempt: 2, Container: "container_1700000000000_0007_02_000001", Node: "node2", State: "RUNNING", Started: g.start.Add(time.Minute)},
	}, g.err
}

func (g *fakeGateway) TaskExecutors(context.Context) ([]msg.TaskExecutorDetails, error) {
	worker := memory.Worker{
		Process: 1 << 30, Slots: 4, Framework: 32 << 20, Overhead: 192 << 20,
		Tasks: memory.Slot{Heap: 360 << 20, OffHeap: 40 << 20, Managed: 320 << 20, Network: 80 << 20},
	}
	return []msg.TaskExecutorDetails{{
		Resource: "container_1_0001_01_000002", Host: "node1", SlotsTotal: 4, SlotsFree: 1, Memory: worker, VCores: 4, Hardware: msg.Hardware{Cores: 32, Memory: 64 << 30},
		LastHeartbeat: g.start.Add(9 * time.Second),
	}}, g.err
}

func (g *fakeGateway) SlotSupply(context.Context) (msg.SlotSupply, error) {
	return msg.SlotSupply{
		Total: 4, Free: 1, PerWorker: 4, WorkerMemoryMB: 1024, Requested: 1, RequestedSince: g.start.Add(2 * time.Second),
		Spares: 1, Floor: 2, FloorBy: "slotmanager.number-of-slots.min: 8",
		Kinds: []msg.WorkerSupply{{
			Size: msg.ContainerSize{MemoryMB: 1024, VCores: 4}, Slots: 4, Requested: 1, Since: g.start.Add(2 * time.Second),
			Room: msg.Room{Reason: msg.QueueFull, Queue: "root.default", Left: msg.ContainerSize{MemoryMB: 512, VCores: 4}},
		}},
		Jobs: []msg.SlotDemand{{Job: runningID, Needed: 6, Held: 2, Since: g.start.Add(time.Second), Lacks: []int{0}}},
	}, g.err
}

func (g *fakeGateway) Application(ctx context.Context) (msg.ApplicationDetails, error) {
	attempts, _ := g.Attempts(ctx)
	return msg.ApplicationDetails{
		ID: "application_1_0001", Name: "a session", Type: "Bobbin", User: "alice", Queue: "root.default", Mode: "session", Attempt: 2,
		Started: g.start, TrackingURL: "http://rm:8088/proxy/application_1_0001/", Address: "node1:4711", ResourceManager: "rm:8032", LogURL: "http://node1:8042/node/containerlogs/container_1_0001_02_000001/alice",
		Attempts: attempts, Tokens: []msg.TokenDetails{{Kind: "HDFS_DELEGATION_TOKEN", Service: "nn:8020", Renewer: "rm", Ends: g.start.Add(time.Hour)}},
	}, g.err
}

func (g *fakeGateway) JobStart(ctx context.Context, job ids.JobID) ([]msg.Span, error) {
	details, err := g.JobDetails(ctx, job)
	return msg.StartOf(&details, g.start.Add(2*time.Second)), err
}

func (g *fakeGateway) Start(context.Context) ([]msg.Span, error) {
	return []msg.Span{{Name: "queue", Begin: g.start, End: g.start.Add(time.Second), Detail: "YARN accepts the application"}, {Name: "leadership", Begin: g.start.Add(time.Second)}}, g.err
}

func (g *fakeGateway) ShutDown(context.Context) error {
	g.shut = true
	return g.err
}

// testOptions are those of the cluster.
func testOptions() config.Config {
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		config.TaskSlots.Name(): "2", string(config.ContainerMasterEnv) + "S3_KEY": "open barley",
	}})
	if err != nil {
		panic(err) // of the test's own
	}
	return options
}

func newServer(g Gateway) *Server {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	return New(Config{
		Token:     pki.TokenOf(token),
		Proxy:     Proxy{Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}},
		Processes: &fakeProcesses{content: "line 1\n"}, ProxyBase: "/proxy/application_1_0001",
		Container: &restapi.MasterContainer{ID: "container_1_0001_01_000001", Node: "node1:8041", User: "alice"},
		Version:   "0.1.0", Revision: "abc1234", Options: testOptions(),
		Memory:  memory.Master{Process: 512 << 20, Heap: 256 << 20, OffHeap: 156 << 20, Overhead: 100 << 20},
		Metrics: testMetrics(),
	}, g, logger)
}

// ask puts a request to the owner's door, with the token.
func ask(g Gateway, method, path string) *httptest.ResponseRecorder {
	return askServer(newServer(g), method, path)
}

func askServer(s *Server, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	s.secure().ServeHTTP(w, r)
	return w
}

// TestGolden compares each answer, field by field, with what dashboards and scrapers of Flink expect.
func TestGolden(t *testing.T) {
	t.Parallel()
	for file, path := range map[string]string{
		"overview":               "/overview",
		"attempts":               "/attempts",
		"config":                 "/config",
		"blocklist":              "/v1/blocklist",
		"taskmanagers":           "/v1/taskmanagers",
		"taskmanager":            "/taskmanagers/" + workerID,
		"taskmanager-hosts":      "/taskmanagers/" + workerID + "/hosts",
		"logs":                   "/jobmanager/logs",
		"thread-dump":            "/v1/taskmanagers/" + workerID + "/thread-dump",
		"jobs":                   "/jobs",
		"jobs-overview":          "/v1/jobs/overview",
		"jobs-metrics":           "/v1/jobs/metrics?get=uptime",
		"slots":                  "/v1/slots",
		"job":                    "/jobs/" + string(runningID),
		"job-failed":             "/jobs/" + string(failedID),
		"job-vertices":           "/jobs/" + string(runningID) + "/vertices",
		"job-timeline":           "/v1/jobs/" + string(runningID) + "/timeline",
		"job-status":             "/jobs/" + string(runningID) + "/status",
		"exceptions":             "/jobs/" + string(failedID) + "/exceptions",
		"exceptions-none":        "/v1/jobs/" + string(runningID) + "/exceptions",
		"execution-result":       "/jobs/" + string(failedID) + "/execution-result",
		"execution-result-going": "/jobs/" + string(runningID) + "/execution-result",
		"result":                 "/jobs/" + string(failedID) + "/result",
		"result-going":           "/jobs/" + string(runningID) + "/result",
		"plan":                   "/jobs/" + string(runningID) + "/plan",
		"application":            "/application",
		"start":                  "/start",
		"job-start":              "/jobs/" + string(failedID) + "/start",
		"waiting":                "/jobs/" + string(runningID) + "/waiting",
		"waiting-not":            "/jobs/" + string(failedID) + "/waiting",
		"job-config":             "/jobs/" + string(runningID) + "/config",
		"accumulators":           "/jobs/" + string(failedID) + "/accumulators",
		"resource-requirements":  "/jobs/" + string(runningID) + "/resource-requirements",
		"vertex":                 "/jobs/" + string(runningID) + "/vertices/" + runningVertex,
		"vertex-waiting":         "/jobs/" + string(runningID) + "/vertices/" + waitingVertex,
		"vertex-backpressure":    "/jobs/" + string(runningID) + "/vertices/" + runningVertex + "?backpressure=true",
		"vertex-taskmanagers":    "/jobs/" + string(runningID) + "/vertices/" + runningVertex + "/taskmanagers",
		"vertex-failed-workers":  "/jobs/" + string(failedID) + "/vertices/" + failedVertex + "/taskmanagers",
		"vertex-waiting-workers": "/jobs/" + string(runningID) + "/vertices/" + waitingVertex + "/taskmanagers",
		"subtasktimes":           "/jobs/" + string(runningID) + "/vertices/" + runningVertex + "/subtasktimes",
		"vertex-accumulators":    "/jobs/" + string(failedID) + "/vertices/" + failedVertex + "/accumulators",
		"attempt-accumulators":   "/jobs/" + string(runningID) + "/vertices/" + runningVertex + "/subtasks/0/attempts/1/accumulators",
		"earlier-accumulators":   "/jobs/" + string(runningID) + "/vertices/" + runningVertex + "/subtasks/0/attempts/0/accumulators",
		"subtasks-accumulators":  "/jobs/" + string(runningID) + "/vertices/" + runningVertex + "/subtasks/accumulators",
		"backpressure":           "/jobs/" + string(runningID) + "/vertices/" + runningVertex + "/backpressure",
		"backpressure-none":      "/jobs/" + string(failedID) + "/vertices/" + failedVertex + "/backpressure",
		"attempt":                "/jobs/" + string(runningID) + "/vertices/" + runningVertex + "/subtasks/0/attempts/0",
		"checkpoints":            "/jobs/" + string(runningID) + "/checkpoints",
		"datasets":               "/datasets",
		"programs":               "/programs",
		"program":                "/programs/" + wordcountID,
		"program-plan":           "/jars/" + wordcountID + "/plan",
		"jars":                   "/jars",
		"not-yet":                "/jobs/" + string(runningID) + "/savepoints/" + string(emptyID),
		"not-found":              "/jobs/" + string(emptyID),
		"no-path":                "/nowhere",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // for its clock
				g := &fakeGateway{start: time.Now().UTC()}
				time.Sleep(10 * time.Second)
				w := httptest.NewRecorder()
				server := newServer(g)
				server.config.Session = &fakeSession{}
				server.Unguarded().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				if got := w.Header().Get("Content-Type"); got != "application/json; charset=UTF-8" {
					t.Errorf("content type %q", got)
				}
				var got bytes.Buffer
				if err := json.Indent(&got, w.Body.Bytes(), "", "  "); err != nil {
					t.Fatalf("answer %q: %v", w.Body, err)
				}
				golden := filepath.Join("testdata", file+".json")
				if *rewrite {
					if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
						t.Fatal(err)
					}
					return
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
					t.Errorf("answer differs (-want +got; run with -rewrite to take it over):\n%s", diff)
				}
			})
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	running, failed := "/jobs/"+string(runningID), "/jobs/"+string(failedID)
	for name, test := range map[string]struct {
		method, path string
		err          error
		want         int
	}{
		"a view":                        {"GET", "/jobs", nil, 200},
		"the same, headers only":        {"HEAD", "/jobs", nil, 200},
		"a cancel":                      {"PATCH", running, nil, 202},
		"a cancel, as Flink's CLI does": {"PATCH", running + "?mode=cancel", nil, 202},
		"a stop that we do not have":    {"PATCH", running + "?mode=stop", nil, 308},
		"a cancel of a job that failed": {"PATCH", failed, nil, 409},
		"a cancel by GET":               {"GET", running + "/yarn-cancel", nil, 202},
		"a stop with a savepoint":       {"POST", running + "/stop", nil, 501},
		"the same by GET":               {"GET", running + "/yarn-stop", nil, 308},
		"a way to end that is none":     {"PATCH", running + "?mode=end", nil, 400},
		"a savepoint":                   {"POST", running + "/savepoints", nil, 501},
		"the end of a savepoint":        {"POST", "/savepoint-disposal", nil, 501},
		"a new parallelism":             {"PATCH", running + "/rescaling", nil, 503},
		"another at once":               {"PUT", running + "/resource-requirements", nil, 501},
		"another of no job":             {"PUT", "/jobs/" + string(emptyID) + "/resource-requirements", nil, 404},
		"what became of it":             {"GET", running + "/rescaling/" + string(emptyID), nil, 503},
		"what became of no operation":   {"GET", running + "/rescaling/1", nil, 400},
		"one of no job at all":          {"PATCH", "/jobs/x/rescaling", nil, 400},
		"what became of nothing":        {"GET", "/datasets/delete/" + string(emptyID), nil, 404},
		"the options for no job":        {"GET", "/jobs/x/jobmanager/config", nil, 400},
		"the process for no job":        {"GET", "/jobs/x/jobmanager/environment", nil, 400},
		"a savepoint of no job":         {"POST", "/jobs/x/savepoints", nil, 400},
		"what became of no savepoint":   {"GET", running + "/savepoints/1", nil, 400},
		"a stop of no job":              {"POST", "/jobs/x/stop", nil, 400},
		"a sign of life":                {"PATCH", running + "/clientHeartbeat", nil, 202},
		"one of a job that is gone":     {"PATCH", running + "/clientHeartbeat", msg.ErrJobNotFound, 404},
		"one of no job":                 {"PATCH", "/jobs/x/clientHeartbeat", nil, 400},
		"a shutdown":                    {"DELETE", "/cluster", nil, 200},
		"an id that is none":            {"GET", "/jobs/xyz", nil, 400},
		"an unknown job":                {"GET", "/jobs/" + string(emptyID), nil, 404},
		"a method that a path lacks":    {"POST", "/jobs", nil, 404},
		"a cursor that is none":         {"GET", running + "/collect/top?cursor=-1", nil, 400},
		"a result that is none":         {"GET", running + "/collect/bottom", nil, 404},
		"a time that is none":           {"GET", running + "/result?wait=soon", nil, 400},
		"a page that was read":          {"GET", running + "/collect/top", msg.ErrResultGone, 410},
		"a job that is being started":   {"GET", running, msg.ErrNotReady, 503},
		"a role that has stopped":       {"GET", "/jobs", actor.ErrStopped, 503},
		"a client that has left":        {"GET", "/jobs", context.Canceled, 503},
		"an error nobody thought of":    {"GET", "/overview", errors.New("?"), 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ask(&fakeGateway{err: test.err}, test.method, test.path)
			if w.Code != test.want {
				t.Errorf("got status %d, want %d: %s", w.Code, test.want, w.Body)
			}
			var failure restapi.FailureBody
			if test.want >= 400 && (json.Unmarshal(w.Body.Bytes(), &failure) != nil || len(failure.Errors) != 1 || failure.Errors[0] == "") {
				t.Errorf("error without Flink's shape: %s", w.Body)
			}
		})
	}
}

func TestChangesReachTheCluster(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{}
	ask(g, http.MethodPatch, "/v1/jobs/"+string(runningID))
	ask(g, http.MethodDelete, "/v1/cluster")
	if diff := cmp.Diff([]ids.JobID{runningID}, g.cancelled); diff != "" || !g.shut {
		t.Errorf("shut down: %t; cancelled jobs differ (-want +got):\n%s", g.shut, diff)
	}
}

func TestLongPolls(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{}
	job := "/jobs/" + string(runningID)
	for _, path := range []string{"/result?wait=10s", "/result", "/result?wait=10h", "/collect/top?cursor=5&wait=1s", "/collect/top"} {
		if w := ask(g, http.MethodGet, job+path); w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
	if diff := cmp.Diff([]time.Duration{10 * time.Second, 0, maxWait, time.Second, 0}, g.waits); diff != "" {
		t.Errorf("waits differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{5, 0}, g.cursors); diff != "" {
		t.Errorf("cursors differ (-want +got):\n%s", diff)
	}
}

// The client reads what the server writes.
func TestClientReadsResults(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{}
	page, err := restapi.ReadPage(ask(g, http.MethodGet, "/jobs/"+string(failedID)+"/collect/top?cursor=4").Result())
	want := msg.CollectPage{Epoch: 2, Next: 7, Records: []byte{1, 'x', 0xff}, End: true}
	if diff := cmp.Diff(want, page); diff != "" || err != nil {
		t.Errorf("error %v; page differs (-want +got):\n%s", err, diff)
	}
	var result restapi.Result
	if err := json.NewDecoder(ask(g, http.MethodGet, "/jobs/"+string(failedID)+"/result").Body).Decode(&result); err != nil {
		t.Fatal(err)
	}
	ended, _ := g.JobResult(t.Context(), failedID, 0)
	if diff := cmp.Diff(ended, result.JobEnded()); diff != "" {
		t.Errorf("result differs (-want +got):\n%s", diff)
	}
	if _, err := restapi.ReadPage(ask(g, http.MethodGet, "/jobs").Result()); !errors.Is(err, restapi.ErrNoPage) {
		t.Errorf("answer of another path: got error %v", err)
	}
	backwards := ask(g, http.MethodGet, "/jobs/"+string(failedID)+"/collect/top?cursor=4").Result()
	backwards.Header.Set(restapi.HeaderNext, "-1")
	if _, err := restapi.ReadPage(backwards); !errors.Is(err, restapi.ErrNoPage) {
		t.Errorf("a page before the first: got error %v", err)
	}
}

func TestOwnerDoorAsksForTheToken(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"no header": "", "another token": "Bearer open barley", "no token": "Bearer ", "another scheme": "Basic " + token, "no scheme": token,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "https://cluster/jobs", nil)
			r.Header.Set("Authorization", header)
			newServer(&fakeGateway{}).secure().ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "Bearer" || strings.Contains(w.Body.String(), token) {
				t.Errorf("got status %d: %s", w.Code, w.Body)
			}
		})
	}
}

// Any program on the network may connect. Only YARN's proxy, which names its users, gets an answer, and it
// may only view.
func TestProxyDoor(t *testing.T) {
	t.Parallel()
	job := "/jobs/" + string(runningID)
	for name, test := range map[string]struct {
		from, method, path string
		want               int
	}{
		"the proxy looks":                  {"10.0.0.1:4711", "GET", "/jobs", 200},
		"the proxy looks at the page":      {"10.0.0.1:4711", "GET", "/", 200},
		"the proxy reads metrics":          {"10.0.0.1:4711", "GET", "/metrics", 200},
		"another reads metrics":            {"10.0.0.2:4711", "GET", "/metrics", 403},
		"over IPv6's form of its address":  {"[::ffff:10.0.0.1]:4711", "GET", "/v1/overview", 200},
		"somebody else looks":              {"10.0.0.2:4711", "GET", "/jobs", 403},
		"somebody with a token":            {"10.0.0.2:4711", "GET", "/overview", 403},
		"the proxy cancels":                {"10.0.0.1:4711", "PATCH", job, 403},
		"the proxy shuts down":             {"10.0.0.1:4711", "DELETE", "/cluster", 403},
		"the proxy reads collected data":   {"10.0.0.1:4711", "GET", job + "/collect/top", 403},
		"the proxy fetches for the client": {"10.0.0.1:4711", "GET", job + "/result", 403},
		"an address that is none":          {"pipe", "GET", "/jobs", 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &fakeGateway{}
			w := httptest.NewRecorder()
			r := httptest.NewRequest(test.method, test.path, nil)
			r.RemoteAddr = test.from
			r.Header.Set("Authorization", "Bearer "+token)
			newServer(g).proxied().ServeHTTP(w, r)
			if w.Code != test.want {
				t.Errorf("got status %d, want %d: %s", w.Code, test.want, w.Body)
			}
			if g.shut || len(g.cancelled)+len(g.waits) > 0 {
				t.Error("the cluster was asked for more than a view")
			}
		})
	}
}

// TestThePageIsServed would catch a page without its files, one that leads out of the cluster's page below YARN's proxy, and one that
// runs the scripts of others.
func TestThePageIsServed(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]string{"/": "text/html", "/v1/": "text/html", "/page/page.js": "text/javascript", "/page/page.css": "text/css"} {
		w := ask(&fakeGateway{}, http.MethodGet, path)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Body.Len() == 0 {
			t.Errorf("%s: status %d, content type %q, %d bytes", path, w.Code, w.Header().Get("Content-Type"), w.Body.Len())
		}
		if policy := w.Header().Get("Content-Security-Policy"); kind == "text/html" && !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if len(w.Result().Cookies()) > 0 {
			t.Errorf("%s has cookies", path)
		}
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("If-None-Match", w.Header().Get("Etag"))
		again := httptest.NewRecorder()
		newServer(&fakeGateway{}).secure().ServeHTTP(again, r)
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s again: status %d, %d bytes", path, again.Code, again.Body.Len())
		}
	}
	if w := ask(&fakeGateway{}, http.MethodGet, "/page/other.js"); w.Code != http.StatusNotFound {
		t.Errorf("a file that is not there: status %d", w.Code)
	}
}
