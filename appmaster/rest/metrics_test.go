package rest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/testing/heldtest"
)

// testMetrics are those of a master and of two workers. Some have the names that the recorded requests to Flink use.
func testMetrics() Metrics {
	of := func(level metrics.Level, labels ...metrics.Label) func(name string, value float64) metrics.Sample {
		return func(name string, value float64) metrics.Sample {
			return metrics.Sample{Scope: metrics.Scope{Level: level, Labels: labels}, Name: name, Kind: metrics.KindGauge, Value: value}
		}
	}
	source := func(samples ...metrics.Sample) metrics.Source {
		return func(context.Context) ([]metrics.Sample, error) { return samples, nil }
	}
	const mapped, segments = "Status.JVM.Memory.Mapped.TotalCapacity", "Status.Network.AvailableMemorySegments"
	master := of(metrics.JobManager, metrics.Label{Name: metrics.LabelHost, Value: "node1"})
	first := of(metrics.TaskManager, metrics.Label{Name: metrics.LabelHost, Value: "node2"}, metrics.Label{Name: metrics.LabelWorker, Value: "container_1_0001_01_000002"})
	second := of(metrics.TaskManager, metrics.Label{Name: metrics.LabelHost, Value: "node3"}, metrics.Label{Name: metrics.LabelWorker, Value: "container_1_0001_01_000003"})
	host := func(worker string, job ids.JobID) func(name string, value float64) metrics.Sample {
		return of(metrics.TaskHost, metrics.Label{Name: metrics.LabelWorker, Value: worker}, metrics.Label{Name: metrics.LabelJobID, Value: string(job)})
	}
	hostOf, otherHost, lastHost := host("container_1_0001_01_000002", runningID), host("container_1_0001_01_000003", emptyID), host("container_1_0001_01_000003", runningID)
	job := of(metrics.JobManagerJob, metrics.Label{Name: metrics.LabelJobID, Value: string(runningID)})
	var latencies metrics.Histogram
	latencies.Update(1)
	latencies.Update(2)
	latency := latencies.Summary()
	other := of(metrics.JobManagerJob, metrics.Label{Name: metrics.LabelJobID, Value: string(emptyID)})
	subtask := func(index int, value float64) []metrics.Sample {
		sample := of(metrics.Task, metrics.Label{Name: metrics.LabelSubtaskIndex, Value: strconv.Itoa(index)})
		return []metrics.Sample{sample("numRecordsIn", value), sample("busyTimeMsPerSecond", value/2)}
	}
	workers := workersOf(first(mapped, 1), first(segments, 275), hostOf("ofHost", 5), second(mapped, 3), second(segments, 292), otherHost("ofHost", 100), lastHost("ofHost", 9))
	called := master("Rpc.latency", 0)
	called.Kind, called.Summary = metrics.KindHistogram, &latency
	return Metrics{
		Scope:  master("", 0).Scope,
		Master: source(master(mapped, 0), master("taskSlotsAvailable", 19), master("load", 0.25), called),
		Jobs:   source(job("numRestarts", 2), job("initializingTime", 0), job("downtime", 0), job("lastCheckpointSize", 2671), other("numRestarts", 4)),
		Vertex: func(_ context.Context, id ids.JobID, vertex string) (iter.Seq[MeasuredSubtask], error) {
			if id != runningID || vertex != strings.Repeat("a", 32) {
				return nil, nil
			}
			user := of(metrics.Operator, metrics.Label{Name: metrics.LabelSubtaskIndex, Value: "1"}, metrics.Label{Name: metrics.LabelOperatorName, Value: "flat map, v1.0"})
			return measuredSubtasks(subtask(0, 10), append(subtask(1, 30), user("lines:read", 7))), nil
		},
		Coordinator: func(context.Context, ids.JobID, string) ([]metrics.Sample, error) {
			return []metrics.Sample{of(metrics.Vertex)("numSplits", 7), of(metrics.Vertex)("numSplitsRead", 3)}, nil
		},
		Workers: workers, Worker: namedOf(workers),
	}
}

// TestMetrics would catch a worker's number that is added to that of another worker, a parameter that is ignored, and
// numbers in a form that Flink's clients cannot read.
func TestMetrics(t *testing.T) {
	t.Parallel()
	vertex := "/jobs/" + string(runningID) + "/vertices/" + strings.Repeat("a", 32)
	for _, test := range []struct{ path, want string }{
		{"/jobmanager/metrics?get=taskSlotsAvailable,nothing,load", `[{"id":"taskSlotsAvailable","value":"19"},{"id":"load","value":"0.25"}]`},
		{"/jobmanager/metrics?get=load&get=load,Rpc.latency_max", `[{"id":"load","value":"0.25"},{"id":"Rpc.latency_max","value":"2"}]`},
		{"/taskmanagers/metrics", `[{"id":"Status.JVM.Memory.Mapped.TotalCapacity"},{"id":"Status.Network.AvailableMemorySegments"}]`},
		{"/taskmanagers/metrics?get=Status.Network.AvailableMemorySegments", `[{"id":"Status.Network.AvailableMemorySegments","min":275,"max":292,"avg":283.5,"sum":567,"skew":2.9982363315696645}]`},
		{"/taskmanagers/metrics?get=Status.JVM.Memory.Mapped.TotalCapacity,Status.Network.AvailableMemorySegments&agg=MIN,sum", `[{"id":"Status.JVM.Memory.Mapped.TotalCapacity","min":1,"sum":4},{"id":"Status.Network.AvailableMemorySegments","min":275,"sum":567}]`},
		{"/taskmanagers/metrics?get=Status.Network.AvailableMemorySegments&agg=sum&taskmanagers=container_1_0001_01_000003", `[{"id":"Status.Network.AvailableMemorySegments","sum":292}]`},
		{"/taskmanagers/metrics?get=Status.Network.AvailableMemorySegments&taskmanagers=nobody", `[]`},
		{"/taskmanagers/metrics?get=ofHost", `[]`},
		{vertex + "/jm-operator-metrics", `[{"id":"numSplits"},{"id":"numSplitsRead"}]`},
		{vertex + "/jm-operator-metrics?get=numSplitsRead", `[{"id":"numSplitsRead","value":"3"}]`},
		{"/taskmanagers/container_1_0001_01_000003/metrics?get=Status.Network.AvailableMemorySegments", `[{"id":"Status.Network.AvailableMemorySegments","value":"292"}]`},
		{"/taskmanagers/nobody/metrics", `[]`},
		{"/jobs/metrics?get=numRestarts&agg=sum", `[{"id":"numRestarts","sum":6}]`},
		{"/jobs/metrics?get=numRestarts&agg=max&jobs=" + string(runningID), `[{"id":"numRestarts","max":2}]`},
		{"/jobs/" + string(runningID) + "/metrics?get=numRestarts", `[{"id":"numRestarts","value":"2"}]`},
		{"/jobs/" + string(runningID) + "/metrics", `[{"id":"numRestarts"},{"id":"initializingTime"},{"id":"downtime"},{"id":"lastCheckpointSize"},{"id":"ofHost"}]`},
		{"/jobs/" + string(runningID) + "/metrics?get=ofHost,numRestarts", `[{"id":"ofHost","value":"9"},{"id":"numRestarts","value":"2"}]`},
		{"/jobs/metrics?get=ofHost&agg=min,max,sum&jobs=" + string(runningID), `[{"id":"ofHost","min":5,"max":9,"sum":14}]`},
		{"/jobs/metrics?get=ofHost&agg=max", `[{"id":"ofHost","max":100}]`},
		{"/jobs/" + string(failedID) + "/metrics", `[]`},
		{vertex + "/metrics", `[{"id":"0.numRecordsIn"},{"id":"0.busyTimeMsPerSecond"},{"id":"1.numRecordsIn"},{"id":"1.busyTimeMsPerSecond"},{"id":"1.flat_map__v1_0.lines_read"}]`},
		{vertex + "/metrics?get=1.flat_map__v1_0.lines_read", `[{"id":"1.flat_map__v1_0.lines_read","value":"7"}]`},
		{vertex + "/subtasks/1/metrics?get=flat_map__v1_0.lines_read", `[{"id":"flat_map__v1_0.lines_read","value":"7"}]`},
		{vertex + "/metrics?get=1.numRecordsIn,2.numRecordsIn", `[{"id":"1.numRecordsIn","value":"30"}]`},
		{vertex + "/subtasks/metrics", `[{"id":"numRecordsIn"},{"id":"busyTimeMsPerSecond"},{"id":"flat_map__v1_0.lines_read"}]`},
		{vertex + "/subtasks/metrics?get=numRecordsIn&agg=min,max,sum", `[{"id":"numRecordsIn","min":10,"max":30,"sum":40}]`},
		{vertex + "/subtasks/metrics?get=numRecordsIn&agg=sum&subtasks=1,4-9", `[{"id":"numRecordsIn","sum":30}]`},
		{vertex + "/subtasks/metrics?get=numRecordsIn&agg=sum&subtasks=5,0-0,3-9,2-7", `[{"id":"numRecordsIn","sum":10}]`},
		{vertex + "/subtasks/metrics?get=numRecordsIn&agg=sum&subtasks=1-3,0-1", `[{"id":"numRecordsIn","sum":40}]`},
		{vertex + "/subtasks/1/metrics?get=numRecordsIn,busyTimeMsPerSecond", `[{"id":"numRecordsIn","value":"30"},{"id":"busyTimeMsPerSecond","value":"15"}]`},
		{vertex + "/subtasks/2/metrics", `[]`},
		{strings.ReplaceAll(vertex, "a", "e") + "/metrics?get=0.numRecordsIn", `[]`},
	} {
		answer := ask(&fakeGateway{}, http.MethodGet, test.path)
		if got := strings.TrimSpace(answer.Body.String()); answer.Code != http.StatusOK || got != test.want {
			t.Errorf("GET %s: status %d: %s\nwant %s", test.path, answer.Code, got, test.want)
		}
	}
	if answer := ask(&fakeGateway{}, http.MethodGet, "/taskmanagers/metrics?get=x&agg=median"); answer.Code != http.StatusBadRequest {
		t.Errorf("an unknown aggregation: status %d: %s", answer.Code, answer.Body)
	}
}

// TestTheNamesOfAWideVertexFit would catch a list of names that takes several times the memory of its answer: see TestAWideVertexFits.
func TestTheNamesOfAWideVertexFit(t *testing.T) {
	t.Parallel()
	const subtasks, each = 10_000, 27
	own := make([]metrics.Sample, each)
	for i := range own {
		own[i] = metrics.Sample{Scope: metrics.Scope{Level: metrics.Task}, Name: fmt.Sprintf("metricOfAUsualName%d", i), Kind: metrics.KindGauge}
	}
	s := newServer(&fakeGateway{})
	s.config.Metrics.Vertex = func(context.Context, ids.JobID, string) (iter.Seq[MeasuredSubtask], error) {
		return measuredSubtasks(slices.Repeat([][]metrics.Sample{own}, subtasks)...), nil
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.SetPathValue("job", string(runningID))
	r.SetPathValue("vertex", runningVertex)
	view, err := s.vertexMetrics(r)
	if err != nil {
		t.Fatal(err)
	}
	length, held := len(s.replyOf(r, http.StatusOK, view).body), heldtest.By(view)
	if length < 20*each*subtasks || held > 2*length {
		t.Errorf("a view of %d bytes, for an answer of %d", held, length)
	}
}

// TestPrometheusText would catch a scope that the text leaves out, and a content type that Prometheus refuses.
func TestPrometheusText(t *testing.T) {
	t.Parallel()
	answer := ask(&fakeGateway{}, http.MethodGet, "/metrics")
	if kind := answer.Header().Get("Content-Type"); answer.Code != http.StatusOK || !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("status %d, %s", answer.Code, kind)
	}
	for _, line := range []string{
		`bobbin_jobmanager_taskSlotsAvailable{host="node1"} 19`, `bobbin_jobmanager_job_numRestarts{job_id="` + string(runningID) + `"} 2`,
		`bobbin_taskmanager_Status_Network_AvailableMemorySegments{host="node3",tm_id="container_1_0001_01_000003"} 292`,
		`bobbin_taskmanager_job_ofHost{job_id="` + string(runningID) + `",tm_id="container_1_0001_01_000002"} 5`, `bobbin_scrape_failed 0`,
	} {
		if !strings.Contains(answer.Body.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, answer.Body)
		}
	}
}

// portsGateway has a worker with a port for Prometheus, one without, and one that has sent no metrics yet.
type portsGateway struct{ fakeGateway }

func (*portsGateway) TaskExecutors(context.Context) ([]msg.TaskExecutorDetails, error) {
	return []msg.TaskExecutorDetails{
		{Resource: "w1", Host: "node1", Metrics: &msg.WorkerMetrics{Port: 9250}}, {Resource: "w2", Host: "node1", Metrics: &msg.WorkerMetrics{}}, {Resource: "w3", Host: "node2"},
	}, nil
}

// TestPrometheusFindsTheWorkers would catch a target that is none.
func TestPrometheusFindsTheWorkers(t *testing.T) {
	t.Parallel()
	const want = `[{"targets":["node1:9250"],"labels":{"__meta_bobbin_tm_id":"w1"}}]`
	answer := ask(&portsGateway{}, http.MethodGet, "/metrics/targets")
	if got := strings.TrimSpace(answer.Body.String()); answer.Code != http.StatusOK || got != want || !strings.HasPrefix(answer.Header().Get("Content-Type"), "application/json") {
		t.Errorf("status %d: %s\nwant %s", answer.Code, got, want)
	}
}

// measuredSubtasks are the subtasks with these samples.
func measuredSubtasks(samples ...[]metrics.Sample) iter.Seq[MeasuredSubtask] {
	return func(yield func(MeasuredSubtask) bool) {
		for i, own := range samples {
			if !yield(MeasuredSubtask{Index: i, Append: func(all []metrics.Sample) []metrics.Sample { return append(all, own...) }}) {
				return
			}
		}
	}
}

// workersOf has the workers of some samples, which stand together.
func workersOf(samples ...metrics.Sample) WorkerSource {
	return func(context.Context) (iter.Seq[MeasuredWorker], error) {
		return func(yield func(MeasuredWorker) bool) {
			for left := samples; len(left) > 0; {
				id := left[0].Scope.Label(metrics.LabelWorker)
				n := slices.IndexFunc(left, func(s metrics.Sample) bool { return s.Scope.Label(metrics.LabelWorker) != id })
				if n < 0 {
					n = len(left)
				}
				own := left[:n]
				if !yield(MeasuredWorker{ID: id, Samples: func() []metrics.Sample { return own }}) {
					return
				}
				left = left[n:]
			}
		}, nil
	}
}

// namedOf has the workers of a source one by one.
func namedOf(source WorkerSource) NamedWorker {
	return func(ctx context.Context, worker string) (samples []metrics.Sample, err error) {
		all, err := source(ctx)
		if err != nil {
			return nil, err
		}
		for w := range all {
			if w.ID == worker {
				samples = slices.DeleteFunc(slices.Clone(w.Samples()), func(s metrics.Sample) bool { return s.Scope.Level != metrics.TaskManager })
			}
		}
		return samples, nil
	}
}

// TestMetricsOfOneWorkerAskForThatOne would catch a list of workers whose charts each make the ResourceManager describe all workers,
// and a request with thousands of names that asks as many questions.
func TestMetricsOfOneWorkerAskForThatOne(t *testing.T) {
	t.Parallel()
	s := newServer(&fakeGateway{})
	all, one := s.config.Metrics.Workers, s.config.Metrics.Worker
	asked, named := 0, 0
	s.config.Metrics.Workers = func(ctx context.Context) (iter.Seq[MeasuredWorker], error) { asked++; return all(ctx) }
	s.config.Metrics.Worker = func(ctx context.Context, worker string) ([]metrics.Sample, error) { named++; return one(ctx, worker) }
	var many strings.Builder
	for i := range mostNamed {
		many.WriteString("," + strconv.Itoa(i))
	}
	for _, test := range []struct {
		path         string
		asked, named int
	}{
		{"/taskmanagers/" + workerID + "/metrics?get=x", 0, 1},
		{"/taskmanagers/metrics?taskmanagers=" + workerID + ",w2," + workerID, 0, 2},
		{"/taskmanagers/metrics?taskmanagers=" + workerID + many.String(), 1, 0},
		{"/taskmanagers/metrics", 1, 0},
	} {
		asked, named = 0, 0
		if w := askServer(s, http.MethodGet, test.path); w.Code != http.StatusOK || asked != test.asked || named != test.named {
			t.Errorf("%.100s: status %d; all workers were asked for %d times, and %d one by one", test.path, w.Code, asked, named)
		}
	}
}

// TestMetricsOfARoleThatDoesNotAnswer would catch a list that looks whole although a source has failed, and a text
// without the other sources.
func TestMetricsOfARoleThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := newServer(&fakeGateway{})
	s.config.Metrics.Workers = func(context.Context) (iter.Seq[MeasuredWorker], error) { return nil, errors.New("busy") }
	if answer := askServer(s, http.MethodGet, "/taskmanagers/metrics"); answer.Code != http.StatusInternalServerError {
		t.Errorf("list: status %d: %s", answer.Code, answer.Body)
	}
	job := "/jobs/" + string(runningID) + "/metrics"
	if answer := askServer(s, http.MethodGet, job); answer.Code != http.StatusInternalServerError {
		t.Errorf("a job with task hosts: status %d: %s", answer.Code, answer.Body)
	}
	if answer := askServer(s, http.MethodGet, job+"?get=numRestarts"); answer.Code != http.StatusOK { // it asks no worker
		t.Errorf("a job without them: status %d: %s", answer.Code, answer.Body)
	}
	s.config.Metrics.Worker = namedOf(s.config.Metrics.Workers)
	if answer := askServer(s, http.MethodGet, "/taskmanagers/"+workerID+"/metrics"); answer.Code != http.StatusInternalServerError {
		t.Errorf("one worker: status %d: %s", answer.Code, answer.Body)
	}
	answer := askServer(s, http.MethodGet, "/metrics")
	if body := answer.Body.String(); answer.Code != http.StatusOK || !strings.Contains(body, "bobbin_scrape_failed 1\n") || !strings.Contains(body, "bobbin_jobmanager_load") {
		t.Errorf("text: status %d: %s", answer.Code, body)
	}
}

// TestTheTokenToViewOnlyViews would catch a monitor that can end the cluster or read results.
func TestTheTokenToViewOnlyViews(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"GET /metrics": http.StatusOK, "GET /jobs": http.StatusOK, "PATCH /jobs/" + string(runningID): http.StatusForbidden,
		"GET /jobs/" + string(runningID) + "/result": http.StatusForbidden, "DELETE /cluster": http.StatusForbidden,
	} {
		s := newServer(&fakeGateway{})
		s.config.Viewer = pki.TokenOf("look")
		method, target, _ := strings.Cut(path, " ")
		for sent, want := range map[string]int{"look": want, "looks": http.StatusUnauthorized, "": http.StatusUnauthorized} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(method, target, nil)
			r.Header.Set("Authorization", "Bearer "+sent)
			if s.secure().ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s with %q: status %d, want %d: %s", path, sent, w.Code, want, w.Body)
			}
		}
	}
}

// TestNobodyReadsMetricsWithoutTheRight would catch a path that is open to everybody, as other programs' /metrics are.
func TestNobodyReadsMetricsWithoutTheRight(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/metrics", "/v1/metrics", "/jobmanager/metrics", "/taskmanagers/metrics"} {
		for _, route := range newServer(&fakeGateway{}).routes() {
			if strings.HasSuffix(route.pattern, " "+strings.TrimPrefix(path, "/v1")) && route.access != view {
				t.Errorf("%s needs the right %d, want that to view", route.pattern, route.access)
			}
		}
		w := httptest.NewRecorder()
		newServer(&fakeGateway{}).secure().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("GET %s without a token: status %d: %s", path, w.Code, w.Body)
		}
	}
}
