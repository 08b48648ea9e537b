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

// Submission is a job to be submitted to a session. It gives the job a random, unique id. So the job runs only
// once, even if Bring is called several times. If a session has a job with this id, it is this job. Only one
// goroutine may use a Submission.
type Submission struct {
	job restapi.JobSubmission
	// unanswered says that the job was sent and no answer came: it may run.
	unanswered bool
}

// NewSubmission gives a job a new id.
func NewSubmission(job restapi.JobSubmission) *Submission {
	job.Job = ids.JobID(ids.Random())
	return &Submission{job: job}
}

// ID is the id of the job.
func (s *Submission) ID() ids.JobID { return s.job.Job }

// Bring hands the job to an ApplicationMaster of a session, which has its program. After an error that is Gone,
// the caller may call Bring again, with the present ApplicationMaster. It is no error if the session has the
// job from an earlier call that got no answer, also if the job has ended since. If another command cancelled
// the job before it came, the error has status 410.
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

// arrived tells whether a session that refuses the job has it from an earlier call. The session may refuse for
// another reason: it has no room to read the job again, or has lost its program since.
func (s *Submission) arrived(ctx context.Context, at *ClusterClient, refusal *StatusError) bool {
	if refusal.Status == http.StatusConflict {
		return true
	}
	return !refusal.Leaving && at.Heartbeat(ctx, s.job.Job, time.Now()) == nil
}

// Withdraw cancels a job after an error of Bring, if an earlier call got no answer; otherwise it does nothing.
// It also works if ctx has ended. The error is ErrLeftBehind if the job may continue.
func (s *Submission) Withdraw(ctx context.Context, from *ClusterClient) error {
	if !s.unanswered {
		return nil
	}
	ctx, cancel := cleaning(ctx)
	defer cancel()
	err := from.Cancel(ctx, s.job.Job)
	refusal, answered := errors.AsType[*StatusError](err)
	if err == nil || answered && (refusal.Status == http.StatusNotFound || refusal.Status == http.StatusConflict) { // the session does not have it, or it has ended
		s.unanswered = false
		return nil
	}
	return fmt.Errorf("%w: job %s may still run, because the session did not answer: %w", ErrLeftBehind, s.job.Job, err)
}
