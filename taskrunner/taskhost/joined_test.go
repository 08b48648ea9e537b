package taskhost

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// TestStatesThatWaitGoTogether would catch one message for each of thousands of states, one message
// that is too long to send, and a state that is lost, repeated or out of order.
func TestStatesThatWaitGoTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var batch []msg.Message
		next := 0
		change := func(size int) msg.TaskStateChange {
			next++
			return msg.TaskStateChange{
				Execution: ids.ExecutionAttemptID{Subtask: next - 1},
				Failure:   &msg.Failure{Stack: strings.Repeat("s", size)},
			}
		}
		for range rapid.IntRange(0, 8).Draw(t, "messages") {
			states := rapid.IntRange(0, 600).Draw(t, "states") // 0: something else
			if states == 0 {
				batch = append(batch, msg.RequestSplit{Execution: ids.ExecutionAttemptID{Subtask: next}})
				next++
				continue
			}
			size := rapid.SampledFrom([]int{0, 20 << 10}).Draw(t, "size")
			var m msg.TaskStatesChanged
			for range states {
				m.Changes = append(m.Changes, change(size))
			}
			batch = append(batch, m)
		}
		if rapid.Bool().Draw(t, "large") {
			batch = append(batch, msg.TaskStatesChanged{Changes: []msg.TaskStateChange{change(2 * maxJoined)}})
		}
		all := joined(batch)
		var told []int
		previous := 0 // size of the message before, if that has states
		for _, m := range all {
			changed, is := m.(msg.TaskStatesChanged)
			if !is {
				told = append(told, m.(msg.RequestSplit).Execution.Subtask)
				previous = 0
				continue
			}
			size := 0
			for _, c := range changed.Changes {
				told = append(told, c.Execution.Subtask)
				size += c.Size()
			}
			if n := len(changed.Changes); n == 0 || n > 1 && size > maxJoined || previous > 0 && previous+changed.Changes[0].Size() <= maxJoined {
				t.Errorf("a message of %d states, %d bytes, comes behind one of %d bytes", n, size, previous)
			}
			previous = size
		}
		want := make([]int, next)
		for i := range want {
			want[i] = i
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %v, want all %d in their order", told, next)
		}
	})
}

// TestHonestMessagesAreShortEnough would catch a host that is ended because it reports what its tasks
// may have, and a bound with room for messages that no honest host sends.
func TestHonestMessagesAreShortEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	last := ids.ExecutionAttemptID{Vertex: math.MaxInt, Subtask: math.MaxInt, Attempt: math.MaxInt}
	const most = math.MaxInt64
	busy := msg.TaskMetrics{
		Traffic:  msg.Traffic{ReadRecords: most, WriteRecords: most, ReadBytes: most, WriteBytes: most, ReadBuffers: most, WriteBuffers: most},
		Activity: msg.Activity{Idle: most, BackPressured: most, Now: msg.TaskBackPressured},
		Queues:   msg.Queues{In: most, Out: most, InUsage: most, OutUsage: most},
	}
	failure := msg.NewFailure(strings.Repeat("m", 1<<20), strings.Repeat("s", 1<<20))
	failure.PeerLost, failure.Permanent = ids.HostID(strings.Repeat("h", 64)), true
	failed := func(names int, format string) msg.TaskStateChange {
		c := msg.TaskStateChange{Execution: last, State: msg.ExecutionCanceling, Failure: failure, Counters: make(map[string]int64), Metrics: busy}
		u := newUserMetrics(rooms{counters: msg.TaskCounterRoom(1 << 20), shown: msg.TaskMetricRoom(1)}, func(error) {}, func(int, string) {})
		for n := range names {
			operatorMetrics{u, 0}.Counter(fmt.Sprintf(format, n)).Add(math.MinInt64)
		}
		for n := range 1000 {
			operatorMetrics{u, math.MaxInt}.Histogram(fmt.Sprint(n)).Update(-1.25)
		}
		c.Counters, c.User = u.counts(), u.measured(testEpoch)
		return c
	}
	c := newCore("h1", testGraph(), Cancellation{time.Second, time.Second})
	var all measured
	user := failed(0, "").User
	for subtask := range 3 * msg.MaxProgress {
		id := last
		id.Subtask -= subtask
		c.tasks[id] = &taskState{}
		all.Tasks = append(all.Tasks, msg.TaskProgress{Execution: id, Metrics: busy, User: user})
	}
	longest := 0
	for name, m := range map[string]msg.Message{
		"many short names": msg.TaskStatesChanged{Changes: []msg.TaskStateChange{failed(1<<16, "%d")}},
		"long names":       msg.TaskStatesChanged{Changes: []msg.TaskStateChange{failed(1<<16, "%4000d")}},
		"progress":         c.measured(all)[0].(send).Message,
		"batch":            msg.CollectBatch{Execution: last, Sequence: math.MaxInt64, Records: make([]byte, operator.MaxCollectBatch)},
		"end":              msg.HostLost{Host: "h1", Failure: *failure},
	} {
		data, err := codec.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", name, len(data))
		longest = max(longest, len(data))
		if changed, is := m.(msg.TaskStatesChanged); is && len(data) > changed.Changes[0].Size() {
			t.Errorf("%s: a change of %d bytes is taken for one of %d", name, len(data), changed.Changes[0].Size())
		}
	}
	if longest > msg.MaxWorkerMessage || longest < msg.MaxWorkerMessage/4 {
		t.Errorf("the longest message has %d bytes, and the bound is %d", longest, msg.MaxWorkerMessage)
	}
}

// TestProgressOfManyTasksTakesTurns would catch a report that is too long to send, and tasks whose
// progress is never reported.
func TestProgressOfManyTasksTakesTurns(t *testing.T) {
	t.Parallel()
	const tasks = 5 * msg.MaxProgress / 2
	c := newCore("h1", testGraph(), Cancellation{time.Second, time.Second})
	var all measured
	for subtask := range tasks {
		id := ids.ExecutionAttemptID{Subtask: subtask}
		c.tasks[id] = &taskState{}
		all.Tasks = append(all.Tasks, msg.TaskProgress{Execution: id, Metrics: msg.TaskMetrics{Traffic: msg.Traffic{ReadBytes: 1}}})
	}
	told := make(map[ids.ExecutionAttemptID]bool)
	reports := 0
	for effects := c.measured(all); len(effects) > 0 && reports < 10; effects = c.measured(all) {
		reports++
		for _, progress := range effects[0].(send).Message.(msg.TasksProgress).Tasks {
			told[progress.Execution] = true
		}
	}
	if len(told) != tasks || reports != 3 {
		t.Errorf("%d of %d tasks are reported in %d messages", len(told), tasks, reports)
	}
	for i := range all.Tasks { // all move all the time
		all.Tasks[i].Metrics.ReadBytes = 2
	}
	clear(told)
	for range 3 {
		for _, progress := range c.measured(all)[0].(send).Message.(msg.TasksProgress).Tasks {
			told[progress.Execution] = true
			c.tasks[progress.Execution].reported = msg.TaskMetrics{}
		}
	}
	if len(told) != tasks {
		t.Errorf("%d of %d tasks that move all the time are reported", len(told), tasks)
	}
}
