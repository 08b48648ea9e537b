package dispatcher

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Clients ask an ended job for its outcome, and for what is left of its results.

func (c *core) resultAsked(e resultAsked) {
	c.emit(reply{e.Question.Answer(c.entry(e.Job))})
	if j := c.jobs[e.Job]; j != nil && j.details != nil {
		j.fetched = true
		j.heard = c.now
		c.clientFetched(j)
	}
}

// pageAsked answers with the next page of a result that the client had not read to its end when the job
// ended.
func (c *core) pageAsked(e pageAsked) {
	j := c.jobs[e.Job]
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
	case j.details == nil: // submitted a moment ago
		return page, fmt.Errorf("%w: job %s is being started", msg.ErrNotReady, e.Job)
	case j.results == nil: // the job ended without its JobMaster; the details have the reason
		return msg.CollectPage{Next: e.Cursor, End: true}, nil
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
