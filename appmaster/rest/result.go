package rest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// maxWait is the largest value of the query parameter wait of long polls.
const maxWait = 30 * time.Second

// result answers GET /jobs/{job}/result?wait=10s. An attached cluster ends after an answer with the end of
// its job.
func (s *Server) result(r *http.Request) (any, error) {
	id, wait, err := longPoll(r)
	if err != nil {
		return nil, err
	}
	e, err := s.gateway.JobResult(r.Context(), id, wait)
	if err != nil {
		return nil, err
	}
	result := restapi.Result{Job: e.Job, Status: e.Status, Duration: e.Duration.Milliseconds(), Counters: e.Counters}
	if e.Failure != nil {
		result.Failure = &restapi.ResultFailure{Message: e.Failure.Message, Stack: e.Failure.Stack}
	}
	for _, step := range e.Steps {
		result.Steps = append(result.Steps, restapi.ResultStep{Name: step.Name, At: step.At.UnixMilli()})
	}
	return result, nil
}

// collect answers GET /jobs/{job}/collect/{name}?cursor=0&wait=10s. A request for a cursor says that
// everything before it has arrived.
func (s *Server) collect(r *http.Request) (any, error) {
	id, wait, err := longPoll(r)
	if err != nil {
		return nil, err
	}
	var cursor int64
	if text := r.URL.Query().Get("cursor"); text != "" {
		if cursor, err = strconv.ParseInt(text, 10, 64); err != nil || cursor < 0 {
			return nil, badRequest("%q is not a cursor: begin with 0, and continue with the value of header %s", text, restapi.HeaderNext)
		}
	}
	page, err := s.gateway.CollectPage(r.Context(), id, r.PathValue("name"), cursor, wait)
	if err != nil {
		return nil, err
	}
	header := make(http.Header)
	header.Set(restapi.HeaderEpoch, strconv.Itoa(page.Epoch))
	header.Set(restapi.HeaderNext, strconv.FormatInt(page.Next, 10))
	header.Set(restapi.HeaderEnd, strconv.FormatBool(page.End))
	return raw{contentType: "application/octet-stream", header: header, body: page.Records}, nil
}

// longPoll reads the job of a path and how long the client wants to wait.
func longPoll(r *http.Request) (ids.JobID, time.Duration, error) {
	id, err := jobID(r)
	if err != nil {
		return "", 0, err
	}
	text := r.URL.Query().Get("wait")
	if text == "" {
		return id, 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return "", 0, badRequest("%q is not a duration: write for example 10s", text)
	}
	return id, min(wait, maxWait), nil
}
