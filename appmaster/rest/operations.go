package rest

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// maxOperations is how many operations are kept; the oldest are dropped first.
const maxOperations = 1000

// operations are asynchronous operations: one request starts an operation, and others read its state by the
// trigger's id (Flink's CompletedOperationCache). They are kept for rest.async.store-duration. An operation
// that takes time would be IN_PROGRESS at first; there are none yet.
type operations struct {
	keep time.Duration

	mu  sync.Mutex // guards all
	all []operation
}

// operation is an operation that has ended.
type operation struct {
	trigger string
	kind    string // an operation is found only under its own kind
	ended   time.Time
	err     error
}

// triggered adds an operation that has ended, and returns the answer to its trigger.
func (o *operations) triggered(kind string, err error) restapi.TriggerResponse {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.expire(now)
	if len(o.all) == maxOperations {
		o.all = slices.Delete(o.all, 0, 1)
	}
	done := operation{trigger: ids.Random(), kind: kind, ended: now, err: err}
	o.all = append(o.all, done)
	return restapi.TriggerResponse{ID: done.trigger}
}

// look returns the state of an operation.
func (o *operations) look(kind, trigger string) (restapi.AsynchronousResult, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire(time.Now())
	for _, done := range o.all {
		if done.trigger == trigger && done.kind == kind {
			result := restapi.AsynchronousResult{Status: restapi.QueueStatus{ID: "COMPLETED"}, Operation: &restapi.OperationResult{}}
			if done.err != nil {
				result.Operation.FailureCause = causeOf("error", done.err.Error())
			}
			return result, nil
		}
	}
	return restapi.AsynchronousResult{}, &refusal{http.StatusNotFound, fmt.Sprintf("there is no operation %s: REST forgets an operation after %s", trigger, o.keep)}
}

func (o *operations) expire(now time.Time) {
	n := 0
	for n < len(o.all) && now.Sub(o.all[n].ended) >= o.keep {
		n++
	}
	o.all = slices.Delete(o.all, 0, n)
}

// dataSetDeletion is the kind of operation that deletes a dataset.
const dataSetDeletion = "dataset"

// deleteDataSet answers DELETE /datasets/{dataset}. No job keeps a dataset, so there is nothing to delete.
// As in Flink that is not a failure.
func (s *Server) deleteDataSet(*http.Request) (any, error) {
	return s.operations.triggered(dataSetDeletion, nil), nil
}

func (s *Server) dataSetDeletion(r *http.Request) (any, error) {
	if err := trigger(r); err != nil {
		return nil, err
	}
	return s.operations.look(dataSetDeletion, r.PathValue("trigger"))
}

// trigger checks the form of the path's trigger, if it has one.
func trigger(r *http.Request) error {
	if text := r.PathValue("trigger"); text != "" && !isID(text) {
		return badRequest("%q is not an operation's id: the id has 32 hex digits", text)
	}
	return nil
}

// rescaling refuses the request. Flink has disabled rescaling too (FLINK-12312).
func (s *Server) rescaling(r *http.Request) (any, error) {
	if err := identified(r); err != nil {
		return nil, err
	}
	return nil, &refusal{http.StatusServiceUnavailable, "rescaling is disabled: submit the job with another parallelism"}
}
