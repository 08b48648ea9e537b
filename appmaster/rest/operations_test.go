package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestOperationsAreKnownForAWhile would catch a client that polls for ever, and an ApplicationMaster whose
// memory grows with each operation.
func TestOperationsAreKnownForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &operations{keep: 5 * time.Minute}
		good := o.triggered("a", nil)
		time.Sleep(time.Minute)
		bad := o.triggered("a", errors.New("boom"))
		for name, test := range map[string]struct {
			trigger, kind string
			failure       string
			known         bool
		}{
			"that went well":        {good.ID, "a", "", true},
			"that did not":          {bad.ID, "a", "boom", true},
			"of another kind":       {good.ID, "b", "", false},
			"that nobody asked for": {"1", "a", "", false},
		} {
			result, err := o.look(test.kind, test.trigger)
			if (err == nil) != test.known || !test.known && statusOf(err) != http.StatusNotFound {
				t.Errorf("one %s: %+v, %v", name, result, err)
				continue
			}
			failure := ""
			if test.known && result.Operation.FailureCause != nil {
				failure = result.Operation.FailureCause.StackTrace
			}
			if failure != test.failure || test.known && result.Status.ID != "COMPLETED" {
				t.Errorf("one %s: %+v", name, result)
			}
		}
		time.Sleep(4 * time.Minute)
		if _, err := o.look("a", good.ID); err == nil {
			t.Error("one is known after its time")
		}
		if _, err := o.look("a", bad.ID); err != nil {
			t.Errorf("one is forgotten before its time: %v", err)
		}
		for range 2 * maxOperations {
			o.triggered("b", nil)
		}
		if len(o.all) != maxOperations {
			t.Errorf("%d are kept", len(o.all))
		}
	})
}

// TestADataSetIsDeletedAsInFlink follows the pattern as a client does.
func TestADataSetIsDeletedAsInFlink(t *testing.T) {
	t.Parallel()
	server := newServer(&fakeGateway{})
	ask := func(method, path string, want int, into any) {
		t.Helper()
		w := httptest.NewRecorder()
		server.Unguarded().ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code != want {
			t.Fatalf("%s %s: status %d: %s", method, path, w.Code, w.Body)
		}
	}
	var trigger struct {
		ID string `json:"request-id"`
	}
	ask(http.MethodDelete, "/v1/datasets/1", http.StatusAccepted, &trigger)
	var result struct {
		Status struct{ ID string }
	}
	ask(http.MethodGet, "/v1/datasets/delete/"+trigger.ID, http.StatusOK, &result)
	if result.Status.ID != "COMPLETED" {
		t.Errorf("deletion is %s", result.Status.ID)
	}
}
