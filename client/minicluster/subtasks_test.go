package minicluster_test

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
)

// TestSubtasksOfAJobAreKnownAfterItsEnd would catch tasks whose hosts do not report what REST shows of them: where they ran,
// when they entered their states, and what they have read and written.
func TestSubtasksOfAJobAreKnownAfterItsEnd(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "to be or not\n", "/in/b": "to be\n"})
	cluster := start(t, files)
	defer stop(t, cluster)
	e := &executor{cluster: cluster}
	if _, err := e.env(t, files).Execute(t.Context(), counted, ""); err != nil {
		t.Fatal(err)
	}
	job, err := cluster.Details(t.Context(), e.ended.Job)
	if err != nil {
		t.Fatal(err)
	}
	for _, vertex := range job.Vertices {
		v, err := subtasks.Of(&job, vertex.ID)
		if err != nil || len(v.Subtasks) != vertex.Parallelism {
			t.Fatalf("vertex %s has %d subtasks of %d, error %v", vertex.Name, len(v.Subtasks), vertex.Parallelism, err)
		}
		var traffic msg.Traffic
		for i, task := range v.Subtasks {
			last := time.Time{}
			for _, state := range []msg.ExecutionState{msg.ExecutionCreated, msg.ExecutionScheduled, msg.ExecutionDeploying, msg.ExecutionFinished} {
				at := task.Entered.At(state)
				if at.IsZero() || at.Before(last) {
					t.Errorf("%s, subtask %d: it was %s at %s, after %s", v.Name, i, state, at, last)
				}
				last = at
			}
			if task.State != msg.ExecutionFinished || task.Node == "" || task.Resource == "" {
				t.Errorf("%s, subtask %d: %+v", v.Name, i, task.TaskAttempt)
			}
			traffic.Add(task.Traffic)
		}
		if traffic != vertex.Traffic || traffic.ReadRecords+traffic.WriteRecords == 0 {
			t.Errorf("%s: its subtasks have the traffic %+v, and the vertex %+v", v.Name, traffic, vertex.Traffic)
		}
	}
}
