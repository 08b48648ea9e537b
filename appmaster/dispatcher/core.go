package dispatcher

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/collect"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// ErrEnding says that the cluster takes no jobs any more.
var ErrEnding = errors.New("cluster is ending")

// Mode says when a cluster ends by itself.
type Mode int

// The modes.
const (
	// Session ends only when it is asked to.
	Session Mode = iota + 1
	// Attached ends with its only job, after the client has fetched the result.
	Attached
	// Detached ends with its only job, at once.
	Detached
)

const (
	// fetchTime is how long an Attached cluster waits after its job's end for a
	// client that fetches nothing.
	fetchTime = 5 * time.Second
	// keepTime is how long a Session keeps a job that has ended; Flink's
	// jobstore.expiration-time.
	keepTime = time.Hour
	// maxDiagnostics bounds Outcome.Diagnostics, in bytes.
	maxDiagnostics = 8 << 10
)

// Config describes a Dispatcher.
type Config struct {
	Mode Mode
	// IDs begins the fencing tokens of JobMasters: see ids.NewSequence.
	IDs string
}

// Core is the Dispatcher's state. Step is the only way it changes; one goroutine
// may use a Core.
type Core struct {
	config  Config
	tokens  ids.Sequence
	jobs    map[ids.JobID]*job
	order   []ids.JobID // of submission
	outcome *Outcome    // how the cluster ends, once that is settled
	wake    time.Time   // as last asked for; zero: not asked

	// During a step:
	now     time.Time
	effects []Effect
}

type job struct {
	id        ids.JobID
	name      string
	jobMaster ids.JobMasterID

	// Of a job that has ended:
	details *msg.JobDetails
	results collect.Results // nil where it ended without its JobMaster
	unread  int             // results that the client has not read to their end
	fetched bool            // whether the client knows how the job ended
	until   time.Time       // when the client is not waited for, or the job not kept, any longer
}

// NewCore makes a Core without jobs.
func NewCore(config Config) *Core {
	return &Core{config: config, tokens: ids.NewSequence(config.IDs), jobs: make(map[ids.JobID]*job)}
}

// Step takes one event and gives what is to be done about it, in order.
func (c *Core) Step(now time.Time, event Event) []Effect {
	c.now, c.effects = now, nil
	switch e := event.(type) {
	case SubmitAsked:
		c.emit(AnswerError{Reply: e.Reply, Err: c.submit(e.Submission)})
	case JobMasterFailed:
		c.jobMasterFailed(e)
	case JobEnded:
		c.jobEnded(e)
	case CancelAsked:
		c.emit(AnswerError{Reply: e.Reply, Err: c.cancel(e.Job)})
	case JobAsked:
		c.emit(AnswerJob{Reply: e.Reply, Entry: c.entry(e.Job)})
	case JobsAsked:
		c.emit(AnswerJobs{Reply: e.Reply, Entries: c.entries()})
	case ResultAsked:
		c.resultAsked(e)
	case PageAsked:
		c.pageAsked(e)
	case ShutdownAsked:
		c.shutDown()
	case Woken:
		c.wake = time.Time{}
	}
	c.expire()
	c.setWake()
	return c.effects
}

func (c *Core) emit(e Effect) { c.effects = append(c.effects, e) }

func (c *Core) submit(s Submission) error {
	if c.outcome != nil {
		return ErrEnding
	}
	if known := c.jobs[s.Job]; known != nil {
		if known.details != nil {
			return fmt.Errorf("%w: %s is %s", msg.ErrJobEnded, s.Job, known.details.Status)
		}
		return fmt.Errorf("%w: %s", msg.ErrJobExists, s.Job)
	}
	if c.config.Mode != Session && len(c.jobs) > 0 {
		return fmt.Errorf("%w: this cluster runs the one job %s", msg.ErrJobExists, c.order[0])
	}
	if err := s.Graph.Validate(); err != nil {
		return fmt.Errorf("submit job %s: %w", s.Job, err)
	}
	j := &job{id: s.Job, name: s.Graph.Name, jobMaster: ids.JobMasterID(c.tokens.Next())}
	c.jobs[s.Job] = j
	c.order = append(c.order, s.Job)
	c.emit(StartJobMaster{JobMaster: j.jobMaster, Submission: s})
	return nil
}

// current finds the job that a JobMaster speaks of; nil where it is not the
// job's JobMaster.
func (c *Core) current(id ids.JobID, jobMaster ids.JobMasterID) *job {
	j := c.jobs[id]
	if j == nil || j.jobMaster != jobMaster || j.details != nil {
		c.emit(Dropped{Job: id, Why: "it comes from another JobMaster than the job's"})
		return nil
	}
	return j
}

// jobMasterFailed makes a job that could not be run one that has failed: people
// find it in the list, with the reason.
func (c *Core) jobMasterFailed(e JobMasterFailed) {
	j := c.current(e.Job, e.JobMaster)
	if j == nil {
		return
	}
	root := msg.ExceptionEntry{Time: c.now, Failure: *msg.NewFailure(e.Err.Error(), "")}
	c.archive(j, msg.JobDetails{
		ID: e.Job, Name: j.name, Status: msg.JobFailed, Start: c.now, End: c.now,
		Timestamps: map[msg.JobStatus]time.Time{msg.JobInitializing: c.now, msg.JobFailed: c.now},
		Root:       &root, Exceptions: []msg.ExceptionEntry{root},
	}, nil)
}

func (c *Core) jobEnded(e JobEnded) {
	if j := c.current(e.Job, e.JobMaster); j != nil {
		c.archive(j, e.Details, e.Results)
	}
}

// archive takes a job over from its JobMaster.
func (c *Core) archive(j *job, details msg.JobDetails, results collect.Results) {
	j.details, j.results = &details, results
	j.unread = len(results)
	c.emit(JobArchived{Job: j.id, Status: details.Status})
	switch c.config.Mode {
	case Session:
		j.until = c.now.Add(keepTime)
	case Attached:
		j.until = c.now.Add(fetchTime)
	case Detached:
		c.end(outcomeOf(j.details))
	}
}

func (c *Core) cancel(id ids.JobID) error {
	j := c.jobs[id]
	switch {
	case j == nil:
		return fmt.Errorf("%w: %s", msg.ErrJobNotFound, id)
	case j.details == nil:
		c.emit(CancelJob{Job: id})
	case j.details.Status != msg.JobCanceled:
		return fmt.Errorf("%w: %s is %s", msg.ErrJobEnded, id, j.details.Status)
	}
	return nil
}

func (c *Core) entry(id ids.JobID) Entry {
	j := c.jobs[id]
	if j == nil {
		return Entry{}
	}
	return Entry{Job: id, Details: j.details}
}

func (c *Core) entries() []Entry {
	entries := make([]Entry, 0, len(c.order))
	for _, id := range c.order {
		entries = append(entries, c.entry(id))
	}
	return entries
}

func (c *Core) resultAsked(e ResultAsked) {
	c.emit(AnswerJob{Reply: e.Reply, Entry: c.entry(e.Job)})
	if j := c.jobs[e.Job]; j != nil && j.details != nil {
		j.fetched = true
		c.clientFetched(j)
	}
}

// pageAsked reads on in a result that the client had not read to its end when
// the job ended.
func (c *Core) pageAsked(e PageAsked) {
	j := c.jobs[e.Job]
	page, err := j.page(e)
	c.emit(AnswerPage{Reply: e.Reply, Page: Page{Page: page, Err: err}})
	if err == nil {
		c.clientFetched(j)
	}
}

// page reads on in a result of a job, which may be none that there is.
func (j *job) page(e PageAsked) (msg.CollectPage, error) {
	switch {
	case j == nil:
		return msg.CollectPage{}, fmt.Errorf("%w: %s", msg.ErrJobNotFound, e.Job)
	case j.details == nil: // submitted a moment ago
		return msg.CollectPage{}, fmt.Errorf("%w: job %s is being started", msg.ErrNotReady, e.Job)
	case j.results == nil: // no JobMaster left any, and the reason is in the details
		return msg.CollectPage{Next: e.Cursor, End: true}, nil
	case j.results[e.Name] == nil:
		return msg.CollectPage{}, fmt.Errorf("%w: %q", msg.ErrResultNotFound, e.Name)
	}
	result := j.results[e.Name]
	before := result.Drained()
	page, _, err := result.Page(e.Cursor) // nobody is left to acknowledge to
	if result.Drained() && !before {
		j.unread--
	}
	return page, err
}

// clientFetched ends an Attached cluster once the client has all that the job
// left, and otherwise gives it time for the rest.
func (c *Core) clientFetched(j *job) {
	if c.config.Mode != Attached {
		return
	}
	j.until = c.now.Add(fetchTime)
	if j.fetched && (j.unread == 0 || j.details.Status != msg.JobFinished) {
		c.end(outcomeOf(j.details))
	}
}

// shutDown ends the cluster on request. Jobs are not cancelled one by one: they
// end with it. A cluster for one job that has not ended did not do what it was
// for.
func (c *Core) shutDown() {
	if c.config.Mode == Session {
		c.end(Outcome{Status: msg.ApplicationSucceeded})
		return
	}
	for _, j := range c.jobs {
		if j.details != nil {
			c.end(outcomeOf(j.details))
			return
		}
	}
	c.end(Outcome{Status: msg.ApplicationCanceled, Diagnostics: "the cluster was shut down before its job had ended"})
}

func (c *Core) end(o Outcome) {
	if c.outcome == nil {
		c.outcome = &o
		c.emit(EndCluster{Outcome: o})
	}
}

// expire ends the wait for a client, or forgets old jobs.
func (c *Core) expire() {
	for _, id := range slices.Clone(c.order) {
		j := c.jobs[id]
		if j.until.IsZero() || c.now.Before(j.until) {
			continue
		}
		if c.config.Mode == Session {
			delete(c.jobs, id)
			c.order = slices.DeleteFunc(c.order, func(other ids.JobID) bool { return other == id })
			c.emit(JobForgotten{Job: id})
			continue
		}
		c.end(outcomeOf(j.details))
	}
}

func (c *Core) setWake() {
	var next time.Time
	for _, id := range c.order {
		if until := c.jobs[id].until; !until.IsZero() && c.outcome == nil && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	if !next.IsZero() && !next.Equal(c.wake) {
		c.wake = next
		c.emit(Wake{At: next})
	}
}

// outcomeOf is how a cluster ends whose only job has ended.
func outcomeOf(d *msg.JobDetails) Outcome {
	switch d.Status {
	case msg.JobFinished:
		return Outcome{Status: msg.ApplicationSucceeded}
	case msg.JobCanceled:
		return Outcome{Status: msg.ApplicationCanceled, Diagnostics: "job was cancelled"}
	case msg.JobFailed:
		return Outcome{Status: msg.ApplicationFailed, Diagnostics: diagnostics(d)}
	default:
		return Outcome{Status: msg.ApplicationUnknown, Diagnostics: "job ended as " + string(d.Status)}
	}
}

func diagnostics(d *msg.JobDetails) string {
	f := failureOf(d)
	if f == nil {
		return "job failed"
	}
	text := f.Message
	if f.Stack != "" {
		text += "\n" + f.Stack
	}
	return strings.ToValidUTF8(text[:min(len(text), maxDiagnostics)], "")
}

// failureOf is why a job failed, with the place in its first line; nil for one
// that did not fail.
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
