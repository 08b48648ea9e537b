package taskexecutor

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// servingWorker has a job with a host that is ready, and a disk.
func servingWorker(t *testing.T) *fuzzed {
	t.Helper()
	config := testConfig(2)
	config.PartitionDisks = 1
	return workerOf(t, config)
}

// fileSize is the size of each partition that finish makes, in bytes.
const fileSize = 30

// finish deploys a task, and has it finish with partitions of these outputs.
func (w *fuzzed) finish(task, outputs int, counters map[string]int64) {
	execution := w.deploy(task)
	change := msg.TaskStateChange{Execution: execution, State: msg.ExecutionFinished, Counters: counters}
	for output := range outputs {
		change.Partitions = append(change.Partitions, msg.WrittenPartition{Output: output, Bytes: fileSize})
	}
	w.step(hostSaid{w.host, msg.TaskStatesChanged{Changes: []msg.TaskStateChange{change}}})
}

func (w *fuzzed) deploy(task int) ids.ExecutionAttemptID {
	execution, j := ids.ExecutionAttemptID{Epoch: 1, Subtask: task}, w.core.jobs["j1"]
	w.step(roleSaid{j.link.id, msg.DeployTasks{Host: j.host.as, Tasks: []msg.TaskDeployment{{Execution: execution}}}})
	return execution
}

// reconnect has the JobMaster lose the worker and admit it again, and gives what it is told.
func (w *fuzzed) reconnect() []msg.HeldPartitions {
	link := w.core.jobs["j1"].link.id
	w.step(linkLost{Link: link, Cause: "reset"})
	w.step(woken{})
	link = w.core.jobs["j1"].link.id
	w.step(linkOpened{link})
	w.sent = nil
	w.step(roleSaid{link, msg.RegisteredAtJobMaster{JobMaster: "m1", HeartbeatInterval: 1e9, HeartbeatTimeout: 60e9}})
	w.step(hostSaid{w.host, msg.HostReady{Host: w.core.jobs["j1"].host.as}})
	var held []msg.HeldPartitions
	for _, m := range w.sent {
		if m, is := m.(msg.HeldPartitions); is {
			held = append(held, m)
		}
	}
	return held
}

// TestInventoriesFitIntoMessages would catch tasks that are missing in an inventory of several messages, and a message that the
// JobMaster refuses for its length.
func TestInventoriesFitIntoMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tasks, counters, messages int
	}{
		"nothing":                            {0, 0, 1},
		"few tasks":                          {3, 1, 1},
		"as many as fit":                     {msg.MaxHeld, 0, 3}, // of 256 KiB
		"tasks with many counters, one each": {3, 10_000, 3},
	} {
		w := servingWorker(t)
		counters := make(map[string]int64)
		for i := range c.counters {
			counters[fmt.Sprintf("counter %d", i)] = 1 << 40
		}
		for task := range c.tasks {
			w.finish(task, 1, counters)
		}
		held := w.reconnect()
		told := make(map[ids.ExecutionAttemptID]bool)
		for i, m := range held {
			if encoded, err := codec.Encode(m); err != nil || len(encoded) > msg.MaxWorkerMessage || m.Last != (i == len(held)-1) {
				t.Errorf("%s: message %d of %d has %d bytes, last: %t; %v", name, i, len(held), len(encoded), m.Last, err)
			}
			for _, task := range m.Tasks {
				told[task.Execution] = len(task.Partitions) == 1 && len(task.Counters) == c.counters
			}
		}
		if len(told) != c.tasks || len(held) != c.messages {
			t.Errorf("%s: %d tasks in %d messages", name, len(told), len(held))
		}
		for task, whole := range told {
			if !whole {
				t.Errorf("%s: task %s is reported without its partition or its counters", name, task)
			}
		}
	}
}

// TestReportsWithoutRoomAreNotKept would catch counters that fill the memory of the worker, and partitions that stay for a JobMaster
// that cannot know of them.
func TestReportsWithoutRoomAreNotKept(t *testing.T) {
	t.Parallel()
	w := servingWorker(t)
	counters := map[string]int64{strings.Repeat("c", maxReports/5): 1}
	for task := range 6 {
		w.finish(task, 2, counters)
	}
	if w.core.partitions != 12 || w.core.reports > maxReports {
		t.Errorf("it serves %d partitions, with %d bytes of reports", w.core.partitions, w.core.reports)
	}
	if held := w.reconnect(); len(held) != 4 || w.core.partitions != 8 {
		t.Errorf("it tells of them in %d messages, and then serves %d", len(held), w.core.partitions)
	}
	w.finish(7, 1, nil) // there is room for others
	if w.core.jobs["j1"].finished[ids.ExecutionAttemptID{Epoch: 1, Subtask: 7}].report == nil {
		t.Error("a small report is not kept")
	}
	w.finish(8, 1, map[string]int64{strings.Repeat("c", msg.MaxWorkerMessage): 1})
	if w.core.jobs["j1"].finished[ids.ExecutionAttemptID{Epoch: 1, Subtask: 8}].report != nil {
		t.Error("a report is kept for which no message has room")
	}
}

// TestFinishedTasksHaveNoFailure would catch texts of any length that stay in the worker's memory beside the report of a task, and that
// make its message too long for the JobMaster.
func TestFinishedTasksHaveNoFailure(t *testing.T) {
	t.Parallel()
	w := servingWorker(t)
	w.deploy(0)
	w.step(hostSaid{w.host, msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{
		Execution: ids.ExecutionAttemptID{Epoch: 1}, State: msg.ExecutionFinished,
		Failure: msg.NewFailure("x", ""), Partitions: []msg.WrittenPartition{{}},
	}}}})
	if w.core.partitions != 0 || !w.killed {
		t.Errorf("it serves %d partitions; the host was killed: %t", w.core.partitions, w.killed)
	}
}

// TestTasksWithoutPartitionsGiveWay would catch a worker that forgets a finished task as soon as its partitions are released, so that the
// next master runs it again for its counters; and one whose memory fills with such tasks, so that others with partitions are lost.
func TestTasksWithoutPartitionsGiveWay(t *testing.T) {
	t.Parallel()
	w := servingWorker(t)
	counters := map[string]int64{strings.Repeat("c", maxReports/5): 1} // four have room
	w.finish(0, 0, counters)
	w.finish(1, 1, counters)
	w.finish(2, 0, counters)
	w.finish(3, 0, counters)
	w.step(roleSaid{2, msg.ReleasePartitions{Partitions: []ids.PartitionID{{Execution: ids.ExecutionAttemptID{Epoch: 1, Subtask: 1}}}}})
	told := func() (tasks []int) {
		for _, m := range w.reconnect() {
			for _, task := range m.Tasks {
				tasks = append(tasks, task.Execution.Subtask)
			}
		}
		return tasks
	}
	if tasks := told(); !slices.Equal(tasks, []int{0, 1, 2, 3}) || w.core.partitions != 0 {
		t.Errorf("it tells of tasks %v, and serves %d partitions", tasks, w.core.partitions)
	}
	w.finish(4, 0, counters) // no room
	w.finish(5, 1, counters)
	if tasks := told(); !slices.Equal(tasks, []int{5}) || w.core.reports > maxReports {
		t.Errorf("when there is no room, it tells of tasks %v", tasks)
	}
}

// TestAHostCannotFillTheTable would catch a worker that keeps as many partitions as a host claims to have.
func TestAHostCannotFillTheTable(t *testing.T) {
	t.Parallel()
	w := servingWorker(t)
	most := 1 << 13
	for task := 0; task < maxJobPartitions/most; task++ {
		w.finish(task, most, nil)
	}
	again := msg.TaskStateChange{Execution: ids.ExecutionAttemptID{Epoch: 1}, State: msg.ExecutionFinished, Partitions: []msg.WrittenPartition{{}}}
	w.step(hostSaid{w.host, msg.TaskStatesChanged{Changes: []msg.TaskStateChange{again}}}) // adds nothing
	if w.core.partitions != maxJobPartitions || w.killed {
		t.Fatalf("it serves %d partitions; the host was killed: %t", w.core.partitions, w.killed)
	}
	w.finish(99, 1, nil)
	if w.core.partitions != maxJobPartitions || !w.killed {
		t.Errorf("it serves %d partitions; the host was killed: %t", w.core.partitions, w.killed)
	}
	w.step(roleSaid{2, msg.Disconnect{Cause: "job has ended"}})
	if w.core.partitions != 0 || w.core.reports != 0 {
		t.Errorf("of a job that has ended there are %d partitions, and %d bytes of reports", w.core.partitions, w.core.reports)
	}
}

// TestTooManyPartitionsEndTheirHost would catch a job that runs three times to a limit that no attempt can meet, one that fails for good
// because of the partitions of others, which may be removed, and one whose hosts are ended here one after the other until then.
func TestTooManyPartitionsEndTheirHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own, others int
		permanent   bool
		reason      msg.HostLostReason
	}{
		"of one job":  {maxJobPartitions, 0, true, msg.HostFailed},
		"of all jobs": {0, maxPartitions, false, msg.HostFull},
	} {
		w := servingWorker(t)
		written := msg.TaskStateChange{Execution: w.deploy(0), State: msg.ExecutionFinished, Partitions: []msg.WrittenPartition{{}}}
		w.core.jobs["j1"].partitions, w.core.partitions = c.own, c.own+c.others
		effects := w.core.Step(w.now, hostSaid{w.host, msg.TaskStatesChanged{Changes: []msg.TaskStateChange{written}}})
		effects = append(effects, w.core.Step(w.now, hostExited{w.host, Exit{How: "signal: killed"}})...)
		var lost []msg.HostLost
		for _, e := range effects {
			sent, _ := e.(sendRole)
			if m, is := sent.Message.(msg.HostLost); is {
				lost = append(lost, m)
			}
		}
		if len(lost) != 1 || lost[0].Failure.Permanent != c.permanent || lost[0].Reason != c.reason {
			t.Errorf("too many partitions %s: the JobMaster is told %+v", name, lost)
		}
		if w.core.jobs["j1"].host != nil {
			t.Errorf("too many partitions %s: another host starts", name)
		}
	}
}

// BenchmarkFinishedTask says how much memory a finished task with one partition and three counters takes.
func BenchmarkFinishedTask(b *testing.B) {
	b.ReportAllocs()
	config := testConfig(2)
	config.PartitionDisks = 1
	c, err := newCore(config)
	if err != nil {
		b.Fatal(err)
	}
	j := &job{id: "j1", host: &host{id: "h1", tasks: make(map[ids.ExecutionAttemptID][]uint64)}}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	held := 0
	for b.Loop() {
		if held++; held > maxJobPartitions {
			continue
		}
		change := msg.TaskStateChange{
			Execution: ids.ExecutionAttemptID{Epoch: 1, Subtask: held}, State: msg.ExecutionFinished,
			Counters: map[string]int64{"a": 1, "b": 2, "c": 3}, Partitions: []msg.WrittenPartition{{}},
		}
		j.host.tasks[change.Execution] = nil
		c.now, c.effects = testEpoch, nil
		c.hold(j, change)
	}
	c.effects = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(min(held, maxJobPartitions)), "B/held")
	runtime.KeepAlive(j)
}
