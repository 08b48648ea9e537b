package dispatcher

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/collect"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Mode says when a cluster ends by itself.
type Mode int

// The modes. Session and Application run many jobs; the others run one.
const (
	// Session ends only when it is asked to.
	Session Mode = iota + 1
	// Application ends when its driver has ended, however many jobs that ran.
	Application
	// Attached ends with its only job, after the client has fetched the result.
	Attached
	// Detached ends with its only job, at once.
	Detached
)

const (
	// fetchTime is how long an Attached cluster waits after its job's end for a
	// client that fetches nothing.
	fetchTime = 5 * time.Second
	// maxUnfinished bounds the jobs that have not ended: memory of the ApplicationMaster
	// goes with them, whether they run or wait for slots.
	maxUnfinished = 1000
	// maxDiagnostics bounds Outcome.Diagnostics, in bytes.
	maxDiagnostics = 8 << 10
)

// Config describes a Dispatcher. Begin with Configured.
type Config struct {
	Mode Mode
	// IDs begins the fencing tokens of JobMasters: see ids.NewSequence.
	IDs string
	// Archive says for how long ended jobs are kept where there are many.
	Archive Limits
	// Memory is what all jobs may take together, in bytes: those that run, by estimate, what
	// they collect, and what is kept of those that have ended. 0: nobody bounds it.
	Memory int64
}

// Configured gives the part of a Config that options decide.
func Configured(c config.Config) Config {
	return Config{Archive: Limits{
		Time:  c.Duration(config.JobStoreExpirationTime),
		Jobs:  c.Int(config.JobStoreMaxCapacity),
		Bytes: int64(c.Memory(config.JobStoreCacheSize)),
	}}
}

// Core is the Dispatcher's state. Step is the only way it changes; one goroutine
// may use a Core.
type Core struct {
	config  Config
	tokens  ids.Sequence
	jobs    map[ids.JobID]*job
	order   []ids.JobID // of submission
	watched []*job      // that run and end with their clients
	archive archive     // those that have ended
	// reserved is the sum of what jobs have reserved that have not ended, in bytes.
	reserved int64
	drained  []*job    // that have ended, and whose last pages are held a while longer
	outcome  *Outcome  // how the cluster ends, once that is settled
	wake     time.Time // as last asked for; zero: not asked

	// During a step:
	now     time.Time
	effects []Effect
}

type job struct {
	id        ids.JobID
	name      string
	jobMaster ids.JobMasterID
	detached  bool

	reserved int64 // bytes; 0 once it has ended

	// Of a job that ends with its client:
	clientTimeout time.Duration
	silentUntil   time.Time // when the client is given up

	// Of a job that has ended:
	details *msg.JobDetails
	results collect.Results // nil where it ended without its JobMaster
	unread  int             // results that the client has not read to their end
	fetched bool            // whether the client knows how the job ended
	until   time.Time       // when the client is not waited for, or the job not kept, any longer
	stays   time.Time       // until when it is not forgotten for the sake of others
	size    int64           // as archive counts it
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
	case ClientSeen:
		c.emit(AnswerError{Reply: e.Reply, Err: c.clientSeen(e.Job)})
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
	case EndAsked:
		c.end(e.Outcome)
	case Woken:
		c.wake = time.Time{}
	}
	c.giveClientsUp()
	c.expire()
	c.setWake()
	return c.effects
}

// many tells whether the cluster runs more than one job, and outlives them.
func (c *Core) many() bool { return c.config.Mode == Session || c.config.Mode == Application }

func (c *Core) emit(e Effect) { c.effects = append(c.effects, e) }

func (c *Core) submit(s Submission) error {
	if c.outcome != nil {
		return msg.ErrEnding
	}
	if known := c.jobs[s.Job]; known != nil {
		if known.details != nil {
			return fmt.Errorf("%w: %s is %s", msg.ErrJobEnded, s.Job, known.details.Status)
		}
		return fmt.Errorf("%w: %s", msg.ErrJobExists, s.Job)
	}
	if !c.many() && len(c.jobs) > 0 {
		return fmt.Errorf("%w: this cluster runs the one job %s", msg.ErrJobExists, c.order[0])
	}
	if unfinished := len(c.jobs) - len(c.archive.jobs); unfinished >= maxUnfinished {
		return fmt.Errorf("%w: %d have not ended, which is as many as may: submit %s again later", msg.ErrTooManyJobs, unfinished, s.Job)
	}
	if err := s.Graph.Validate(); err != nil {
		return fmt.Errorf("submit job %s: %w", s.Job, err)
	}
	reserved, each, err := c.admit(s)
	if err != nil {
		return err
	}
	c.reserved += reserved
	j := &job{
		id: s.Job, name: s.Graph.Name, jobMaster: ids.JobMasterID(c.tokens.Next()),
		reserved: reserved, detached: s.Detached, clientTimeout: s.ClientTimeout,
	}
	c.jobs[s.Job] = j
	c.order = append(c.order, s.Job)
	if j.clientTimeout > 0 {
		j.silentUntil = c.now.Add(j.clientTimeout)
		c.watched = append(c.watched, j)
	}
	c.emit(StartJobMaster{JobMaster: j.jobMaster, Submission: s, ResultBytes: each})
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
	c.keep(j, msg.JobDetails{
		ID: e.Job, Name: j.name, Status: msg.JobFailed, Start: c.now, End: c.now,
		Timestamps: map[msg.JobStatus]time.Time{msg.JobInitializing: c.now, msg.JobFailed: c.now},
		Root:       &root, Exceptions: []msg.ExceptionEntry{root},
	}, nil)
}

func (c *Core) jobEnded(e JobEnded) {
	if j := c.current(e.Job, e.JobMaster); j != nil {
		c.keep(j, e.Details, e.Results)
	}
}

// keep takes a job over from its JobMaster.
func (c *Core) keep(j *job, details msg.JobDetails, results collect.Results) {
	c.watched = slices.DeleteFunc(c.watched, func(other *job) bool { return other == j })
	if j.detached {
		results = nil
	}
	j.details, j.results = &details, results
	j.unread = len(results)
	j.stays = c.now.Add(handoverTime)
	c.reserved -= j.reserved
	j.reserved = 0
	c.emit(JobArchived{Job: j.id, Status: details.Status})
	switch c.config.Mode {
	case Session, Application:
		j.until = c.now.Add(c.config.Archive.Time)
	case Attached:
		j.until = c.now.Add(fetchTime)
	case Detached:
		c.end(outcomeOf(j.details))
	}
	c.archive.add(j)
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

// clientSeen lets a job go on for its client's sake.
func (c *Core) clientSeen(id ids.JobID) error {
	j := c.jobs[id]
	if j == nil {
		return fmt.Errorf("%w: %s", msg.ErrJobNotFound, id)
	}
	if !j.silentUntil.IsZero() {
		j.silentUntil = c.now.Add(j.clientTimeout)
	}
	return nil
}

// giveClientsUp cancels jobs whose clients have gone.
func (c *Core) giveClientsUp() {
	c.watched = slices.DeleteFunc(c.watched, func(j *job) bool {
		if c.now.Before(j.silentUntil) {
			return false
		}
		j.silentUntil = time.Time{} // a client that comes back is too late
		c.emit(CancelJob{Job: j.id, Why: fmt.Sprintf("its client was not heard of for %s", j.clientTimeout)})
		return true
	})
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
		j.stays = c.now.Add(handoverTime)
		c.clientFetched(j)
	}
}

// pageAsked reads on in a result that the client had not read to its end when
// the job ended.
func (c *Core) pageAsked(e PageAsked) {
	j := c.jobs[e.Job]
	page, last, err := j.page(e)
	if last {
		c.drained = append(c.drained, j)
	}
	c.emit(AnswerPage{Reply: e.Reply, Page: Page{Page: page, Err: err}})
	if err == nil {
		j.stays = c.now.Add(handoverTime)
		c.archive.resize(j)
		c.clientFetched(j)
	}
}

// page reads on in a result of a job, which may be none that there is. last says that all
// its results have been read to their end now.
func (j *job) page(e PageAsked) (page msg.CollectPage, last bool, err error) {
	switch {
	case j == nil:
		return page, false, fmt.Errorf("%w: %s", msg.ErrJobNotFound, e.Job)
	case j.details == nil: // submitted a moment ago
		return page, false, fmt.Errorf("%w: job %s is being started", msg.ErrNotReady, e.Job)
	case j.results == nil: // no JobMaster left any, and the reason is in the details
		return msg.CollectPage{Next: e.Cursor, End: true}, false, nil
	case j.results[e.Name] == nil:
		return page, false, fmt.Errorf("%w: %q", msg.ErrResultNotFound, e.Name)
	}
	result := j.results[e.Name]
	before := result.Drained()
	page, _, err = result.Page(e.Cursor) // nobody is left to acknowledge to
	if result.Drained() && !before {
		j.unread--
		last = j.unread == 0
	}
	return page, last, err
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
// end with it. A cluster for one job, or for an application, that has not ended did
// not do what it was for.
func (c *Core) shutDown() {
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

func (c *Core) end(o Outcome) {
	if c.outcome == nil {
		c.outcome = &o
		c.emit(EndCluster{Outcome: o})
	}
}

// expire ends the wait for a client, or forgets old jobs.
func (c *Core) expire() {
	c.letGo()
	if c.many() {
		c.forget(c.archive.expire(c.now, c.config.Archive))
		return
	}
	for _, j := range c.archive.jobs {
		if !j.until.IsZero() && !c.now.Before(j.until) {
			c.end(outcomeOf(j.details))
		}
	}
}

// forget ends what is known of jobs that the archive has let go.
func (c *Core) forget(jobs []*job) {
	for _, j := range jobs {
		delete(c.jobs, j.id)
		c.order = slices.DeleteFunc(c.order, func(id ids.JobID) bool { return id == j.id })
		c.drained = slices.DeleteFunc(c.drained, func(other *job) bool { return other == j })
		c.emit(JobForgotten{Job: j.id})
	}
}

func (c *Core) setWake() {
	if c.outcome != nil {
		return
	}
	var next time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, j := range c.watched {
		at(j.silentUntil)
	}
	for _, j := range c.drained {
		at(j.stays)
	}
	if len(c.archive.jobs) > 0 {
		at(c.archive.jobs[0].until)
	}
	if !next.IsZero() && !next.Equal(c.wake) {
		c.wake = next
		c.emit(Wake{At: next})
	}
}

// outcomeOf is how a cluster ends whose only job has ended.
func outcomeOf(d *msg.JobDetails) Outcome { return OutcomeOf(resultOf(d)) }

// OutcomeOf is how a cluster ends that was for a job which ended like this.
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

// Failed is the outcome of a cluster that did not do what it was for, with what YARN
// is told of it. more may be "".
func Failed(text, more string) Outcome {
	if more != "" {
		text += "\n" + more
	}
	return Outcome{Status: msg.ApplicationFailed, Diagnostics: strings.ToValidUTF8(text[:min(len(text), maxDiagnostics)], "")}
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
