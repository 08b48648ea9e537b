package dispatcher

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// maxDiagnostics bounds Outcome.Diagnostics, in bytes.
const maxDiagnostics = 8 << 10

// shutDown ends the cluster, because that is requested. The jobs end with it, and are not cancelled one by one. If a
// cluster for one job or for an application ends before its job or program, its status is CANCELED.
func (c *core) shutDown() {
	switch {
	case c.config.Mode == Session:
		c.end(Outcome{Status: msg.ApplicationSucceeded})
	case c.config.Mode == Application:
		c.end(Outcome{Status: msg.ApplicationCanceled, Diagnostics: "the cluster was shut down before its program had ended"})
	case len(c.archive.jobs) > 0:
		c.end(outcomeOf(c.archive.jobs[0].details))
	default:
		c.end(Outcome{Status: msg.ApplicationCanceled, Diagnostics: "the cluster was shut down before its job had ended"})
	}
}

func (c *core) end(o Outcome) {
	if c.outcome == nil {
		c.outcome = &o
		c.emit(endCluster{Outcome: o})
		c.stopStoring()
	}
}

// answerAwaiting answers the questions about the outcome of all jobs, when each job has ended. It does not
// read the archive, because the archive may have dropped the first jobs.
func (c *core) answerAwaiting() {
	if len(c.awaiting) == 0 || len(c.jobs) > len(c.archive.jobs) {
		return
	}
	complete := true // it is known why jobs have failed
	for _, j := range c.archive.jobs {
		if j.reloads && !j.noted && j.details.Status != msg.JobFinished {
			c.load(j.id, j.details.Status)
			complete = false
		}
	}
	if !complete && c.outcome == nil {
		return
	}
	o := Outcome{Status: msg.ApplicationSucceeded}
	if c.unfinished != nil {
		o = outcomeOf(c.unfinished)
	}
	for _, question := range c.awaiting {
		c.emit(reply{question.Answer(o)})
	}
	c.awaiting = nil
}

// noteUnfinished notes the first job that has not finished.
func (c *core) noteUnfinished(j *job) {
	first := c.unfinished == nil || !j.unloaded && j.details.End.Before(c.unfinished.End)
	if first && j.details.Status != msg.JobFinished {
		c.unfinished = j.details
	}
}

// outcomeOf returns the outcome of a cluster whose only job has ended.
func outcomeOf(d *msg.JobDetails) Outcome { return OutcomeOf(resultOf(d)) }

// OutcomeOf returns the outcome of a cluster whose only job ended like this.
func OutcomeOf(e msg.JobEnded) Outcome {
	switch e.Status {
	case msg.JobFinished:
		return Outcome{Status: msg.ApplicationSucceeded}
	case msg.JobCanceled:
		return Outcome{Status: msg.ApplicationCanceled, Diagnostics: "job was cancelled"}
	case msg.JobFailed:
		if e.Failure == nil {
			return Failed("job failed", "")
		}
		return Failed(e.Failure.Message, e.Failure.Stack)
	default:
		return Outcome{Status: msg.ApplicationUnknown, Diagnostics: "job ended as " + string(e.Status)}
	}
}

// Failed returns the outcome of a cluster that has failed, with the diagnostics for YARN. more may be "".
func Failed(text, more string) Outcome {
	if more != "" {
		text += "\n" + more
	}
	return Outcome{Status: msg.ApplicationFailed, Diagnostics: strings.ToValidUTF8(text[:min(len(text), maxDiagnostics)], "")}
}

// failureOf returns why a job failed, with the place in its first line; nil if the job did not fail.
func failureOf(d *msg.JobDetails) *msg.Failure {
	if d.Status != msg.JobFailed || d.Root == nil {
		return nil
	}
	f := d.Root.Failure
	where := d.Root.Task
	if d.Root.Location != "" {
		where = strings.TrimSpace(where + " on " + d.Root.Location)
	}
	if where == "" {
		return &f
	}
	placed := msg.NewFailure(where+": "+f.Message, f.Stack)
	placed.Permanent, placed.PeerLost = f.Permanent, f.PeerLost
	return placed
}
