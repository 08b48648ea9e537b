package dispatcher

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Clients ask an ended job for its outcome, and for what is left of its results.

// known returns a job, which may be nil. If the job's result has to be read first, it keeps the question, and returns
// false.
func (c *core) known(id ids.JobID, question event) (*job, bool) {
	j := c.jobs[id]
	switch {
	case j == nil && c.past.has(id):
		c.load(id, c.past.jobs[id], question)
		return nil, false
	case j != nil && j.unloaded:
		j.heard = c.now
		c.load(id, j.details.Status, question)
		return nil, false
	}
	return j, true
}

func (c *core) jobAsked(e jobAsked) {
	if j, known := c.known(e.Job, e); known {
		c.emit(reply{e.Question.Answer(j.entry())})
	}
}

func (c *core) resultAsked(e resultAsked) {
	j, known := c.known(e.Job, e)
	if !known {
		return
	}
	c.emit(reply{e.Question.Answer(j.entry())})
	if j != nil && j.phase == ended {
		j.fetched = true
		j.heard = c.now
		c.clientFetched(j)
	}
}

// pageAsked answers with the next page of a result that the client had not read to its end when the job
// ended.
func (c *core) pageAsked(e pageAsked) {
	j, known := c.known(e.Job, e)
	if !known {
		return
	}
	page, err := j.page(e)
	c.emit(reply{e.Question.Answer(pageAnswer{Page: page, Err: err})})
	if err == nil {
		j.heard = c.now
		c.archive.resize(j)
		c.clientFetched(j)
	}
}

// page returns a page of a job's result. j may be nil.
func (j *job) page(e pageAsked) (page msg.CollectPage, err error) {
	switch {
	case j == nil:
		return page, fmt.Errorf("%w: %s", msg.ErrJobNotFound, e.Job)
	case j.phase != ended: // submitted or ended a moment ago
		return page, fmt.Errorf("%w: job %s is being started or stored", msg.ErrNotReady, e.Job)
	case j.results == nil: // the job ended without its JobMaster; the details have the reason
		page = collect.Nothing(e.Cursor)
		page.End = true
		return page, nil
	case j.results[e.Name] == nil:
		return page, fmt.Errorf("%w: %q", msg.ErrResultNotFound, e.Name)
	}
	result := j.results[e.Name]
	before := result.Drained()
	page, _, err = result.Page(e.Cursor) // no task waits for the acknowledgement
	if result.Drained() && !before {
		j.unread--
	}
	return page, err
}
