package rest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// It would catch a truncated list of exceptions that does not say so, and a list of tasks before the job's
// failure is known, which Flink's clients do not expect.
func TestTaskExceptionsAreThoseOfTheTasksThatAreFailed(t *testing.T) {
	t.Parallel()
	lost := msg.ExceptionEntry{Task: "count (1/3)", Failure: msg.Failure{Message: "worker is lost"}}
	for name, c := range map[string]struct {
		failed    map[msg.ExecutionState]int
		root      *msg.ExceptionEntry
		tasks     []msg.ExceptionEntry
		told      int
		truncated bool
	}{
		"all of them":                 {map[msg.ExecutionState]int{msg.ExecutionFailed: 1, msg.ExecutionCanceled: 2}, &lost, []msg.ExceptionEntry{lost}, 1, false},
		"some of them":                {map[msg.ExecutionState]int{msg.ExecutionFailed: 3}, &lost, []msg.ExceptionEntry{lost, lost}, 2, true},
		"a job that has restarted":    {map[msg.ExecutionState]int{msg.ExecutionRunning: 3}, &lost, nil, 0, false},
		"the root cause is not known": {map[msg.ExecutionState]int{msg.ExecutionFailed: 1}, nil, []msg.ExceptionEntry{lost}, 0, false},
	} {
		got := exceptionsOf(msg.JobDetails{Root: c.root, TaskFailures: c.tasks, Vertices: []msg.VertexDetails{{Tasks: c.failed}}})
		if got.AllExceptions == nil || len(got.AllExceptions) != c.told || got.Truncated != c.truncated {
			t.Errorf("%s: tells of %d (%v), truncated %t, want %d and %t", name, len(got.AllExceptions), got.AllExceptions, got.Truncated, c.told, c.truncated)
		}
	}
}

// TestNoMoreExceptionsAreToldThanAreWanted would catch a client of Flink that requests one exception and
// gets a page of them.
func TestNoMoreExceptionsAreToldThanAreWanted(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct{ status, history, tasks int }{
		"":                   {200, 2, 1},
		"?maxExceptions=1":   {200, 1, 1},
		"?maxExceptions=0":   {200, 0, 0},
		"?maxExceptions=100": {200, 2, 1},
		"?maxExceptions=-1":  {400, 0, 0},
		"?maxExceptions=all": {400, 0, 0},
	} {
		w := httptest.NewRecorder()
		newServer(&fakeGateway{}).Unguarded().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/jobs/"+string(failedID)+"/exceptions"+query, nil))
		var told restapi.JobExceptions
		if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil {
			t.Fatal(err)
		}
		if w.Code != want.status || len(told.History.Entries) != want.history || len(told.AllExceptions) != want.tasks || told.History.Truncated != (w.Code == 200 && want.history < 2) {
			t.Errorf("%q: status %d, %d and %d are told, truncated %t", query, w.Code, len(told.History.Entries), len(told.AllExceptions), told.History.Truncated)
		}
	}
}
