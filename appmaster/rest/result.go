package rest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// maxWait bounds the query parameter wait of long polls.
const maxWait = 30 * time.Second

// Result is the body of GET /jobs/{job}/result: how a job ended, or the status
// that it is in.
type Result struct {
	Job      ids.JobID        `json:"jid"`
	Status   msg.JobStatus    `json:"status"`
	Duration int64            `json:"duration"` // ms; 0 while it runs
	Counters map[string]int64 `json:"counters"`
	Failure  *ResultFailure   `json:"failure,omitempty"` // with FAILED
	Steps    []ResultStep     `json:"steps,omitempty"`   // of the job's start-up
}

// ResultStep is a step of a job's start-up.
type ResultStep struct {
	Name string `json:"name"`
	At   int64  `json:"timestamp"` // ms since 1970
}

// ResultFailure is the root cause of a job's failure.
type ResultFailure struct {
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
}

// JobEnded gives the result as roles tell it.
func (r Result) JobEnded() msg.JobEnded {
	e := msg.JobEnded{
		Job: r.Job, Status: r.Status, Counters: r.Counters,
		Duration: time.Duration(min(max(r.Duration, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
	}
	if r.Failure != nil {
		e.Failure = msg.NewFailure(r.Failure.Message, r.Failure.Stack)
	}
	for _, step := range r.Steps {
		e.Steps = append(e.Steps, msg.Step{Name: step.Name, At: time.UnixMilli(step.At)})
	}
	return e
}

// result answers GET /jobs/{job}/result?wait=10s. An attached cluster ends when
// it has answered with the end of its job.
func (s *Server) result(r *http.Request) (any, error) {
	id, wait, err := longPoll(r)
	if err != nil {
		return nil, err
	}
	e, err := s.gateway.JobResult(r.Context(), id, wait)
	if err != nil {
		return nil, err
	}
	result := Result{Job: e.Job, Status: e.Status, Duration: e.Duration.Milliseconds(), Counters: e.Counters}
	if e.Failure != nil {
		result.Failure = &ResultFailure{Message: e.Failure.Message, Stack: e.Failure.Stack}
	}
	for _, step := range e.Steps {
		result.Steps = append(result.Steps, ResultStep{Name: step.Name, At: step.At.UnixMilli()})
	}
	return result, nil
}

// The headers of GET /jobs/{job}/collect/{name}, whose body is
// CollectPage.Records.
const (
	headerEpoch = "Bobbin-Epoch"
	headerNext  = "Bobbin-Next"
	headerEnd   = "Bobbin-End"
)

// collect answers GET /jobs/{job}/collect/{name}?cursor=0&wait=10s. Asking for a
// cursor says that everything before it has arrived.
func (s *Server) collect(r *http.Request) (any, error) {
	id, wait, err := longPoll(r)
	if err != nil {
		return nil, err
	}
	var cursor int64
	if text := r.URL.Query().Get("cursor"); text != "" {
		if cursor, err = strconv.ParseInt(text, 10, 64); err != nil || cursor < 0 {
			return nil, badRequest("%q is no cursor: begin with 0 and go on with %s", text, headerNext)
		}
	}
	page, err := s.gateway.CollectPage(r.Context(), id, r.PathValue("name"), cursor, wait)
	if err != nil {
		return nil, err
	}
	header := make(http.Header)
	header.Set(headerEpoch, strconv.Itoa(page.Epoch))
	header.Set(headerNext, strconv.FormatInt(page.Next, 10))
	header.Set(headerEnd, strconv.FormatBool(page.End))
	return raw{contentType: "application/octet-stream", header: header, body: page.Records}, nil
}

// ErrNoPage says that an answer is no page of a collected result.
var ErrNoPage = errors.New("answer is no result page")

// maxPage bounds the body of a page that ReadPage takes, in bytes; what servers
// send stays far below.
const maxPage = 8 << 20

// ReadPage reads the answer to GET /jobs/{job}/collect/{name} with status 200,
// for the client.
func ReadPage(r *http.Response) (msg.CollectPage, error) {
	epoch, epochErr := strconv.Atoi(r.Header.Get(headerEpoch))
	next, nextErr := strconv.ParseInt(r.Header.Get(headerNext), 10, 64)
	end, endErr := strconv.ParseBool(r.Header.Get(headerEnd))
	if err := errors.Join(epochErr, nextErr, endErr); err != nil {
		return msg.CollectPage{}, fmt.Errorf("%w: %w", ErrNoPage, err)
	}
	if epoch < 0 || next < 0 {
		return msg.CollectPage{}, fmt.Errorf("%w: epoch %d, next %d", ErrNoPage, epoch, next)
	}
	records, err := io.ReadAll(io.LimitReader(r.Body, maxPage+1))
	if err != nil {
		return msg.CollectPage{}, fmt.Errorf("read result page: %w", err)
	}
	if len(records) > maxPage {
		return msg.CollectPage{}, fmt.Errorf("%w: more than %d bytes", ErrNoPage, maxPage)
	}
	return msg.CollectPage{Epoch: epoch, Next: next, Records: records, End: end}, nil
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
		return "", 0, badRequest("%q is no time to wait: write it as 10s", text)
	}
	return id, min(wait, maxWait), nil
}
