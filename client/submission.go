package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Submission is a job on its way to a session. The id that it gives the job is random, and no
// other has it: however often the job is brought, it runs once, and a session that has a job of
// this id has this one. It is used by one goroutine.
type Submission struct {
	job restapi.JobSubmission
	// unanswered says that the job was brought and no answer came: it may run.
	unanswered bool
}

// NewSubmission gives a job an id, in place of any that it has.
func NewSubmission(job restapi.JobSubmission) *Submission {
	job.Job = ids.JobID(ids.Random())
	return &Submission{job: job}
}

// ID is the job's.
func (s *Submission) ID() ids.JobID { return s.job.Job }

// Bring hands the job to an ApplicationMaster of a session, which has its program. After an
// error that says Gone the job may be brought again, to the ApplicationMaster of the time. What
// was brought without an answer and is there now is no error, also if it has ended meanwhile;
// what somebody has cancelled before it came is one, of status 410.
func (s *Submission) Bring(ctx context.Context, to *ClusterClient) error {
	sent, err := to.submit(ctx, s.job)
	refusal, answered := errors.AsType[*StatusError](err)
	switch {
	case err == nil:
	case !answered:
		s.unanswered = s.unanswered || sent
		return err
	case !s.unanswered || !s.arrived(ctx, to, refusal):
		return err
	}
	s.unanswered = false
	return nil
}

// arrived tells whether a session that refuses the job has it from before. It may refuse for
// another reason: it has no room to read the job again, or has lost its program since.
func (s *Submission) arrived(ctx context.Context, at *ClusterClient, refusal *StatusError) bool {
	if refusal.Status == http.StatusConflict {
		return true
	}
	return !refusal.Leaving && at.Heartbeat(ctx, s.job.Job, time.Now()) == nil
}

// Withdraw cancels a job that was brought without an answer, after an error of Bring, also when
// ctx has ended: ErrLeftBehind, if it may go on. Otherwise it does nothing.
func (s *Submission) Withdraw(ctx context.Context, from *ClusterClient) error {
	if !s.unanswered {
		return nil
	}
	ctx, cancel := cleaning(ctx)
	defer cancel()
	err := from.Cancel(ctx, s.job.Job)
	refusal, answered := errors.AsType[*StatusError](err)
	if err == nil || answered && (refusal.Status == http.StatusNotFound || refusal.Status == http.StatusConflict) { // it is not there, or has ended
		s.unanswered = false
		return nil
	}
	return fmt.Errorf("%w: job %s may still run, because the session did not answer: %w", ErrLeftBehind, s.job.Job, err)
}
