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
	wait := msg.WaitOf(&job, supply, clock)
	answer := restapi.JobWaiting{Waiting: !wait.Since.IsZero(), Since: millis(wait.Since), Words: wait.Words, Reasons: make([]restapi.WaitFor, len(wait.Why))}
	for i, why := range wait.Why {
		answer.Reasons[i] = restapi.WaitFor(why)
	}
	return answer, nil
}

// clock formats a time of day of this machine for people, who may be in another time zone.
func clock(at time.Time) string { return at.Format("15:04:05 MST") }
