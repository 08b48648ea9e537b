package dispatcher

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Mode says when a cluster ends without a request.
type Mode int

// The modes. Session and Application run many jobs; the others run one.
const (
	// Session ends only on request.
	Session Mode = iota + 1
	// Application ends when its driver has ended, for any number of jobs.
	Application
	// Attached ends with its only job, after the client has fetched the result.
	Attached
	// Detached ends with its only job, at once.
	Detached
)

const (
	// fetchTime is how long an Attached cluster waits after its job's end for a client that fetches
	// nothing.
	fetchTime = 5 * time.Second
	// collectTime is the same time if the client has not read all that the job collected. These records end
	// with the ApplicationMaster, and the client may be on a busy machine, or behind a slow line.
	collectTime = time.Minute
	// maxUnfinished is how many jobs may be unfinished, because each takes memory of the ApplicationMaster,
	// whether it runs or waits for slots.
	maxUnfinished = 1000
)

// Config describes a Dispatcher. Begin with Configured.
type Config struct {
	Mode Mode
	// IDs is the prefix of the JobMasters' fencing tokens: see ids.NewSequence.
	IDs string
	// Archive bounds what is kept of ended jobs in a cluster of many jobs. They take half of Memory at
	// most.
	Archive Limits
	// Memory is how much all jobs may take together, in bytes: running jobs by estimate, what they collect,
	// and what is kept of ended jobs. 0: no bound.
	Memory int64
	// MemoryBy is the option that gives the ApplicationMaster more memory.
	MemoryBy config.MemoryKey
	// ClientInterval is client.heartbeat.interval. After the process was stopped, clients have this time to
	// send a heartbeat. The Dispatcher checks at this interval whether the process was stopped; 0: only
	// when a client's deadline passes.
	ClientInterval time.Duration
}

// Configured returns the part of a Config that options decide.
func Configured(c config.Config) Config {
	return Config{
		Archive: Limits{
			Time:  c.Duration(config.JobStoreExpirationTime),
			Jobs:  c.Int(config.JobStoreMaxCapacity),
			Bytes: int64(c.Memory(config.JobStoreCacheSize)),
		},
		MemoryBy:       memory.MasterSizedBy(c),
		ClientInterval: c.Duration(config.ClientHeartbeatInterval),
	}
}

// core is the Dispatcher's state. Only Step changes it. One goroutine may use a core.
type core struct {
	config  Config
	tokens  ids.Sequence
	jobs    map[ids.JobID]*job
	order   []ids.JobID // in the order of submission
	watched []*job      // running jobs that end with their clients
	archive archive     // ended jobs
	// ended and withdrawn are ids of jobs that are in none of the fields above, and whose submission is
	// refused: jobs that have ended, and jobs that were cancelled before their submission arrived. They are
	// apart so that neither kind pushes out the other.
	ended, withdrawn forgotten
	// memory is the account of what jobs take. The archive has half of it at most, and beyond that only
	// jobs that stay, see handoverTime. An ended job is dropped only if another job needs its room, or by
	// Limits.
	memory budget.Jobs
	// unfinished is the outcome of the first job that did not finish; nil while every ended job has
	// finished.
	unfinished *Outcome
	awaiting   []actor.Question[Outcome] // questions about the outcome of all jobs
	outcome    *Outcome                  // how the cluster ends; nil until that is decided
	alarm      time.Time                 // when something is due; zero: never
	look       time.Time                 // latest time of the next step while clients are awaited

	// During a step:
	now     time.Time
	effects []effect
}

type job struct {
	id        ids.JobID
	name      string
	jobMaster ids.JobMasterID
	submitted time.Time
	detached  bool

	reserved budget.Reservation // none once it has ended

	clientTimeout time.Duration     // only of a job that ends with its client
	client        patience.Deadline // when the client is given up, if awaited lists the job

	// Of a job that has ended:
	details *msg.JobDetails
	results collect.Results // nil if the job ended without its JobMaster
	unread  int             // number of results that the client has not read to their end
	fetched bool            // whether the client knows how the job ended
	until   time.Time       // until when it is kept, in a cluster of many jobs
	heard   time.Time       // time of the client's last request, or of the job's end
	size    int64           // as archive counts it
}

// newCore makes a core without jobs.
func newCore(config Config) *core {
	if config.Memory > 0 { // the other half is for running jobs
		config.Archive.Bytes = min(config.Archive.Bytes, config.Memory/2)
	}
	return &core{config: config, tokens: ids.NewSequence(config.IDs), jobs: make(map[ids.JobID]*job), memory: budget.NewJobs(config.Memory, config.MemoryBy)}
}

// Step takes one event and returns its effects, in order.
func (c *core) Step(now time.Time, event event) []effect {
	c.now, c.effects = now, nil
	c.excuse()
	switch e := event.(type) {
	case submitAsked:
		c.emit(reply{e.Question.Answer(c.submit(e.Submission, e.Need))})
	case jobMasterFailed:
		c.jobMasterFailed(e)
	case jobEnded:
		c.jobEnded(e)
	case cancelAsked:
		c.emit(reply{e.Question.Answer(c.cancel(e.Job))})
	case clientSeen:
		c.emit(reply{e.Question.Answer(c.clientSeen(e.Job))})
	case jobAsked:
		c.emit(reply{e.Question.Answer(c.entry(e.Job))})
	case jobsAsked:
		c.emit(reply{e.Question.Answer(c.entries())})
	case resultAsked:
		c.resultAsked(e)
	case pageAsked:
		c.pageAsked(e)
	case jobsAwaited:
		c.awaiting = append(c.awaiting, e.Question)
	case shutdownAsked:
		c.shutDown()
	case endAsked:
		c.end(e.Outcome)
	case woken: // Step does what is due after each event
	}
	c.answerAwaiting()
	c.giveClientsUp()
	c.expire()
	c.alarm = c.nextDue()
	return c.effects
}

// many reports whether the cluster runs more than one job, and outlives them.
func (c *core) many() bool { return c.config.Mode == Session || c.config.Mode == Application }

func (c *core) emit(e effect) { c.effects = append(c.effects, e) }

func (c *core) submit(s Submission, need budget.Need) error {
	if c.outcome != nil {
		return msg.ErrEnding
	}
	if known := c.jobs[s.Job]; known != nil {
		if known.details != nil {
			return fmt.Errorf("%w: %s is %s", msg.ErrJobEnded, s.Job, known.details.Status)
		}
		return fmt.Errorf("%w: %s", msg.ErrJobExists, s.Job)
	}
	if c.ended.has(c.now, s.Job) {
		return fmt.Errorf("%w: %s is not kept any longer", msg.ErrJobEnded, s.Job)
	}
	if c.withdrawn.has(c.now, s.Job) {
		return fmt.Errorf("%w: %s", msg.ErrJobWithdrawn, s.Job)
	}
	if !c.many() && len(c.jobs) > 0 {
		return fmt.Errorf("%w: this cluster runs only job %s", msg.ErrJobExists, c.order[0])
	}
	if unfinished := len(c.jobs) - len(c.archive.jobs); unfinished >= maxUnfinished {
		return fmt.Errorf("%w: %d jobs have not ended, which is the maximum: submit job %s again later", msg.ErrTooManyJobs, unfinished, s.Job)
	}
	reserved, err := c.memory.Admit(s.Job, need, c.archive.size, func(lacking int64) int64 {
		c.forget(c.archive.yield(c.now, lacking))
		return c.archive.size
	})
	if err != nil {
		return err
	}
	j := &job{
		id: s.Job, name: s.Graph.Name, jobMaster: ids.JobMasterID(c.tokens.Next()), submitted: c.now,
		reserved: reserved, detached: s.Detached, clientTimeout: s.ClientTimeout,
	}
	c.jobs[s.Job] = j
	c.order = append(c.order, s.Job)
	if j.clientTimeout > 0 {
		j.client = patience.After(c.now, j.clientTimeout)
		c.watched = append(c.watched, j)
	}
	c.emit(StartJobMaster{JobMaster: j.jobMaster, Submission: s, Submitted: c.now, ResultBytes: reserved.Each})
	return nil
}

// current returns the unfinished job that a JobMaster's event is about; nil if the sender is not the job's
// current JobMaster.
func (c *core) current(id ids.JobID, jobMaster ids.JobMasterID) *job {
	j := c.jobs[id]
	if j == nil || j.jobMaster != jobMaster || j.details != nil {
		c.emit(dropped{Job: id, Why: "it comes from another JobMaster than the job's"})
		return nil
	}
	return j
}

// jobMasterFailed marks a job that could not be run as FAILED, so that users find it and the reason in the
// list.
func (c *core) jobMasterFailed(e jobMasterFailed) {
	j := c.current(e.Job, e.JobMaster)
	if j == nil {
		return
	}
	root := msg.ExceptionEntry{Time: c.now, Failure: *msg.NewFailure(e.Err.Error(), "")}
	c.keep(j, msg.JobDetails{
		ID: e.Job, Name: j.name, Status: msg.JobFailed, Start: j.submitted, End: c.now,
		Timestamps: map[msg.JobStatus]time.Time{msg.JobInitializing: j.submitted, msg.JobFailed: c.now},
		Root:       &root, Exceptions: []msg.ExceptionEntry{root},
	}, nil)
}

func (c *core) jobEnded(e jobEnded) {
	if j := c.current(e.Job, e.JobMaster); j != nil {
		c.keep(j, e.Details, e.Results)
	}
}

// keep takes a job over from its JobMaster.
func (c *core) keep(j *job, details msg.JobDetails, results collect.Results) {
	c.watched = slices.DeleteFunc(c.watched, func(other *job) bool { return other == j })
	if j.detached {
		results = nil
	}
	j.details, j.results = &details, results
	j.unread = len(results)
	j.heard = c.now
	c.memory.Release(j.reserved)
	j.reserved = budget.Reservation{}
	c.emit(jobArchived{Job: j.id, Status: details.Status})
	switch c.config.Mode {
	case Session, Application:
		j.until = c.now.Add(c.config.Archive.Time)
	case Attached:
		j.client = patience.After(c.now, j.silence())
	case Detached:
		c.end(outcomeOf(j.details))
	}
	if details.Status != msg.JobFinished && c.unfinished == nil {
		o := outcomeOf(j.details)
		c.unfinished = &o
	}
	c.archive.add(j)
}

func (c *core) cancel(id ids.JobID) error {
	j := c.jobs[id]
	switch {
	case j == nil:
		c.withdraw(id)
		return fmt.Errorf("%w: %s", msg.ErrJobNotFound, id)
	case j.details == nil:
		c.emit(cancelJob{Job: id})
	case j.details.Status != msg.JobCanceled:
		return fmt.Errorf("%w: %s is %s", msg.ErrJobEnded, id, j.details.Status)
	}
	return nil
}

func (c *core) entry(id ids.JobID) jobEntry {
	j := c.jobs[id]
	if j == nil {
		return jobEntry{}
	}
	return jobEntry{Job: id, Details: j.details}
}

func (c *core) entries() []jobEntry {
	entries := make([]jobEntry, 0, len(c.order))
	for _, id := range c.order {
		entries = append(entries, c.entry(id))
	}
	return entries
}

// expire forgets the jobs that the archive's limits exclude.
func (c *core) expire() {
	if c.many() {
		c.forget(c.archive.expire(c.now, c.config.Archive))
	}
}

// forget removes what is known of jobs that the archive has dropped.
func (c *core) forget(jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	for _, j := range jobs {
		delete(c.jobs, j.id)
		c.ended.add(c.now, j.id)
		c.emit(jobForgotten{Job: j.id})
	}
	c.order = slices.DeleteFunc(c.order, func(id ids.JobID) bool { return c.jobs[id] == nil })
}

// Alarm implements actor.Core.
func (c *core) Alarm() time.Time { return c.alarm }

// nextDue returns when the next deadline is. When the cluster ends there is none, because each later step
// would count as late.
func (c *core) nextDue() time.Time {
	if c.outcome != nil {
		return time.Time{}
	}
	var next time.Time
	awaited := c.awaited()
	for _, j := range awaited {
		next = actor.Earliest(next, j.client.At())
	}
	if len(awaited) > 0 {
		next = actor.Earliest(next, c.nextLook())
	}
	if len(c.archive.jobs) > 0 {
		next = actor.Earliest(next, c.archive.jobs[0].until)
	}
	return next
}
