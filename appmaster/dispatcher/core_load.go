package dispatcher

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Of a job that ended under an earlier master, the Dispatcher knows the id and the status. It reads the rest from the
// store when somebody asks, because a session may have thousands of such jobs.

// loads holds the questions that wait until a result is read. Make it with newLoads.
type loads struct {
	waiting map[ids.JobID][]event        // a job is in it while its result is read
	since   map[ids.JobID]time.Time      // likewise: when the reading began
	order   []ids.JobID                  // of the keys of waiting
	listing []actor.Question[[]jobEntry] // they wait for all jobs
	listed  time.Time                    // since when the first of listing waits
	// overviews are the jobs whose overviews are read.
	overviews map[ids.JobID]bool
}

func newLoads() loads {
	return loads{waiting: make(map[ids.JobID][]event), since: make(map[ids.JobID]time.Time), overviews: make(map[ids.JobID]bool)}
}

// all takes out and returns all questions about single jobs.
func (l *loads) all() (questions []event) {
	for _, id := range l.order {
		questions = append(questions, l.waiting[id]...)
		delete(l.waiting, id)
		delete(l.since, id)
	}
	l.order = nil
	return questions
}

// take returns the questions about a job whose result is read.
func (l *loads) take(id ids.JobID) []event {
	waiting := l.waiting[id]
	delete(l.waiting, id)
	delete(l.since, id)
	l.order = slices.DeleteFunc(l.order, func(other ids.JobID) bool { return other == id })
	return waiting
}

// load reads a job's result from the store, and keeps a question about the job until then.
func (c *core) load(id ids.JobID, status msg.JobStatus, questions ...event) {
	waiting, loading := c.loads.waiting[id]
	switch {
	case c.outcome != nil:
		c.refuse(questions, msg.ErrEnding)
		return
	case len(waiting) >= maxAsking:
		c.refuse(questions, fmt.Errorf("%w: the result of job %s is being read", msg.ErrNotReady, id))
		return
	case loading && c.now.Sub(c.loads.since[id]) >= readTime:
		questions = c.refuseViews(questions)
	case !loading:
		c.loads.since[id] = c.now
		c.loads.order = append(c.loads.order, id)
		c.emit(loadResult{Job: id, Status: status})
	}
	c.loads.waiting[id] = append(waiting, questions...)
}

// refuseViews refuses those of the questions that only look at a job whose result HDFS does not give in time. An earlier one has waited
// for it: if each waited, views of other jobs would wait for them. It returns the other questions, whose clients wait in any case.
func (c *core) refuseViews(questions []event) (others []event) {
	for _, question := range questions {
		if e, view := question.(jobAsked); view {
			c.emit(reply{e.Question.Answer(jobEntry{Err: errSlow})})
		} else {
			others = append(others, question)
		}
	}
	return others
}

// refuse answers questions about a job with an error.
func (c *core) refuse(questions []event, err error) {
	for _, question := range questions {
		switch e := question.(type) {
		case submitAsked:
			c.emit(reply{e.Question.Answer(err)})
		case jobAsked:
			c.emit(reply{e.Question.Answer(jobEntry{Err: err})})
		case resultAsked:
			c.emit(reply{e.Question.Answer(jobEntry{Err: err})})
		case pageAsked:
			c.emit(reply{e.Question.Answer(pageAnswer{Err: err})})
		default: // no other event waits for a result
		}
	}
}

// resultLoaded takes over a result, and answers the questions about the job. If the result cannot be read, the job
// stays listed with the reason.
func (c *core) resultLoaded(e resultLoaded) {
	waiting := c.loads.take(e.Job)
	j, status := c.jobs[e.Job], c.past.jobs[e.Job]
	switch {
	case j != nil && j.unloaded:
		c.fill(j, e)
	case j == nil && status != "" && e.Missing: // there is no store
		c.past.remove(e.Job)
		c.drop(c.ended.add(c.now, e.Job))
	case j == nil && status != "":
		c.past.remove(e.Job)
		j = c.addStub(e.Job, status)
		c.fill(j, e)
	}
	for _, question := range waiting {
		c.handle(question)
	}
	if j != nil {
		c.endWith(j)
	}
}

// addStub lists a job that has ended, and whose result is in the store.
func (c *core) addStub(id ids.JobID, status msg.JobStatus) *job {
	j := &job{
		id: id, identity: identity{Name: string(id)}, phase: ended, details: &msg.JobDetails{ID: id, Name: string(id), Status: status},
		unloaded: true, reloads: true,
	}
	if c.many() {
		j.until = c.now.Add(c.config.Archive.Time)
	}
	c.jobs[id] = j
	c.order, c.unsorted = append(c.order, id), true
	c.archive.add(j)
	return j
}

// fill completes a job by its result.
func (c *core) fill(j *job, e resultLoaded) {
	j.unloaded = false
	if e.Err != nil {
		root := msg.ExceptionEntry{Time: c.now, Failure: *msg.NewFailure(fmt.Sprintf("the result of the job cannot be read: %v", e.Err), "")}
		j.details.Root, j.details.Exceptions = &root, []msg.ExceptionEntry{root}
		j.results = collect.Results{} // whoever asks for one must not take it for empty
	} else {
		j.identity, j.details, j.results = e.Result.Identity, e.Result.Details, e.Result.Results
		j.submitted = j.details.Start
		if c.config.Mode == Session { // a program that runs again reads its jobs' results however old they are
			j.until = j.details.End.Add(c.config.Archive.Time)
		}
		c.unsorted = true
	}
	overview := j.details.Overview()
	j.overview, j.noted, j.heard = &overview, true, c.now
	c.archive.renew(j)
	c.noteEnd(j)
}

// overviewLoaded completes a job in the list. If its result cannot be read, the list has its id and its status.
func (c *core) overviewLoaded(e overviewLoaded) {
	delete(c.loads.overviews, e.Job)
	j := c.jobs[e.Job]
	if j == nil || !j.unloaded || j.overview != nil {
		return
	}
	if e.Err != nil {
		e.Overview, e.Identity = j.details.Overview(), j.identity
	}
	j.identity, j.overview, j.submitted = e.Identity, &e.Overview, e.Overview.Start
	if c.config.Mode == Session && e.Err == nil {
		j.until = e.Overview.End.Add(c.config.Archive.Time)
	}
	c.unsorted = true
	c.archive.renew(j)
}

// unload forgets the part of a job that is also in the store.
func (j *job) unload() {
	j.unloaded, j.results = true, nil
	j.details = &msg.JobDetails{ID: j.id, Name: j.identity.Name, Status: j.details.Status, Start: j.details.Start, End: j.details.End}
}

// jobsAsked answers with the jobs that the question is about. If the answer needs overviews that have not been read, it
// waits for them, unless an earlier question has waited in vain.
func (c *core) jobsAsked(e jobsAsked) {
	waits := len(c.loads.listing)
	if e.Which != allJobs || c.outcome != nil || waits >= maxAsking || waits > 0 && c.now.Sub(c.loads.listed) >= readTime {
		c.emit(reply{e.Question.Answer(c.entries(e.Which))})
		return
	}
	if waits == 0 {
		c.loads.listed = c.now
	}
	c.loads.listing = append(c.loads.listing, e.Question)
	for _, j := range c.archive.jobs {
		if _, loading := c.loads.waiting[j.id]; j.unlisted() && !loading && !c.loads.overviews[j.id] {
			c.loads.overviews[j.id] = true
			c.emit(loadOverview{Job: j.id, Status: j.details.Status})
		}
	}
}

// unlisted reports whether the list of jobs needs more of an ended job than is known.
func (j *job) unlisted() bool { return j.unloaded && j.overview == nil }

// answerListing answers the questions for all jobs when all overviews have been read, or when the cluster ends.
func (c *core) answerListing() {
	if len(c.loads.listing) == 0 || c.outcome == nil && slices.ContainsFunc(c.archive.jobs, (*job).unlisted) {
		return
	}
	entries := c.entries(allJobs)
	for _, question := range c.loads.listing {
		c.emit(reply{question.Answer(entries)})
	}
	c.loads.listing = nil
}

// entries returns the jobs in the order of their submission. A job that is being stored is not accepted yet.
func (c *core) entries(which whichJobs) []jobEntry {
	if c.unsorted {
		slices.SortStableFunc(c.order, func(a, b ids.JobID) int {
			return c.jobs[a].submitted.Compare(c.jobs[b].submitted)
		})
		c.unsorted = false
	}
	entries := make([]jobEntry, 0, len(c.order))
	for _, id := range c.order {
		if j := c.jobs[id]; j.phase != storing && (which != unfinishedJobs || j.phase != ended) {
			entries = append(entries, j.entry())
		}
	}
	return entries
}

// entry is what the Dispatcher knows of a job; j may be nil.
func (j *job) entry() jobEntry {
	switch {
	case j == nil:
		return jobEntry{}
	case j.phase != ended: // its JobMaster has the details
		return jobEntry{Job: j.id}
	}
	entry := jobEntry{Job: j.id, Details: j.details}
	if j.unloaded {
		entry.Overview = j.overview
	}
	return entry
}
