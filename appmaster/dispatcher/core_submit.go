package dispatcher

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// submit admits a job, or refuses it. The job is accepted when it is stored, and its submitter learns it then: an answer
// before that would be a promise that ends with this process.
func (c *core) submit(e submitAsked) {
	s := e.Submission
	switch j, known := c.known(s.Job, e); {
	case !known:
	case j != nil && (j.phase != storing || c.outcome == nil):
		c.submitAgain(j, e)
	case c.outcome != nil:
		c.emit(reply{e.Question.Answer(msg.ErrEnding)})
	case s.Unprepared:
		c.emit(reply{e.Question.Answer(cmp.Or(c.replay.admit(s), notPrepared(s.Job)))})
	default:
		reserved, err := c.admit(s, e.Need)
		if err != nil {
			c.emit(reply{e.Question.Answer(err)})
			return
		}
		c.jobs[s.Job] = &job{
			id: s.Job, identity: e.Identity, phase: storing, submitted: c.now, detached: s.Detached,
			submission: s, submitters: []actor.Question[error]{e.Question}, reserved: reserved, clientTimeout: s.ClientTimeout,
		}
		c.order = append(c.order, s.Job)
		c.records[s.Job] = new(record)
		c.advance(s.Job)
	}
}

// submitAgain answers the submission of a job that the Dispatcher has. Either a client got no answer, or a program runs
// again and finds its job.
func (c *core) submitAgain(j *job, e submitAsked) {
	err := fmt.Errorf("%w: %s", msg.ErrJobExists, j.id)
	switch differs := j.identity.compare(j.id, e.Identity); {
	case differs != "" && e.Submission.Unprepared: // the program may find that it cannot prepare this job, as in its first run
		err = notPrepared(j.id)
	case differs != "":
		err = fmt.Errorf("%w: %s", msg.ErrDifferentJob, differs)
	default:
		c.replay.found(j.id)
		switch j.phase {
		case storing:
			j.submitters = c.later(j.submitters, e.Question, "a change of job "+string(j.id))
			return
		case ended:
			err = fmt.Errorf("%w: %s is %s", msg.ErrJobEnded, j.id, j.details.Status)
		case running, ending: // nobody is told of its end yet
		}
	}
	c.emit(reply{e.Question.Answer(err)})
}

func notPrepared(job ids.JobID) error { return fmt.Errorf("%w: %s", msg.ErrNotPrepared, job) }

// admit reserves memory for a new job, or refuses it.
func (c *core) admit(s Submission, need budget.Need) (budget.Reservation, error) {
	unfinished := len(c.jobs) - len(c.archive.jobs)
	switch r := c.records[s.Job]; {
	case r != nil && r.unwanted:
		return budget.Reservation{}, fmt.Errorf("%w: the last submission of job %s was refused, and is being removed", msg.ErrNotReady, s.Job)
	case r != nil:
		return budget.Reservation{}, fmt.Errorf("%w: %s is not kept any longer", msg.ErrJobEnded, s.Job)
	case c.withdrawn.has(s.Job):
		return budget.Reservation{}, fmt.Errorf("%w: %s", msg.ErrJobWithdrawn, s.Job)
	case !c.many() && len(c.jobs) > 0:
		return budget.Reservation{}, fmt.Errorf("%w: this cluster runs only job %s", msg.ErrJobExists, c.order[0])
	case unfinished >= maxUnfinished:
		return budget.Reservation{}, fmt.Errorf("%w: %d jobs have not ended, which is the maximum: submit job %s again later", msg.ErrTooManyJobs, unfinished, s.Job)
	}
	if err := c.replay.admit(s); err != nil {
		return budget.Reservation{}, err
	}
	if s.Unfit != nil {
		return budget.Reservation{}, fmt.Errorf("submit job %s: %w", s.Job, s.Unfit)
	}
	return c.memory.Admit(s.Job, need, c.archive.size, func(lacking int64) int64 {
		c.forget(c.archive.yield(c.now, lacking))
		return c.archive.size
	})
}

// accepted starts a job that is stored.
func (c *core) accepted(j *job) {
	s, submitters := j.submission, j.submitters
	j.submission, j.submitters = Submission{}, nil
	c.start(j, s, nil)
	c.answerAll(submitters[:1], nil)
	c.answerAll(submitters[1:], fmt.Errorf("%w: %s", msg.ErrJobExists, j.id))
}

// refused forgets a job that cannot be stored. It is removed from the store: a try whose answer was lost may have stored it,
// and the next master would run it.
func (c *core) refused(j *job, why error) {
	c.remove(j.id)
	*c.records[j.id] = record{job: true, unwanted: true}
	c.memory.Release(j.reserved)
	c.answerAll(j.submitters, fmt.Errorf("store job %s: %w", j.id, why))
	c.answerAll(j.cancellers, fmt.Errorf("%w: %s", msg.ErrJobNotFound, j.id))
}

// remove removes a job from the list.
func (c *core) remove(jobs ...ids.JobID) {
	for _, id := range jobs {
		delete(c.jobs, id)
	}
	c.order = slices.DeleteFunc(c.order, func(id ids.JobID) bool { return c.jobs[id] == nil })
}
