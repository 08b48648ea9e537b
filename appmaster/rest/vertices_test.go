package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/flinkrest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/testing/heldtest"
)

// TestStatisticsAreFlinks computes the statistics of the subtasks that a real Flink has described, and compares them with
// Flink's own. It would catch another mean or percentile than Flink's, and a sum that counts a time that never was as 0.
func TestStatisticsAreFlinks(t *testing.T) {
	t.Parallel()
	corpus, err := flinkrest.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, e := range corpus.Endpoints {
		if e.Path != "/jobs/:jobid/vertices/:vertexid" {
			continue
		}
		for _, a := range e.Answers {
			if a.Status != http.StatusOK {
				continue
			}
			var want restapi.JobVertexDetails
			if err := json.Unmarshal(a.Body, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Aggregated, aggregatedOf(want.Subtasks)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", a.Case, diff)
			}
			compared++
		}
	}
	if compared < 5 {
		t.Errorf("%d answers were compared", compared)
	}
}

// TestSubtasksThatAreNotThere would catch a refusal with another status than Flink's, or without a reason that users
// understand.
func TestSubtasksThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := newServer(&fakeGateway{start: time.Now()})
	ask := func(s *Server, path string) (int, string) {
		w := httptest.NewRecorder()
		s.Unguarded().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/jobs/"+string(runningID)+"/vertices/"+path, nil))
		return w.Code, w.Body.String()
	}
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		runningVertex + "/subtasks/2":                         {http.StatusNotFound, "has no subtask 2, only 0 to 1"},
		runningVertex + "/subtasks/-1":                        {http.StatusBadRequest, "-1"},
		runningVertex + "/subtasks/0/attempts/3":              {http.StatusNotFound, "has no attempt 3, or it is not kept"},
		runningVertex + "/subtasks/0/attempts/x":              {http.StatusBadRequest, "is no attempt"},
		runningVertex + "/subtasks/0/attempts/7/accumulators": {http.StatusNotFound, "has no attempt 7"},
		strings.Repeat("e", 32):                               {http.StatusNotFound, "vertex not found"},
		"v":                                                   {http.StatusBadRequest, "32 hex digits"},
		runningVertex + "?backpressure=much":                  {http.StatusBadRequest, "neither true nor false"},
	} {
		if status, text := ask(s, path); status != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%s: status %d: %s", path, status, text)
		}
	}
	gone := newServer(&fakeGateway{start: time.Now(), err: fmt.Errorf("%w: of job 1", msg.ErrSubtasksGone)})
	for path, want := range map[string]int{"": http.StatusNotFound, "/subtasktimes": http.StatusNotFound, "/backpressure": http.StatusOK} {
		if status, text := ask(gone, runningVertex+path); status != want || want != http.StatusOK && !strings.Contains(text, "too many of them") {
			t.Errorf("subtasks that are not kept, %q: status %d: %s", path, status, text)
		}
	}
}

// TestLevelsAreFlinks would catch a task whose consumers are too slow, and that looks well.
func TestLevelsAreFlinks(t *testing.T) {
	t.Parallel()
	for ratio, want := range map[float64]string{0: "ok", 0.1: "ok", 0.11: "low", 0.5: "low", 0.51: "high", 1: "high"} {
		if got := levelOf(ratio); got != want {
			t.Errorf("%v is %s, want %s", ratio, got, want)
		}
	}
}

// wideGateway has a job with one vertex of many subtasks.
type wideGateway struct {
	fakeGateway
	subtasks []msg.Subtask
}

func (g *wideGateway) VertexSubtasks(context.Context, ids.JobID, string) (msg.VertexSubtasks, error) {
	return msg.VertexSubtasks{VertexDetails: msg.VertexDetails{ID: runningVertex, Name: "read", Parallelism: len(g.subtasks)}, Subtasks: g.subtasks}, nil
}

// TestAWideVertexFits would catch an answer about 10,000 subtasks that fills the ApplicationMaster's memory. Package budget has
// room for a view of four times the length of its answer: the text is written into buffers of up to twice its length.
func TestAWideVertexFits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	const subtasks = 10_000
	g := &wideGateway{subtasks: make([]msg.Subtask, subtasks)}
	for i := range g.subtasks {
		g.subtasks[i].TaskAttempt = msg.TaskAttempt{
			State: msg.ExecutionRunning, Resource: ids.ResourceID(fmt.Sprintf("container_1795356515783_0001_01_%06d", i/8)), Node: "node-001.example.com",
			Traffic: msg.Traffic{ReadRecords: 1 << 30, ReadBytes: 1 << 40, WriteRecords: 1 << 30, WriteBytes: 1 << 40},
		}
		for state, at := range []int64{0, 1, 2, 3} {
			g.subtasks[i].Entered[state] = 1_795_356_515_783 + at
		}
		g.subtasks[i].Sample = sampleOf(1./3, 1./3)
	}
	s := newServer(g)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.SetPathValue("job", string(runningID))
	r.SetPathValue("vertex", runningVertex)
	for name, handle := range map[string]func(*http.Request) (any, error){
		"vertex": s.vertex, "times": s.subtaskTimes, "workers": s.vertexTaskManagers, "back-pressure": s.backPressure, "accumulators": s.subtasksAccumulators,
	} {
		view, err := handle(r)
		if err != nil {
			t.Fatal(err)
		}
		length, held := len(s.replyOf(r, http.StatusOK, view).body), heldtest.By(view)
		t.Logf("%s: %d bytes for an answer of %d", name, held, length)
		if length < 100*subtasks || held > 2*length {
			t.Errorf("%s: a view of %d bytes, for an answer of %d", name, held, length)
		}
	}
}
