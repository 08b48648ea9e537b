package appmaster

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/prom"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// tasksOf are jobs with one vertex of so many subtasks each, the first of which is not deployed. Each of the others reads a record
// in a second.
func tasksOf(t *testing.T, parallelism ...int) measured {
	t.Helper()
	var jobs []msg.JobOverview
	vertices := make(map[ids.JobID]msg.VertexSubtasks)
	for i, p := range parallelism {
		id := ids.JobID(fmt.Sprintf("job%d", i))
		jobs = append(jobs, msg.JobOverview{ID: id, Name: "count", TotalTasks: p})
		v := msg.VertexSubtasks{VertexDetails: msg.VertexDetails{ID: "v1", Name: "read", Splits: msg.SplitProgress{Read: 3, All: 7}}, Operators: []string{"read", "parse"}, Subtasks: make([]msg.Subtask, p)}
		read := msg.TaskMetrics{
			Traffic: msg.Traffic{ReadRecords: 10}, Activity: msg.Activity{Idle: 4 * time.Second, BackPressured: 4 * time.Second, Now: msg.TaskBackPressured},
			Queues: msg.Queues{In: 2, InUsage: msg.WholeUsage, OutUsage: msg.WholeUsage},
		}
		for s := 1; s < p; s++ {
			v.Subtasks[s].Resource, v.Subtasks[s].Node = "w1", "node2"
			v.Subtasks[s].Sample = msg.TaskSample{Now: read, Until: read, Over: 10 * time.Second}
			v.Subtasks[s].User = &msg.UserMetrics{Dropped: 1, Metrics: []msg.UserMetric{
				{Operator: 1, Kind: metrics.KindGauge, Name: "depth", Value: 4},
				{Operator: 1, Kind: metrics.KindCounter, Name: "lines", Value: 3},
				{Operator: 0, Kind: metrics.KindMeter, Name: "calls", Value: 2, Rate: 0.5},
			}}
		}
		vertices[id] = v
	}
	return measured{
		host: "node1",
		jobs: func(context.Context) ([]msg.JobOverview, error) { return jobs, nil },
		details: func(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
			if job == "job0" { // it ends before it is asked
				return msg.JobDetails{}, msg.ErrJobNotFound
			}
			v, known := vertices[job]
			if !known {
				return msg.JobDetails{}, msg.ErrJobNotFound
			}
			return msg.JobDetails{Name: "count", Status: msg.JobRunning, Vertices: []msg.VertexDetails{v.VertexDetails}}, nil
		},
		subtasks: func(_ context.Context, job ids.JobID, _ string) (msg.VertexSubtasks, error) {
			if v, known := vertices[job]; known {
				return v, nil
			}
			return msg.VertexSubtasks{}, msg.ErrJobNotFound
		},
	}
}

// TestMetricsOfTasksAreBounded would catch a job of ten thousand tasks that makes Prometheus' text fill the memory, a sum that
// leaves out a subtask, and a job that hides others because it has just ended.
func TestMetricsOfTasksAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	samples, err := tasksOf(t, 5, 3, 10_000, maxShownTasks-4, 2).eachTask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values(t, samples)
	got := make(map[string]float64)
	series := 0
	for _, s := range samples {
		switch s.Name {
		case "numRecordsIn":
			series++
			got[s.Scope.Label(metrics.LabelJobID)+" "+s.Scope.Label(metrics.LabelSubtaskIndex)] += s.Value
		case "depth", "lines", "calls", "callsCount", "numMetricsDropped":
			got[s.Name+" "+s.Scope.Label(metrics.LabelJobID)] += s.Value
		case "numSplits", "numSplitsRead":
			got[s.Name+" "+s.Scope.Label(metrics.LabelJobID)+" "+s.Scope.Label(metrics.LabelTaskName)] += s.Value
		case "Metrics.jobsSummed", "Metrics.jobsOmitted":
			got[s.Name] = s.Value
		}
	}
	for key, want := range map[string]float64{
		"job1 1": 10, "job1 2": 10, "job2 ": 99_990, "job3 17": 10, "Metrics.jobsSummed": 1, "Metrics.jobsOmitted": 1,
		"numSplits job1 read": 7, "numSplitsRead job2 read": 3,
		"depth job1": 8, "depth job2": 0, "lines job2": 29_997, "calls job2": 0, "callsCount job2": 19_998, "numMetricsDropped job1": 2, "numMetricsDropped job2": 9999,
	} {
		if got[key] != want {
			t.Errorf("%s: %v, want %v", key, got[key], want)
		}
	}
	if want := 2 + 1 + maxShownTasks - 5; series != want {
		t.Errorf("%d series of a metric, want %d", series, want)
	}
}

// TestNoShareOfASumIsAboveItsRange would catch a vertex of many subtasks that is busy for more than all of each second, whose pool is
// used more than whole, and a mean that counts subtasks which have ended.
func TestNoShareOfASumIsAboveItsRange(t *testing.T) {
	t.Parallel()
	m := tasksOf(t, 1, 2*maxShownTasks)
	all := m.subtasks
	m.subtasks = func(ctx context.Context, job ids.JobID, vertex string) (msg.VertexSubtasks, error) {
		v, err := all(ctx, job, vertex)
		for s := range maxShownTasks {
			v.Subtasks[s].Sample.Over = 0 // it has ended
		}
		return v, err
	}
	samples, err := m.eachTask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, s := range samples {
		d, known := metrics.Lookup(s.Scope.Level, s.Name)
		if s.Scope.Level == metrics.Operator || !known {
			continue
		}
		got[s.Name] = s.Value
		most := math.Inf(1)
		switch d.Unit {
		case metrics.Fraction:
			most = 1
		case metrics.MsPerSecond:
			most = 1000
		}
		if s.Value > most {
			t.Errorf("%s of %s is %v, and its unit is %s", s.Name, s.Scope.Label(metrics.LabelTaskName), s.Value, d.Unit)
		}
	}
	for name, want := range map[string]float64{"busyTimeMsPerSecond": 200, "idleTimeMsPerSecond": 400, "backPressuredTimeMsPerSecond": 400, "buffers.inputQueueLength": 2 * (2*maxShownTasks - 1)} {
		if d := got[name] - want; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for _, name := range []string{"isBackPressured", "buffers.inPoolUsage", "buffers.outPoolUsage"} {
		if sum, has := got[name]; has {
			t.Errorf("%s, a share, has a sum: %v", name, sum)
		}
	}
}

// TestSumsOfUsersCodeAreBounded would catch a job of many tasks whose counters all have other names, which make Prometheus' text fill the
// memory, and counters that are left out and not counted.
func TestSumsOfUsersCodeAreBounded(t *testing.T) {
	t.Parallel()
	m := tasksOf(t, 1, 2*maxShownUser, 2*maxShownUser)
	all := m.subtasks
	m.subtasks = func(ctx context.Context, job ids.JobID, vertex string) (msg.VertexSubtasks, error) {
		v, err := all(ctx, job, vertex)
		for s := 1; s < len(v.Subtasks); s++ {
			v.Subtasks[s].User = &msg.UserMetrics{Metrics: []msg.UserMetric{{Kind: metrics.KindCounter, Name: fmt.Sprint("n", s), Value: 1}}}
		}
		return v, err
	}
	samples, err := m.eachTask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown, dropped := 0, 0
	for _, s := range samples {
		if s.Scope.Level == metrics.Operator {
			shown++
		}
		if s.Name == "numMetricsDropped" {
			dropped += int(s.Value)
		}
	}
	if want := 2 * (2*maxShownUser - 1); shown != maxShownUser || shown+dropped != want {
		t.Errorf("%d counters are shown, and %d dropped, of %d", shown, dropped, want)
	}
}

// TestMetricsOfUsersCodeAreBounded would catch a hundred small jobs, each of whose tasks has hundreds of metrics, that make
// Prometheus' text fill the memory, and metrics that are left out and not counted.
func TestMetricsOfUsersCodeAreBounded(t *testing.T) {
	t.Parallel()
	const jobs, each = 100, 300
	m := tasksOf(t, slices.Repeat([]int{2}, jobs+1)...)
	all := m.subtasks
	m.subtasks = func(ctx context.Context, job ids.JobID, vertex string) (msg.VertexSubtasks, error) {
		v, err := all(ctx, job, vertex)
		user := &msg.UserMetrics{Metrics: make([]msg.UserMetric, each)}
		for i := range user.Metrics {
			user.Metrics[i] = msg.UserMetric{Kind: metrics.KindGauge, Name: fmt.Sprint("depth", i)}
		}
		v.Subtasks[1].User = user
		return v, err
	}
	samples, err := m.eachTask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown, dropped := 0, 0
	for _, s := range samples {
		if s.Scope.Level == metrics.Operator {
			shown++
		}
		if s.Name == "numMetricsDropped" {
			dropped += int(s.Value)
		}
	}
	if shown > maxShownUser || shown <= maxShownUser-each || shown+dropped != jobs*each {
		t.Errorf("%d metrics are shown, and %d dropped, of %d", shown, dropped, jobs*each)
	}
}

// TestHistogramsOfUsersCodeCountBySeries would catch histograms that count as one metric each: in the text each has eight series, and
// ten thousand take 25 MB.
func TestHistogramsOfUsersCodeCountBySeries(t *testing.T) {
	t.Parallel()
	const jobs, each = 28, 180 // of each kind
	m := tasksOf(t, slices.Repeat([]int{2}, jobs+1)...)
	all := m.subtasks
	m.subtasks = func(ctx context.Context, job ids.JobID, vertex string) (msg.VertexSubtasks, error) {
		v, err := all(ctx, job, vertex)
		user := &msg.UserMetrics{}
		for i := range each {
			user.Metrics = append(user.Metrics,
				msg.UserMetric{Kind: metrics.KindHistogram, Name: fmt.Sprint("size", i), Summary: &metrics.Summary{}},
				msg.UserMetric{Kind: metrics.KindMeter, Name: fmt.Sprint("calls", i)})
		}
		v.Subtasks[1].User = user
		return v, err
	}
	ofOperators := func(ctx context.Context) ([]metrics.Sample, error) {
		samples, err := m.eachTask(ctx)
		return slices.DeleteFunc(samples, func(s metrics.Sample) bool { return s.Scope.Level != metrics.Operator }), err
	}
	page := prom.Render(httptest.NewRequest(http.MethodGet, "/metrics", nil), ofOperators, logrus.New())
	series := 0
	for line := range strings.Lines(string(page.Body)) {
		if strings.HasPrefix(line, "bobbin_taskmanager_job_task_operator_") {
			series++
		}
	}
	const ofTask = each * (8 + 2)
	if series > maxShownUser || series <= maxShownUser-ofTask {
		t.Errorf("the text has %d series of operators, and there is room for %d", series, maxShownUser)
	}
}

// TestMetricsOfAVertex would catch subtasks that nobody can tell apart, one that is shown before it is deployed, and an error for a
// job that has ended.
func TestMetricsOfAVertex(t *testing.T) {
	t.Parallel()
	m := tasksOf(t, 2, 3)
	subtasks, err := m.ofVertex(t.Context(), "job1", "v1")
	if err != nil {
		t.Fatal(err)
	}
	var samples []metrics.Sample
	for s := range subtasks {
		samples = s.Append(samples)
	}
	var scopes []string
	for _, s := range samples {
		if s.Name == "numRecordsInPerSecond" && s.Value == 1 {
			scopes = append(scopes, fmt.Sprint(s.Scope.Labels))
		}
	}
	const labels = "[{host node2} {tm_id w1} {job_id job1} {job_name count} {task_id v1} {task_name read} {subtask_index %d}]"
	if want := fmt.Sprintf(labels+"\n"+labels, 1, 2); strings.Join(scopes, "\n") != want {
		t.Errorf("scopes are\n%s\nwant\n%s", strings.Join(scopes, "\n"), want)
	}
	i := slices.IndexFunc(samples, func(s metrics.Sample) bool { return s.Name == "depth" })
	if i < 0 || samples[i].Value != 4 || samples[i].Scope.Level != metrics.Operator || samples[i].Scope.Label(metrics.LabelOperatorName) != "parse" {
		t.Errorf("the metrics of the code are not those of its operator: %+v", samples)
	}
	if samples, err := m.ofCoordinator(t.Context(), "job1", "v1"); err != nil || len(samples) != 2 || samples[0].Value != 7 || samples[1].Value != 3 {
		t.Errorf("the splits of a vertex: %v, %v", samples, err)
	}
	if samples, err := m.ofCoordinator(t.Context(), "job1", "v2"); err != nil || len(samples) > 0 {
		t.Errorf("the splits of another vertex: %v, %v", samples, err)
	}
	if subtasks, err := m.ofVertex(t.Context(), "job9", "v1"); err != nil || subtasks != nil {
		t.Errorf("a job that has ended has subtasks, or fails: %v", err)
	}
}
