package msg

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

func progressOf(reads map[int]int64) TasksProgress {
	var m TasksProgress
	for subtask := range 10_000 {
		if n, has := reads[subtask]; has {
			m.Tasks = append(m.Tasks, TaskProgress{
				Execution: ids.ExecutionAttemptID{Subtask: subtask}, Metrics: TaskMetrics{Traffic: Traffic{ReadRecords: n}},
			})
		}
	}
	return m
}

// TestAWaitingReportIsTakenIn would catch the progress of a task that is lost, or goes back, because a
// later report about other tasks replaced the one that waited; and a report that grows while a peer is
// frozen.
func TestAWaitingReportIsTakenIn(t *testing.T) {
	t.Parallel()
	older, newer := progressOf(map[int]int64{1: 10, 2: 20}), progressOf(map[int]int64{2: 21, 3: 30})
	got := make(map[int]int64)
	for _, p := range Join(older, newer).(TasksProgress).Tasks {
		got[p.Execution.Subtask] = p.Metrics.ReadRecords
	}
	if diff := cmp.Diff(map[int]int64{1: 10, 2: 21, 3: 30}, got); diff != "" {
		t.Errorf("joined progress differs (-want +got):\n%s", diff)
	}
	if len(older.Tasks) != 2 || len(newer.Tasks) != 2 {
		t.Error("Join has changed its arguments")
	}
	many := make(map[int]int64)
	for subtask := range MaxProgress {
		many[subtask] = 1
	}
	full := progressOf(many)
	joined := Join(full, progressOf(map[int]int64{MaxProgress: 1})).(TasksProgress)
	if len(joined.Tasks) != MaxProgress || joined.Tasks[0].Execution.Subtask != MaxProgress {
		t.Errorf("a full report and one of another task have %d tasks, the first is %v", len(joined.Tasks), joined.Tasks[0])
	}
	if m := Join(SlotReport{Slots: make([]SlotStatus, 1)}, SlotReport{}); len(m.(SlotReport).Slots) != 0 {
		t.Errorf("an older message of another kind counts: %v", m)
	}
}

// TestWaitingMetricsOfUsersAreTakenIn would catch metrics that are lost because the newer report says nothing of them, and a
// report that is too long to send.
func TestWaitingMetricsOfUsersAreTakenIn(t *testing.T) {
	t.Parallel()
	report := func(users map[int]int) (m TasksProgress) {
		for subtask := range 10 {
			size, has := users[subtask]
			if !has {
				continue
			}
			p := TaskProgress{Execution: ids.ExecutionAttemptID{Subtask: subtask}}
			if size > 0 {
				p.User = &UserMetrics{Metrics: []UserMetric{{Name: strings.Repeat("n", size)}}}
			}
			m.Tasks = append(m.Tasks, p)
		}
		return m
	}
	older, newer := report(map[int]int{1: 11, 2: 12, 3: 13, 4: MaxProgressMetrics - 300, 5: 15}), report(map[int]int{2: 0, 3: 23, 6: 0})
	got := make(map[int]int)
	for _, p := range Join(older, newer).(TasksProgress).Tasks {
		if got[p.Execution.Subtask] = 0; p.User != nil {
			got[p.Execution.Subtask] = len(p.User.Metrics[0].Name)
		}
	}
	// The metrics of 3 are newer, and those of 4 have no room.
	if diff := cmp.Diff(map[int]int{1: 11, 2: 12, 3: 23, 4: 0, 5: 15, 6: 0}, got); diff != "" {
		t.Errorf("joined metrics differ (-want +got):\n%s", diff)
	}
	if newer.Tasks[0].User != nil {
		t.Error("Join has changed its arguments")
	}
}

// TestProgressOfManyWorkersIsRare would catch an interval with which the reports of all workers fill the
// master, and one that lets the users of a small job wait.
func TestProgressOfManyWorkersIsRare(t *testing.T) {
	t.Parallel()
	for tasks, want := range map[int]time.Duration{0: time.Second, 999: time.Second, 2500: 2500 * time.Millisecond, 20_000: 10 * time.Second} {
		if got := ProgressInterval(tasks); got != want {
			t.Errorf("job of %d tasks: every %s, want %s", tasks, got, want)
		}
	}
}
