package dispatcher

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// retryTime is the pause before the Dispatcher repeats a change that the store has refused, such as the result of a job
// beyond a quota. The store itself repeats what an outage delays.
const retryTime = 10 * time.Second

// change is what the store is asked to do about a job.
type change int

const (
	storeTheJob change = iota + 1
	storeTheCancellation
	storeTheResult
	removeTheJob
	removeTheResult
)

// String describes a change for the log.
func (c change) String() string {
	return [...]string{"none", "store the job", "store the request for its end", "store its result", "remove the job", "remove its result"}[c]
}

// record is what the store has of a job. A job has a record until the store has nothing of it.
type record struct {
	doing     change // in progress; 0: nothing. A job has one change at a time, so that their order is certain
	waits     bool   // for the next try
	job       bool   // the job itself
	cancelled bool   // the request for its end
	result    bool
	dropped   bool // the result is not wanted any longer
	unwanted  bool // the job was refused
	bare      bool // the result is stored without what the job has collected, which is too large
}

// retry is a change that is tried again.
type retry struct {
	job ids.JobID
	at  time.Time
}

// advance requests the next change about a job that the store needs. A result stays in the store until the job itself is
// removed: without the result the next master would run the job again.
func (c *core) advance(id ids.JobID) {
	r, j := c.records[id], c.jobs[id]
	if r == nil || r.doing != 0 || r.waits || c.outcome != nil {
		return
	}
	switch {
	case j != nil && j.phase == storing:
		r.doing = storeTheJob
		c.emit(storeJob{Submission: j.submission, Submitted: j.submitted})
	case j != nil && j.phase == running && j.cancelled && !r.cancelled:
		r.doing = storeTheCancellation
		c.emit(storeCancel{Job: id})
	case j != nil && j.phase == ending:
		r.doing = storeTheResult
		stored := result{Identity: j.identity, Details: j.details, Results: j.results}
		if r.bare { // not nil, which means that the job has collected nothing
			stored.Results = collect.Results{}
		}
		c.emit(storeResult{Job: id, Result: stored})
	case r.job && (r.result || r.unwanted):
		r.doing = removeTheJob
		c.emit(removeJob{Job: id})
	case r.result && r.dropped:
		r.doing = removeTheResult
		c.emit(removeResult{Job: id})
	}
}

// changed continues when the store has answered. An error is one that no retry mends at once: see ha.Store.
func (c *core) changed(e changed) {
	r, j := c.records[e.Job], c.jobs[e.Job]
	if r == nil || r.doing != e.Change || c.outcome != nil {
		c.emit(dropped{Job: e.Job, Why: "the change was not requested, or the cluster ends"})
		return
	}
	r.doing = 0
	if e.Change != storeTheJob && errors.Is(e.Err, ha.ErrNoCredentials) { // no later master can start, so this is as good
		c.noteUnstored(j, e, "the result of the job")
		e.Err = nil
	}
	switch {
	case e.Change == storeTheResult && errors.Is(e.Err, filesystem.ErrTooLarge) && len(j.results) > 0 && !r.bare:
		c.noteUnstored(j, e, "what the job has collected")
		r.bare = true
	case e.Change == storeTheJob && e.Err != nil:
		c.refused(j, e.Err)
	case e.Change == storeTheCancellation:
		c.cancelStored(j, e.Err)
	case e.Err != nil:
		if e.Change == storeTheResult {
			c.resultRefused(j, e.Err)
		}
		r.waits = true
		c.retries = append(c.retries, retry{e.Job, c.now.Add(retryTime)})
	case e.Change == storeTheJob:
		r.job = true
		c.accepted(j)
	case e.Change == storeTheResult:
		r.result = true
		c.keep(j)
	case e.Change == removeTheJob && r.unwanted:
		delete(c.records, e.Job)
	case e.Change == removeTheJob:
		r.job = false
	case e.Change == removeTheResult:
		delete(c.records, e.Job)
	}
	c.advance(e.Job)
}

// noteUnstored tells the users of a job why something of its result is not stored.
func (c *core) noteUnstored(j *job, e changed, what string) {
	if e.Change == storeTheResult {
		j.details.Exceptions = slices.Concat([]msg.ExceptionEntry{c.note("%s cannot be stored, and ends with the ApplicationMaster: %v", what, e.Err)}, j.details.Exceptions)
	}
}

// note is an entry in the exceptions of a job.
func (c *core) note(format string, args ...any) msg.ExceptionEntry {
	return msg.ExceptionEntry{Time: c.now, Failure: *msg.NewFailure(fmt.Sprintf(format, args...), "")}
}

// resultRefused tells the users of a job why they do not learn its end. The result is tried again.
func (c *core) resultRefused(j *job, why error) {
	j.refusal = why
	c.emit(resultRefused{Job: j.id, Why: c.note("the job has ended, and its result cannot be stored: %v", why)})
	c.answerAll(j.cancellers, c.endRefused(j))
	j.cancellers = nil
}

// endRefused answers a request for the end of a job that has ended, and whose result the store has refused.
func (c *core) endRefused(j *job) error {
	return fmt.Errorf("%w: job %s has ended, and its result cannot be stored: %w", msg.ErrNotReady, j.id, j.refusal)
}

// retry repeats the changes whose time has come.
func (c *core) retry() {
	for len(c.retries) > 0 && !c.now.Before(c.retries[0].at) {
		id := c.retries[0].job
		c.retries = c.retries[1:]
		c.records[id].waits = false
		c.advance(id)
	}
}

// nextRetry returns when retry has something to do; zero: never.
func (c *core) nextRetry() time.Time {
	if len(c.retries) == 0 {
		return time.Time{}
	}
	return c.retries[0].at
}

// stopStoring ends what waits for the store when the cluster ends: nothing of it is needed any more, and the store
// takes no more changes when it has the cluster's outcome.
func (c *core) stopStoring() {
	var asking []actor.Question[error]
	for _, id := range c.order {
		j := c.jobs[id]
		asking = append(append(asking, j.submitters...), j.cancellers...)
		j.submitters, j.cancellers = nil, nil
	}
	c.answerAll(asking, msg.ErrEnding)
	c.answerAll(c.stop.asking, nil)
	c.stop.asking = nil
	c.refuse(c.loads.all(), msg.ErrEnding)
}
