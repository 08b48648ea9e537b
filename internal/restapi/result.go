package restapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Result is the answer to GET /jobs/{job}/result: the job's result, or its present status.
type Result struct {
	Job      ids.JobID        `json:"jid"`
	Status   msg.JobStatus    `json:"status"`
	Duration int64            `json:"duration"` // 0 while it runs
	Counters map[string]int64 `json:"counters"`
	Failure  *ResultFailure   `json:"failure,omitempty"` // with FAILED
	Steps    []ResultStep     `json:"steps,omitempty"`   // of the job's start-up
}

// ResultStep is a step of a job's start-up.
type ResultStep struct {
	Name string `json:"name"`
	At   int64  `json:"timestamp"`
}

// ResultFailure is the root cause of a job's failure.
type ResultFailure struct {
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
}

// JobEnded converts the result to the roles' message.
func (r Result) JobEnded() msg.JobEnded {
	e := msg.JobEnded{Job: r.Job, Status: r.Status, Counters: r.Counters, Duration: milliseconds(r.Duration)}
	if r.Failure != nil {
		e.Failure = msg.NewFailure(r.Failure.Message, r.Failure.Stack)
	}
	for _, step := range r.Steps {
		e.Steps = append(e.Steps, msg.Step{Name: step.Name, At: time.UnixMilli(step.At)})
	}
	return e
}

// The headers of the answer to GET /jobs/{job}/collect/{name}, whose body is
// CollectPage.Records.
const (
	HeaderEpoch = "Bobbin-Epoch"
	HeaderNext  = "Bobbin-Next"
	HeaderEnd   = "Bobbin-End"
)

// ErrNoPage says that an answer is not a page of a collected result.
var ErrNoPage = errors.New("answer is no result page")

// maxPage bounds the body of a page in ReadPage, in bytes. Servers send far less.
const maxPage = 8 << 20

// ReadPage reads the answer to GET /jobs/{job}/collect/{name} with status 200.
func ReadPage(r *http.Response) (msg.CollectPage, error) {
	epoch, epochErr := strconv.Atoi(r.Header.Get(HeaderEpoch))
	next, nextErr := strconv.ParseInt(r.Header.Get(HeaderNext), 10, 64)
	end, endErr := strconv.ParseBool(r.Header.Get(HeaderEnd))
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
