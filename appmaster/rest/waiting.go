package rest

import (
	"net/http"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// waiting answers GET /jobs/{job}/waiting: what a job waits for, in words.
func (s *Server) waiting(r *http.Request) (any, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	job, err := s.gateway.JobDetails(r.Context(), id)
	if err != nil {
		return nil, err
	}
	var supply msg.SlotSupply
	if !job.Status.GloballyTerminal() {
		if supply, err = s.gateway.SlotSupply(r.Context()); err != nil {
			return nil, err
		}
	}
	wait := msg.WaitOf(&job, supply, clockOf(time.Now()))
	answer := restapi.JobWaiting{Waiting: !wait.Since.IsZero(), Since: millis(wait.Since), Words: wait.Words, Reasons: make([]restapi.WaitFor, len(wait.Why))}
	for i, why := range wait.Why {
		answer.Reasons[i] = restapi.WaitFor(why)
	}
	return answer, nil
}

// clockOf formats times for people, who may be in another time zone: in UTC, and with the day if it is not obvious. The page
// (web/src/lib/words.ts) and the commands (client/localtime.go) replace them by times of the reader's zone, so they depend on this form.
func clockOf(now time.Time) func(time.Time) string {
	return func(at time.Time) string {
		format := "15:04:05 MST"
		if now.Sub(at).Abs() >= 12*time.Hour {
			format = "2 Jan 2006 15:04:05 MST"
		}
		return at.UTC().Format(format)
	}
}
