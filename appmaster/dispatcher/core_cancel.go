package dispatcher

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// A request for a job's end is stored before it is answered and before it has an effect: otherwise the next master would
// run the job to its end.

// cancelAsked requests the end of a job.
func (c *core) cancelAsked(e cancelAsked) {
	j := c.jobs[e.Job]
	status, past := c.past.jobs[e.Job]
	switch {
	case j == nil && past:
		c.emit(reply{e.Question.Answer(cancelledLate(e.Job, status))})
	case j == nil:
		c.withdraw(e.Job)
		c.emit(reply{e.Question.Answer(fmt.Errorf("%w: %s", msg.ErrJobNotFound, e.Job))})
	case j.phase == ended:
		c.emit(reply{e.Question.Answer(cancelledLate(j.id, j.details.Status))})
	case c.outcome != nil:
		c.emit(reply{e.Question.Answer(msg.ErrEnding)})
	case c.records[j.id].cancelled:
		c.emit(reply{e.Question.Answer(nil)}) // its JobMaster knows
	case j.refusal != nil:
		c.emit(reply{e.Question.Answer(c.endRefused(j))})
	default:
		j.cancellers = c.later(j.cancellers, e.Question, "a change of job "+string(j.id))
		c.requestEnd(j, "")
	}
}

// cancelledLate answers a request for the end of a job that has ended.
func cancelledLate(job ids.JobID, status msg.JobStatus) error {
	if status == msg.JobCanceled {
		return nil
	}
	return fmt.Errorf("%w: %s is %s", msg.ErrJobEnded, job, status)
}

// requestEnd ends an unfinished job, once this is stored. The first reason counts.
func (c *core) requestEnd(j *job, why string) {
	if !j.cancelled {
		j.cancelled, j.why = true, why
		c.advance(j.id)
	}
}

// cancelStored ends a job. If the request cannot be stored, this master ends the job nevertheless, and the next request
// tries again.
func (c *core) cancelStored(j *job, err error) {
	j.cancelled = err == nil
	c.records[j.id].cancelled = err == nil
	if j.phase != running {
		return // its result says more
	}
	c.emit(cancelJob{Job: j.id, Why: j.why})
	if err != nil {
		err = fmt.Errorf("job %s is being cancelled, but it may run again if the ApplicationMaster is replaced before the job has ended: store the request: %w", j.id, err)
	}
	c.answerAll(j.cancellers, err)
	j.cancellers = nil
}
