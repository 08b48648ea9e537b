package jobmaster

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
)

// TestSubtasksAreKeptWhileThereIsRoom would catch subtasks that are lost with the end of their job, a job whose end fills the
// ApplicationMaster's memory or what is stored, and one that keeps a part of its subtasks.
func TestSubtasksAreKeptWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.commands(
		"vertex read 2 splits=n1", "vertex count 1", "edge 0 1",
		"start", "rm registered", "register 1 w1 n1", "offer 1 a1 a2", "ready 1 h1",
		"state 1 e1-v0-s0-a0 FAILED boom", "state 1 e1-v0-s1-a0 CANCELED", "state 1 e1-v1-s0-a0 CANCELED", "wait 1s",
	)
	var end []effect
	for _, task := range []string{"e1-v0-s0-a1", "e1-v0-s1-a1", "e1-v1-s0-a1"} {
		end, _ = s.stepper.Step(s.now, s.event([]string{"state", "1", task, "FINISHED"}, nil))
	}
	last, is := end[len(end)-1].(ended)
	if !is {
		t.Fatalf("the job has not ended: %v", end)
	}
	size, vertices := msg.MaxEndedSubtasks+1, last.Details.Vertices
	for _, test := range []struct{ kept, earlier bool }{{true, true}, {true, false}, {false, false}} {
		most := size - 1
		if !test.earlier { // as if there were a byte less than the last time
			s.core.keepSubtasks(vertices, most)
		}
		size = 0
		for v := range vertices {
			size += len(vertices[v].Subtasks)
			got, err := subtasks.Decode(vertices[v].Subtasks)
			var want []msg.Subtask
			if test.kept {
				want = slices.Clone(s.core.subtasks(v))
			}
			for i := range want {
				if len(want[i].Earlier) != 1 {
					t.Errorf("a subtask has the earlier attempts %+v", want[i].Earlier)
				}
				if !test.earlier {
					want[i].Earlier = nil
				}
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(msg.Traffic{})); err != nil || diff != "" || !test.kept && vertices[v].Subtasks != nil {
				t.Errorf("%d bytes: vertex %d: error %v, (-want +got):\n%s", most, v, err, diff)
			}
		}
		if size > most {
			t.Errorf("they take %d bytes, more than %d", size, most)
		}
	}
}

// TestSubtasksHaveWhatTheirTasksDo would catch a vertex whose tasks are shown with the work of other tasks, and
// counters that appear only when a task has finished.
func TestSubtasksHaveWhatTheirTasksDo(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.commands(
		"vertex read 2 splits=n1", "start", "rm registered", "register 1 w1 n1", "offer 1 a1 a2", "ready 1 h1",
		"state 1 e1-v0-s0-a0 RUNNING", "state 1 e1-v0-s1-a0 RUNNING", "wait 4s",
	)
	user := &msg.UserMetrics{Metrics: []msg.UserMetric{{Kind: metrics.KindCounter, Name: "lines", Value: 3}}}
	measured := msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: 7}, Activity: msg.Activity{Idle: time.Second, BackPressured: 2 * time.Second}}
	s.stepper.Step(s.now, taskExecutorSaid{
		From:    actor.Peer{Connection: 1, Resource: "w1"},
		Message: msg.TasksProgress{Tasks: []msg.TaskProgress{{Execution: s.task("e1-v0-s1-a0"), Metrics: measured, User: user}}},
	})
	answer := s.core.vertexSubtasks(s.graph.PublicID(0))
	want := []msg.Subtask{
		{TaskAttempt: s.core.subtasks(0)[0].TaskAttempt},
		{TaskAttempt: s.core.subtasks(0)[1].TaskAttempt, Sample: msg.TaskSample{Now: measured, Until: measured, Over: 4 * time.Second}, User: user},
	}
	if diff := cmp.Diff(want, answer.Vertex.Subtasks, cmp.AllowUnexported(msg.Traffic{}, msg.UserMetrics{}, msg.UserMetric{})); answer.Err != nil || diff != "" || answer.Vertex.Name != "read" {
		t.Errorf("vertex %q, error %v (-want +got):\n%s", answer.Vertex.Name, answer.Err, diff)
	}
	for name, counters := range map[string]map[string]int64{"subtasks": answer.Vertex.Counters, "vertex": s.core.details().Vertices[0].Counters, "job": s.core.details().Counters} {
		if len(counters) != 1 || counters["lines"] != 3 {
			t.Errorf("counters of %s: %v", name, counters)
		}
	}
	if got := want[1]; got.Traffic.ReadRecords != 7 || got.Times != (msg.TaskTimes{Busy: time.Second, Idle: time.Second, BackPressured: 2 * time.Second}) {
		t.Errorf("the task that was measured has %+v", got)
	}
}
