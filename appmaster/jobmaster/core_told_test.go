package jobmaster

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
)

// TestWhatWorkersTellIsKeptOnce would catch a JobMaster that keeps a copy for each connection of a worker while it waits after a takeover.
func TestWhatWorkersTellIsKeptOnce(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.commands(
		"vertex read 2 splits=n1", "vertex sum 2", "vertex write 1", "edge 0 1 blocking", "edge 1 2", "start epoch=2 taken=yes waves=yes", "rm registered",
	)
	told := msg.TaskStateChange{
		Execution: ids.ExecutionAttemptID{Epoch: 1}, State: msg.ExecutionFinished, Counters: map[string]int64{"words": 3},
		Partitions: []msg.WrittenPartition{{}}, User: &msg.UserMetrics{Dropped: 1},
	}
	for connection := range 3 {
		s.command(fmt.Sprintf("register %d w1 n1 serves=n1:7", connection))
		from := actor.Peer{Connection: actor.ConnectionID(connection), Resource: "w1"}
		s.core.Step(s.now, taskExecutorSaid{From: from, Message: msg.HeldPartitions{Tasks: []msg.TaskStateChange{told}}})
	}
	kept := s.core.told.tasks
	if got := kept[told.Execution]; len(kept) != 1 || got.by != s.core.byResource["w1"] || !reflect.DeepEqual(got.task, told) || s.core.told.bytes != got.size() {
		t.Errorf("it keeps %+v", s.core.told)
	}
}

// TestWhatWorkersTellHasItsRoom would catch a JobMaster that needs more memory than its job reserves while it waits after a takeover, and
// one that therefore adopts fewer tasks.
func TestWhatWorkersTellHasItsRoom(t *testing.T) {
	t.Parallel()
	const tasks = 400
	for name, test := range map[string]struct {
		graph   []string
		written []msg.WrittenPartition
		adopted int
	}{
		"nothing is adopted":        {[]string{"vertex log 400 splits=n1", "vertex read 1 splits=n1", "vertex sum 1", "edge 1 2"}, nil, 0},
		"the tasks are adopted too": {[]string{"vertex read 400 splits=n1", "vertex sum 1", "vertex write 1", "edge 0 1 blocking", "edge 1 2"}, []msg.WrittenPartition{{}}, tasks},
	} {
		s := newScript(t)
		s.commands(append(test.graph, "start epoch=2 taken=yes waves=yes", "rm registered", "register 1 w1 n1 serves=n1:7")...)
		c, most := s.core, 0
		room := msg.JobCounterRoom(c.graph.Total()) + msg.JobMetricRoom(c.graph.Total())
		for subtask := range tasks {
			c.Step(s.now, taskExecutorSaid{From: actor.Peer{Connection: 1, Resource: "w1"}, Message: msg.HeldPartitions{Tasks: []msg.TaskStateChange{{
				Execution: ids.ExecutionAttemptID{Epoch: 1, Subtask: subtask}, State: msg.ExecutionFinished, Inputs: []uint64{1},
				Counters: manyCounters(8), User: userMetrics(s, map[string]string{"depth": "1"}), Partitions: test.written,
			}}}})
			sum := 0
			for _, h := range c.told.tasks {
				sum += h.size()
			}
			if left := c.counters.left() + c.user.Left(); sum > left || sum != c.told.bytes {
				t.Fatalf("%s: what is told takes %d bytes, by account %d, and adopted tasks leave %d of %d", name, sum, c.told.bytes, left, room)
			}
			most = max(most, len(c.told.tasks))
		}
		if adopted := c.graph.Counts(0)[msg.ExecutionFinished]; adopted != test.adopted || most < tasks/2 || most == tasks {
			t.Errorf("%s: %d tasks of %d are adopted, want %d; it keeps what is told of %d, want a part", name, adopted, tasks, test.adopted, most)
		}
	}
}

// TestMetricsGiveWayToTasks would catch a task that runs again only because its metrics have no room, and metrics that are missing without
// a word.
func TestMetricsGiveWayToTasks(t *testing.T) {
	t.Parallel()
	task := func(counters, gauges, dropped int) held {
		user := &msg.UserMetrics{Metrics: append([]msg.UserMetric(nil), make([]msg.UserMetric, gauges)...), Dropped: dropped}
		return held{task: msg.TaskStateChange{Counters: manyCounters(counters), User: user}}
	}
	before, whole, rest := task(1, 0, 0), task(3, 5, 1), task(3, 0, 6)
	for name, test := range map[string]struct {
		most int
		want []held
	}{
		"all has room":             {whole.size(), []held{whole}},
		"its metrics have no room": {whole.size() - 1, []held{rest}},
		"only the task has room":   {rest.size(), []held{rest}},
		"nothing of the task does": {rest.size() - 1, nil},
	} {
		var all told
		all.keep(before, before.size())
		all.keep(whole, test.most)
		bytes := 0
		for _, h := range test.want {
			bytes += h.size()
		}
		if got := slices.Collect(maps.Values(all.tasks)); !reflect.DeepEqual(got, test.want) || all.bytes != bytes {
			t.Errorf("%s: it keeps %+v, and %d bytes by account; want %+v", name, got, all.bytes, test.want)
		}
	}
}

// TestEarlierTasksGiveWay would catch tasks that run again because the metrics of others take their room, and all tasks that run again
// because some have no room any more.
func TestEarlierTasksGiveWay(t *testing.T) {
	t.Parallel()
	const tasks, gauges = 100, 5
	task := func(n int) held {
		user := &msg.UserMetrics{Metrics: make([]msg.UserMetric, gauges)}
		return held{task: msg.TaskStateChange{Execution: ids.ExecutionAttemptID{Subtask: n}, User: user}}
	}
	var all told
	most := tasks * task(0).withoutMetrics().size()
	for n := range tasks {
		all.keep(task(n), most)
	}
	if len(all.tasks) != tasks || all.bytes > most {
		t.Fatalf("it keeps %d tasks of %d in %d bytes, want at most %d", len(all.tasks), tasks, all.bytes, most)
	}
	for n, h := range all.tasks {
		if user := h.task.User; user.Hidden()+len(user.Metrics) != gauges {
			t.Errorf("task %d has %d metrics and misses %d, want %d together", n.Subtask, len(user.Metrics), user.Hidden(), gauges)
		}
	}
	for _, test := range []struct{ most, least int }{{most, tasks}, {most - 1, tasks * 7 / 8}, {most / 2, tasks * 7 / 16}, {1, 0}, {0, 0}, {-1, 0}} {
		all.fit(test.most)
		if got := len(all.tasks); got < test.least || all.bytes > max(0, test.most) {
			t.Errorf("it keeps %d tasks in %d bytes when there are %d, want at least %d", got, all.bytes, test.most, test.least)
		}
		for n := range all.tasks {
			if n.Subtask >= len(all.tasks) {
				t.Errorf("it keeps task %d of %d", n.Subtask, len(all.tasks))
			}
		}
	}
}

// TestWhatIsToldTakesNoMoreThanItsRoom would catch an estimate that no longer covers what is told: the Dispatcher then accepts more jobs
// than the ApplicationMaster has memory for.
func TestWhatIsToldTakesNoMoreThanItsRoom(t *testing.T) {
	gauges := func(n int) func(*msg.TaskStateChange) {
		return func(c *msg.TaskStateChange) {
			c.User = &msg.UserMetrics{}
			for i := range n {
				c.User.Metrics = append(c.User.Metrics, msg.UserMetric{Kind: metrics.KindGauge, Name: fmt.Sprint("g", i)})
			}
		}
	}
	for name, fill := range map[string]func(*msg.TaskStateChange){
		"nothing else":  func(*msg.TaskStateChange) {},
		"a counter":     func(c *msg.TaskStateChange) { c.Counters = manyCounters(1) },
		"many counters": func(c *msg.TaskStateChange) { c.Counters = manyCounters(100) },
		"a partition": func(c *msg.TaskStateChange) {
			c.Partitions, c.Inputs = make([]msg.WrittenPartition, 1), make([]uint64, 1)
		},
		"a gauge":     gauges(1),
		"many gauges": gauges(40),
		"some histogram": func(c *msg.TaskStateChange) {
			c.User = &msg.UserMetrics{Metrics: []msg.UserMetric{{Kind: metrics.KindHistogram, Name: "length", Summary: &metrics.Summary{}}}}
		},
	} {
		const most = 2 << 20
		before := heaptest.InUse()
		var all told
		for n := 0; len(all.tasks) == n; n++ {
			c := msg.TaskStateChange{Execution: ids.ExecutionAttemptID{Epoch: 1, Subtask: n}, State: msg.ExecutionFinished}
			fill(&c)
			data, err := codec.Encode(msg.HeldPartitions{Tasks: []msg.TaskStateChange{c}})
			if err != nil {
				t.Fatal(err)
			}
			received, err := codec.Decode(data, msg.TaskExecutorToJobMaster)
			if err != nil {
				t.Fatal(err)
			}
			all.keep(held{task: received.(msg.HeldPartitions).Tasks[0]}, most)
			if n == 10_000 {
				t.Fatalf("%s: it keeps all", name)
			}
		}
		took := int(heaptest.InUse() - before)
		t.Logf("%s: %d tasks take %d bytes of %d", name, len(all.tasks), took, most)
		if took > most {
			t.Errorf("%s: %d tasks take %d bytes, more than their room of %d", name, len(all.tasks), took, most)
		}
		runtime.KeepAlive(all)
	}
}
