package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// timelineOf asks for the time line of a job whose vertices have these subtasks.
func timelineOf(t *testing.T, now time.Time, vertices ...[]msg.Subtask) restapi.JobTimeline {
	t.Helper()
	var job msg.JobDetails
	of := make(map[string]msg.VertexSubtasks)
	for i, tasks := range vertices {
		id := fmt.Sprint("v", i)
		vertex := msg.VertexDetails{ID: id, Name: "vertex", Parallelism: len(tasks)}
		for _, task := range tasks {
			vertex.Earlier += len(task.Earlier)
		}
		job.Vertices = append(job.Vertices, vertex)
		of[id] = msg.VertexSubtasks{Subtasks: tasks}
	}
	timeline, err := jobTimelineOf(job, func(v string) (msg.VertexSubtasks, error) { return of[v], nil }, now)
	if err != nil {
		t.Fatal(err)
	}
	return timeline
}

// TestATimelineIsBounded would catch an answer that grows with the job, attempts that are left out in silence, and attempts
// with another worker than their own.
func TestATimelineIsBounded(t *testing.T) {
	t.Parallel()
	const more = 7
	tasks := skewed(make([]int64, maxTimeline-1+more)...)
	tasks[0].Earlier = []msg.TaskAttempt{{State: msg.ExecutionFailed}}
	timeline := timelineOf(t, time.Now(), tasks)
	attempts := timeline.Vertices[0].Attempts
	if len(attempts) != maxTimeline || timeline.Omitted != more || timeline.Vertices[0].Omitted != more {
		t.Errorf("%d attempts, and %d left out", len(attempts), timeline.Omitted)
	}
	if attempts[0].Worker != -1 || attempts[0].Status != msg.ExecutionFailed {
		t.Errorf("the earlier attempt is %+v", attempts[0])
	}
	if last := attempts[4]; last.Subtask != 3 || timeline.Workers[last.Worker].ID != "w1" {
		t.Errorf("the attempt of subtask 3 is %+v", last)
	}
}

// TestEachVertexHasItsShareOfATimeline would catch a large job whose last vertices are not in its time line, and room that
// small vertices leave and nobody gets.
func TestEachVertexHasItsShareOfATimeline(t *testing.T) {
	t.Parallel()
	tasks := func(n int) []msg.Subtask { return make([]msg.Subtask, n) }
	for _, c := range []struct{ of, want []int }{
		{[]int{2 * maxTimeline, 10, 2 * maxTimeline, 1}, []int{maxTimeline/2 - 6, 10, maxTimeline/2 - 5, 1}},
		{[]int{maxTimeline - 1, 1}, []int{maxTimeline - 1, 1}},
	} {
		var vertices [][]msg.Subtask
		for _, n := range c.of {
			vertices = append(vertices, tasks(n))
		}
		var got []int
		for i, v := range timelineOf(t, time.Now(), vertices...).Vertices {
			got = append(got, len(v.Attempts))
			if v.ID != fmt.Sprint("v", i) || len(v.Attempts)+v.Omitted != c.of[i] {
				t.Errorf("vertex %d is %s, and leaves out %d", i, v.ID, v.Omitted)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("attempts of vertices with %v (-want +got):\n%s", c.of, diff)
		}
	}
}

// TestATimelineKeepsTheLongestAttempts would catch a time line that leaves out the one slow subtask that its reader looks
// for: one that still runs, one that has ended late, or one that waits; and a crowd that waits and so hides those that run.
func TestATimelineKeepsTheLongestAttempts(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	tasks := make([]msg.Subtask, 3*maxTimeline)
	for i := range tasks {
		tasks[i].State = msg.ExecutionFinished
		tasks[i].Entered[msg.ExecutionDeploying.Index()], tasks[i].Entered[msg.ExecutionFinished.Index()] = 900_000, 900_000+int64(i%100)
	}
	running, late := maxTimeline+77, 3*maxTimeline-1
	tasks[running].State, tasks[running].Entered[msg.ExecutionFinished.Index()] = msg.ExecutionRunning, 0
	tasks[late].Entered[msg.ExecutionFinished.Index()] = 990_000
	for i, since := range []int64{950_000, 940_000, 960_000} { // these wait
		tasks[i].State, tasks[i].Entered = msg.ExecutionScheduled, msg.StateTimes{}
		tasks[i].Entered[msg.ExecutionScheduled.Index()] = since
	}
	has := make(map[int]bool)
	last := -1
	for _, a := range timelineOf(t, now, tasks).Vertices[0].Attempts {
		has[a.Subtask] = true
		if a.Subtask <= last {
			t.Fatalf("subtask %d comes after %d", a.Subtask, last)
		}
		last = a.Subtask
	}
	if len(has) != maxTimeline || !has[running] || !has[late] || !has[0] || !has[1] || !has[2] {
		t.Errorf("%d subtasks; that runs %v, that ended late %v, that wait %v %v %v", len(has), has[running], has[late], has[0], has[1], has[2])
	}
	for i := range tasks { // a job in which most tasks wait for a slot
		if i > 2 && i != running && i != late {
			tasks[i].State, tasks[i].Entered = msg.ExecutionScheduled, msg.StateTimes{}
			tasks[i].Entered[msg.ExecutionScheduled.Index()] = 945_000
		}
	}
	clear(has)
	for _, a := range timelineOf(t, now, tasks).Vertices[0].Attempts {
		has[a.Subtask] = true
	}
	if len(has) != maxTimeline || !has[running] || !has[late] || !has[1] || has[0] || has[2] {
		t.Errorf("%d subtasks; that runs %v, that has ended %v, that waits longest %v, that wait less %v %v", len(has), has[running], has[late], has[1], has[0], has[2])
	}
}

// TestAVertexThatRestartsLeavesRoom would catch a vertex of few subtasks that were often restarted, which takes the room of larger
// ones.
func TestAVertexThatRestartsLeavesRoom(t *testing.T) {
	t.Parallel()
	restarted := make([]msg.Subtask, 10)
	for i := range restarted {
		restarted[i].Earlier = make([]msg.TaskAttempt, 399)
	}
	timeline := timelineOf(t, time.Now(), restarted, make([]msg.Subtask, 2000))
	if got := []int{len(timeline.Vertices[0].Attempts), len(timeline.Vertices[1].Attempts)}; got[0] != 3000 || got[1] != 2000 {
		t.Errorf("attempts of the vertices: %v", got)
	}
}

// TestATimelineOfOneVertex would catch an answer with the attempts of all vertices, of which the large ones have only a part,
// and one without attempts for a vertex that the job does not have.
func TestATimelineOfOneVertex(t *testing.T) {
	t.Parallel()
	path := "/jobs/" + string(runningID) + "/timeline?vertex="
	var timeline restapi.JobTimeline
	w := ask(&fakeGateway{}, http.MethodGet, path+waitingVertex)
	if err := json.Unmarshal(w.Body.Bytes(), &timeline); err != nil || len(timeline.Vertices) != 1 || timeline.Vertices[0].ID != waitingVertex {
		t.Errorf("answer %d %s: %v", w.Code, w.Body, err)
	}
	if w := ask(&fakeGateway{}, http.MethodGet, path+strings.Repeat("c", 32)); w.Code != http.StatusNotFound {
		t.Errorf("of a vertex that is not there: answer %d %s", w.Code, w.Body)
	}
}
