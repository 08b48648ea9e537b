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
	"github.com/bobbin-yarn/bobbin/internal/ha"
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
	// Epoch is that of the grants of leadership, and IDs the prefix of what is random in the JobMasters' fencing tokens:
	// see ids.NewSequence.
	Epoch ids.Epoch
	IDs   string
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
	// Archives says that jobs that have ended are archived for history servers: see Archiver.
	Archives bool
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
	order   []ids.JobID // in the order of submission, except if unsorted is true
	watched []*job      // running jobs that end with their clients
	archive archive     // ended jobs
	// records says what the store has of each job.
	records map[ids.JobID]*record
	retries []retry // changes of the store that have failed, in the order of the next try
	loads   loads   // results that are being read from the store
	past    past    // of an Application: ended jobs that are only in the store
	// unarchived are the jobs that history servers do not know yet.
	unarchived unarchived
	replay     replay
	stop       stop
	// ended and withdrawn are ids of jobs that are in none of the fields above but records, and whose submission is
	// refused: jobs that have ended, and jobs that were cancelled before their submission arrived. They are
	// apart so that neither kind pushes out the other.
	ended, withdrawn forgotten
	// memory is the account of what jobs take. The archive has half of it at most, and beyond that only
	// jobs that stay, see handoverTime. An ended job is dropped only if another job needs its room, or by
	// Limits.
	memory budget.Jobs
	// unfinished is the job that ended first of those that did not finish; nil while every ended job has
	// finished.
	unfinished *msg.JobDetails
	awaiting   []actor.Question[Outcome] // questions about the outcome of all jobs
	outcome    *Outcome                  // how the cluster ends; nil until that is decided
	alarm      time.Time                 // when something is due; zero: never
	look       time.Time                 // latest time of the next step while clients are awaited
	unsorted   bool

	// During a step:
	now     time.Time
	effects []effect
}

// phase is how far a job is.
type phase int

const (
	storing phase = iota + 1 // it is not accepted before it is stored
	running                  // its JobMaster runs, or is being made
	ending                   // its JobMaster has ended, and its result is being stored
	ended                    // its result is stored
)

type job struct {
	id        ids.JobID
	identity  identity // if it is not known, only a name
	phase     phase
	jobMaster ids.JobMasterID
	submitted time.Time
	detached  bool

	submission Submission              // while it is being stored
	submitters []actor.Question[error] // likewise: the first one submitted the job, the others have repeated that
	cancelled  bool                    // its end is requested
	why        string                  // the reason; "" on request
	refusal    error                   // the store's last one of its result; nil: none
	cancellers []actor.Question[error] // they wait until the request is stored, or the job's result

	reserved budget.Reservation // none once it has ended

	clientTimeout time.Duration     // only of a job that ends with its client
	client        patience.Deadline // when the client is given up, if awaited lists the job

	// Of a job that is ending or has ended:
	details  *msg.JobDetails  // if it is not loaded, with its id and status only
	results  collect.Results  // nil if the job ended without its JobMaster
	unloaded bool             // whether details and results are only in the store
	reloads  bool             // whether they are also there, because an earlier master has stored them
	overview *msg.JobOverview // of a job that reloads; nil: not known
	noted    bool             // whether it is known why a job that reloads has failed
	unread   int              // number of results that the client has not read to their end
	fetched  bool             // whether the client knows how the job ended
	until    time.Time        // until when it is kept, in a cluster of many jobs
	heard    time.Time        // time of the client's last request, or of the job's end
	size     int64            // as archive counts it
}

// newCore makes a core without jobs.
func newCore(config Config) *core {
	if config.Memory > 0 { // the other half is for running jobs
		config.Archive.Bytes = min(config.Archive.Bytes, config.Memory/2)
	}
	return &core{
		config: config, tokens: ids.NewSequence(config.IDs), memory: budget.NewJobs(config.Memory, config.MemoryBy),
		jobs: make(map[ids.JobID]*job), records: make(map[ids.JobID]*record), loads: newLoads(), past: newPast(),
		unarchived: newUnarchived(),
	}
}

// Step takes one event and returns its effects, in order.
func (c *core) Step(now time.Time, event event) []effect {
	c.now, c.effects = now, nil
	c.excuse()
	c.expireIDs()
	c.handle(event)
	c.answerAwaiting()
	c.answerListing()
	c.giveClientsUp()
	c.expire()
	c.retry()
	c.archiveAgain()
	c.alarm = c.nextDue()
	return c.effects
}

func (c *core) handle(event event) {
	switch e := event.(type) {
	case recovered:
		c.recover(e.Recovered)
	case submitAsked:
		c.submit(e)
	case changed:
		c.changed(e)
	case resultLoaded:
		c.resultLoaded(e)
	case overviewLoaded:
		c.overviewLoaded(e)
	case archiveTried:
		c.archiveTried(e)
	case jobMasterFailed:
		c.jobMasterFailed(e)
	case jobEnded:
		c.jobEnded(e)
	case cancelAsked:
		c.cancelAsked(e)
	case clientSeen:
		c.emit(reply{e.Question.Answer(c.clientSeen(e.Job))})
	case jobAsked:
		c.jobAsked(e)
	case jobsAsked:
		c.jobsAsked(e)
	case resultAsked:
		c.resultAsked(e)
	case pageAsked:
		c.pageAsked(e)
	case jobsAwaited:
		c.awaiting = append(c.awaiting, e.Question)
	case shutdownAsked:
		c.shutdownAsked(e)
	case stopStored:
		c.stopStored(e)
	case endAsked:
		c.end(e.Outcome)
	case woken: // Step does what is due after each event
	}
}

// many reports whether the cluster runs more than one job, and outlives them.
func (c *core) many() bool { return c.config.Mode == Session || c.config.Mode == Application }

func (c *core) emit(e effect) { c.effects = append(c.effects, e) }

// maxAsking is how many questions wait for one answer of the store. Their callers may have left: while HDFS does not
// answer, clients ask again and again.
const maxAsking = 100

// later keeps a question about a change until the store has answered. If too many wait, it answers.
func (c *core) later(asking []actor.Question[error], q actor.Question[error], what string) []actor.Question[error] {
	if len(asking) >= maxAsking {
		c.emit(reply{q.Answer(fmt.Errorf("%w: %s is being stored", msg.ErrNotReady, what))})
		return asking
	}
	return append(asking, q)
}

// answerAll answers questions alike.
func (c *core) answerAll(asking []actor.Question[error], err error) {
	for _, q := range asking {
		c.emit(reply{q.Answer(err)})
	}
}

// start has a JobMaster made for a job.
func (c *core) start(j *job, s Submission, recovered map[int]ha.Commit) {
	j.jobMaster = ids.NewJobMasterID(c.config.Epoch, c.tokens.Next())
	j.phase = running
	if j.clientTimeout > 0 && !j.cancelled { // while the job was being stored, the client waited for an answer
		j.client = patience.After(c.now, j.clientTimeout)
		c.watched = append(c.watched, j)
	}
	var resumed time.Time
	if recovered != nil {
		resumed = c.now
	}
	c.emit(StartJobMaster{
		JobMaster: j.jobMaster, Submission: s, Submitted: j.submitted,
		ResultBytes: j.reserved.Each, KeepRead: c.config.Mode == Application,
		Recovered: recovered, Resumed: resumed, Cancelled: recovered != nil && j.cancelled,
	})
}

// current returns the unfinished job that a JobMaster's event is about; nil if the sender is not the job's
// current JobMaster.
func (c *core) current(id ids.JobID, jobMaster ids.JobMasterID) *job {
	j := c.jobs[id]
	if j == nil || j.jobMaster != jobMaster || j.phase != running {
		c.emit(dropped{Job: id, Why: "it comes from another JobMaster than the job's"})
		return nil
	}
	return j
}

// jobMasterFailed marks a job that could not be run as FAILED, so that users find it and the reason in the
// list.
func (c *core) jobMasterFailed(e jobMasterFailed) {
	if j := c.current(e.Job, e.JobMaster); j != nil {
		c.fail(j, e.Err)
	}
}

// fail ends a job that cannot be run. If its end was requested before, that is what its users get.
func (c *core) fail(j *job, why error) {
	status := msg.JobFailed
	if c.records[j.id].cancelled {
		status = msg.JobCanceled
	}
	root := msg.ExceptionEntry{Time: c.now, Failure: *msg.NewFailure(why.Error(), "")}
	c.left(j, msg.JobDetails{
		ID: j.id, Name: j.identity.Name, Status: status, Start: j.submitted, End: c.now,
		Timestamps: map[msg.JobStatus]time.Time{msg.JobInitializing: j.submitted, status: c.now},
		Root:       &root, Exceptions: []msg.ExceptionEntry{root},
	}, nil)
}

func (c *core) jobEnded(e jobEnded) {
	if j := c.current(e.Job, e.JobMaster); j != nil {
		c.left(j, e.Details, e.Results)
	}
}

// left has stored what is left of a job. Until then nobody is told how the job has ended: otherwise the job could end in
// another way under the next master.
func (c *core) left(j *job, details msg.JobDetails, results collect.Results) {
	c.watched = slices.DeleteFunc(c.watched, func(other *job) bool { return other == j })
	if j.detached {
		results = nil
	}
	j.phase, j.details, j.results = ending, &details, results
	c.advance(j.id)
}

// keep takes a job over whose result is stored, and answers for it from now on.
func (c *core) keep(j *job) {
	j.phase = ended
	c.memory.Release(j.reserved)
	j.reserved = budget.Reservation{}
	j.heard = c.now
	c.emit(jobArchived{Job: j.id, Status: j.details.Status})
	c.archiveEnded(j.id, j.details.Status, j.details)
	for _, q := range j.cancellers {
		c.emit(reply{q.Answer(cancelledLate(j.id, j.details.Status))})
	}
	j.cancellers = nil
	if c.many() {
		j.until = c.now.Add(c.config.Archive.Time)
	}
	c.archive.add(j)
	c.noteEnd(j)
	c.endWith(j)
}

// noteEnd notes how a job has ended, now that its results are known.
func (c *core) noteEnd(j *job) {
	j.unread = len(j.results)
	c.noteUnfinished(j)
	if c.config.Mode == Attached {
		j.client = patience.After(c.now, j.silence())
	}
}

// endWith ends a cluster for this one job, if no client needs more of it.
func (c *core) endWith(j *job) {
	if c.config.Mode == Detached {
		c.end(outcomeOf(j.details))
	}
}

// expire forgets the jobs that the archive's limits exclude.
func (c *core) expire() {
	if c.many() {
		c.forget(c.archive.expire(c.now, c.config.Archive))
	}
}

// Alarm implements actor.Core.
func (c *core) Alarm() time.Time { return c.alarm }

// nextDue returns when the next deadline is. When the cluster ends there is none, because each later step
// would count as late.
func (c *core) nextDue() time.Time {
	if c.outcome != nil {
		return time.Time{}
	}
	next := actor.Earliest(actor.Earliest(c.ended.next(), c.nextRetry()), c.nextArchive())
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
