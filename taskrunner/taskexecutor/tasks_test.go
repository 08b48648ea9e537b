package taskexecutor

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestTheTasksOfAHostAreMeasured would catch a task that is shown after its end, an attempt that continues the counts of the
// last one, a rate since the begin of the task, and tasks that stay after the reset of their host.
func TestTheTasksOfAHostAreMeasured(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	first, next := ids.ExecutionAttemptID{Vertex: 1, Subtask: 2}, ids.ExecutionAttemptID{Vertex: 1, Subtask: 2, Attempt: 1}
	var all tasks
	all.pass(deploys(first), start)
	all.hear(reads(first, 1), start)
	if list := all.list(start); len(list) > 0 {
		t.Errorf("without a port there are %+v", list)
	}
	var room measuredRoom
	all.begin(msg.JobSpec{ID: "j1", Name: "count", Digest: "d"}, 4, &room)
	all.pass(deploys(first), start)
	for second := range 61 { // 100 records in a second, and 1000 in the last ones
		records := int64(100 * second)
		if second > 40 {
			records += 900 * int64(second-40)
		}
		all.hear(reads(first, records), at(second))
	}
	all.pass(deploys(first), at(60)) // the message is repeated
	list := all.list(at(60))
	if len(list) != 1 {
		t.Fatalf("there are %+v", list)
	}
	rate := list[0].Sample.Rate(func(m msg.TaskMetrics) int64 { return m.ReadRecords })
	want := (&jobgraph.JobGraph{Digest: "d"}).PublicID(1)
	if one := list[0]; rate != 1000 || one.Sample.Now.ReadRecords != 24_000 || one.Times.Busy != time.Minute || one.JobName != "count" || one.Vertex != want || one.Subtask != 2 {
		t.Errorf("%v records in a second, %+v", rate, one)
	}
	for range 2 {
		all.hear(becomes(first, msg.ExecutionFailed), at(61))
	}
	if list := all.list(at(61)); len(list) > 0 {
		t.Errorf("after the end there are %+v", list)
	}
	all.pass(deploys(next), at(62))
	all.hear(reads(next, 5), at(62))
	if list := all.list(at(62)); len(list) != 1 || list[0].Sample.Now.ReadRecords != 5 {
		t.Errorf("of the next attempt there are %+v", list)
	}
	all.hear(msg.HostReady{}, at(64))
	if list := all.list(at(64)); len(list) > 0 || room.taken.Load() != 0 {
		t.Errorf("after a reset there are %d tasks, and %d have room", len(list), room.taken.Load())
	}
}

func deploys(tasks ...ids.ExecutionAttemptID) msg.Message {
	var m msg.DeployTasks
	for _, id := range tasks {
		m.Tasks = append(m.Tasks, msg.TaskDeployment{Execution: id})
	}
	return m
}

func becomes(id ids.ExecutionAttemptID, s msg.ExecutionState) msg.Message {
	return msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{Execution: id, State: s}}}
}

func reads(id ids.ExecutionAttemptID, records int64) msg.Message {
	return msg.TasksProgress{Tasks: []msg.TaskProgress{{Execution: id, Metrics: msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: records}}}}}
}

// TestUsersCodeDoesNotChooseWhatAWorkerShows would catch a task host that makes up tasks, each of which becomes series of
// Prometheus, and hosts that fill the worker's memory together, or its text, or take the room of others for ever; a task that is never measured because
// there was no room when it began; and messages that cross a host's end and take room for good.
func TestUsersCodeDoesNotChooseWhatAWorkerShows(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	s := &shell{hosts: map[ids.HostID]*hostControl{"h1": {job: "j1"}, "h2": {job: "j2"}}}
	worker := &TaskExecutor{}
	worker.shell.Store(s)
	one, other := s.hosts["h1"], s.hosts["h2"]
	for _, h := range s.hosts {
		h.outbox = actor.NewOutbox[msg.Message](10, nil)
		h.measure(msg.JobSpec{ID: h.job}, 1, &s.measured)
	}
	for n := range 3 * mostMeasured {
		made := ids.ExecutionAttemptID{Vertex: n}
		one.hear(becomes(made, msg.ExecutionRunning), now)
		one.hear(reads(made, 1), now)
		one.hear(becomes(made, msg.ExecutionFailed), now)
		one.hear(reads(made, 1), now)
	}
	if all, omitted := worker.Tasks(now); len(all)+omitted > 0 {
		t.Errorf("a host has made up %d tasks, and %d are left out", len(all), omitted)
	}
	const each = mostMeasured/2 + 3
	many := make([]ids.ExecutionAttemptID, each)
	for n := range many {
		many[n] = ids.ExecutionAttemptID{Subtask: n}
	}
	for _, h := range s.hosts {
		h.pass(deploys(many...), now)
		for _, id := range many {
			h.hear(reads(id, 1), now)
		}
	}
	if all, omitted := worker.Tasks(now); len(all) != mostMeasured || omitted != 6 {
		t.Errorf("%d tasks, and %d are left out", len(all), omitted)
	}
	for _, id := range many {
		one.hear(becomes(id, msg.ExecutionFinished), now)
	}
	for _, id := range many {
		other.hear(reads(id, 2), now.Add(time.Second))
	}
	if all, omitted := worker.Tasks(now.Add(time.Second)); len(all) != each || omitted != 0 || slices.ContainsFunc(all, func(m MeasuredTask) bool {
		return m.Times.Busy != time.Second || m.Sample.Now.ReadRecords != 2
	}) {
		t.Errorf("when there is room, %d tasks are measured of %d: %+v", len(all), each, all)
	}
	other.ended()
	other.pass(deploys(many...), now)
	other.measure(msg.JobSpec{ID: other.job}, 1, &s.measured)
	other.pass(deploys(many...), now)
	if taken, omitted := s.measured.taken.Load(), s.measured.omitted.Load(); taken != 0 || omitted != 0 {
		t.Errorf("after the end of all tasks %d have room, and %d have none", taken, omitted)
	}
}

// TestTheCountsOfUsersCodeAreSummed would catch a counter that falls when a task ends or restarts, a counter of two operators that is
// one, a gauge that is summed, what a task counts before its end and after its last report, and metrics without bound.
func TestTheCountsOfUsersCodeAreSummed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	task := func(subtask, attempt int) ids.ExecutionAttemptID {
		return ids.ExecutionAttemptID{Vertex: 1, Subtask: subtask, Attempt: attempt}
	}
	counted := func(lines, calls float64) *msg.UserMetrics {
		return &msg.UserMetrics{Metrics: []msg.UserMetric{
			{Operator: 0, Kind: metrics.KindGauge, Name: "depth", Value: 4},
			{Operator: 0, Kind: metrics.KindCounter, Name: "lines", Value: lines},
			{Operator: 1, Kind: metrics.KindCounter, Name: "lines", Value: 2},
			{Operator: 1, Kind: metrics.KindMeter, Name: "calls", Value: calls, Rate: 0.5},
		}}
	}
	says := func(id ids.ExecutionAttemptID, m *msg.UserMetrics) msg.Message {
		return msg.TasksProgress{Tasks: []msg.TaskProgress{{Execution: id, User: m}}}
	}
	var room measuredRoom
	var all tasks
	all.begin(msg.JobSpec{ID: "j1", Name: "count", Digest: "d"}, 4, &room)
	all.pass(deploys(task(0, 0), task(1, 0)), now)
	all.hear(says(task(0, 0), counted(10, 5)), now)
	all.hear(says(task(1, 0), counted(20, math.NaN())), now)
	all.hear(says(task(9, 9), counted(1000, 1000)), now) // the JobMaster has not deployed it
	all.hear(says(task(0, 0), counted(15, 5)), now)
	all.hear(msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{Execution: task(1, 0), State: msg.ExecutionFailed, User: counted(21, 6)}}}, now)
	all.pass(deploys(task(1, 1)), now)
	all.hear(says(task(1, 1), counted(3, 1)), now)
	vertex := (&jobgraph.JobGraph{Digest: "d"}).PublicID(1)
	want := []MeasuredCount{
		{"j1", "count", vertex, 0, "lines", 15 + 21 + 3},
		{"j1", "count", vertex, 1, "callsCount", 5 + 6 + 1},
		{"j1", "count", vertex, 1, "lines", 2 + 2 + 2},
	}
	if got := all.counts(); !slices.Equal(got, want) {
		t.Errorf("the sums are %+v, want %+v", got, want)
	}

	many := &msg.UserMetrics{Dropped: 7}
	for i := range 2 * mostTaskCounts {
		many.Metrics = append(many.Metrics, msg.UserMetric{Kind: metrics.KindCounter, Name: fmt.Sprint("n", i), Value: 1})
	}
	all.pass(deploys(task(2, 0)), now)
	all.hear(says(task(2, 0), many), now)
	if dropped := all.running[task(2, 0)].dropped; len(all.counts()) != 3+mostTaskCounts || dropped != 7+mostTaskCounts {
		t.Errorf("of a task with many counters there are %d sums, and %d are dropped", len(all.counts()), dropped)
	}
	for subtask := 3; subtask < 20; subtask++ {
		for i := range many.Metrics {
			many.Metrics[i].Name = fmt.Sprint("n", subtask, "-", i)
		}
		all.pass(deploys(task(subtask, 0)), now)
		all.hear(says(task(subtask, 0), many), now)
	}
	if sums := len(all.counts()); sums != mostCounts || room.sums.Load() != mostCounts {
		t.Errorf("of many tasks there are %d sums, and %d have room", sums, room.sums.Load())
	}
	if all.close(); room.sums.Load() != 0 || len(all.counts()) > 0 {
		t.Errorf("after the end of the host %d sums have room", room.sums.Load())
	}
}
