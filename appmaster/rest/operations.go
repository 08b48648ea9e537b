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

// maxOperations bounds those that are kept; the oldest go first.
const maxOperations = 1000

// operations are what was asked for in one request and is looked at in others, by the id
// of its trigger (Flink's CompletedOperationCache). They are kept for
// rest.async.store-duration. An operation that takes time would be IN_PROGRESS
// meanwhile; there is none yet.
type operations struct {
	keep time.Duration

	mu  sync.Mutex // guards all
	all []operation
}

// operation is one that has ended.
type operation struct {
	trigger string
	kind    string // so that one is not found where another was triggered
	ended   time.Time
	err     error
}

// triggered is the answer to a trigger.
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

// look is how an operation goes.
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

// dataSetDeletion is a kind of operation.
const dataSetDeletion = "dataset"

// deleteDataSet answers DELETE /datasets/{dataset}: as no job keeps one, there is nothing to
// do, and as in Flink that is no failure.
func (s *Server) deleteDataSet(*http.Request) (any, error) {
	return s.operations.triggered(dataSetDeletion, nil), nil
}

func (s *Server) dataSetDeletion(r *http.Request) (any, error) {
	if err := trigger(r); err != nil {
		return nil, err
	}
	return s.operations.look(dataSetDeletion, r.PathValue("trigger"))
}

// trigger checks the path's trigger, if it has one.
func trigger(r *http.Request) error {
	if text := r.PathValue("trigger"); text != "" && !isID(text) {
		return badRequest("%q is not an operation's id: the id has 32 hex digits", text)
	}
	return nil
}

// rescaling answers what Flink has switched off, too (FLINK-12312).
func (s *Server) rescaling(r *http.Request) (any, error) {
	if err := identified(r); err != nil {
		return nil, err
	}
	return nil, &refusal{http.StatusServiceUnavailable, "rescaling is disabled: submit the job with another parallelism"}
}
