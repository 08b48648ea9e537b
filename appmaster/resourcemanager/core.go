package resourcemanager

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/blocklist"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// core is the ResourceManager's state. Only Step changes it; one goroutine may use a core.
type core struct {
	config      Config
	kinds       []*kind // of workers; see kind
	turn        turn    // among jobs that wait for workers of several kinds
	arrivals    int     // of JobMasters
	instances   ids.Sequence
	allocations ids.Sequence

	workers     map[ids.ResourceID]*worker
	connections map[actor.ConnectionID]*worker // of registered workers
	jobs        map[ids.JobID]*jobMaster

	asked    time.Time   // since when the provider has ordered workers to start; zero: it has none
	failures failureRate // of starts of all kinds

	startsFailed failedStarts // of all kinds

	blocked *blocklist.Blocklist
	nodes   []string // that could have workers, as last reported by the provider
	avoid   []string // the next Orders.Avoid
	avoided []string // the last one

	// tokens are the newest delegation tokens that came after the start. Workers may have been
	// launched with older ones. nil while none came.
	tokens msg.Secret

	inquiries inquiries // of users, about workers

	usage msg.Usage // of all workers, also of those that have ended

	begin    Begin
	grants   grants
	standby  bool      // it does not lead yet
	recovery recovery  // of workers of earlier masters
	shutdown *shutdown // nil until it is requested

	nextHeartbeat time.Time // zero while there is no worker, connected or expected
	// nextExpiry is not after the first worker's deadline. Heartbeats move deadlines, so nextExpiry
	// is recomputed only when it has passed.
	nextExpiry time.Time
	alarm      time.Time // when the core is to be woken; zero: never

	// During a step:
	now     time.Time
	effects []effect
	release []Release
	check   []ids.ResourceID
}

type jobMaster struct {
	id      ids.JobMasterID
	program msg.Program
	arrived int           // the number of its registration
	number  int           // of its last declaration
	parts   map[*kind]int // SlotNeed.Part
	later   map[*kind]int // SlotNeed.Later
	// tooLarge says why no part of the job fits under the ceiling; "": some part may fit.
	tooLarge string
	// toldBlocked says that the JobMaster knows that it lacks slots and has blocked all nodes.
	toldBlocked bool
	// waitsTurn says that the job waits until another one has had its turn at new workers.
	waitsTurn bool
	// usage is what the job's task hosts have used, also those that have ended.
	usage msg.Usage
}

type shutdown struct {
	done    bool
	err     error
	waiting []actor.Question[error]
}

// newCore makes a core without jobs and workers.
func newCore(config Config) (*core, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	c := &core{
		config:      config,
		blocked:     blocklist.New(),
		instances:   ids.NewSequence(config.IDs),
		allocations: ids.NewSequence(config.IDs),
		failures:    newFailureRate(config),
		workers:     make(map[ids.ResourceID]*worker),
		connections: make(map[actor.ConnectionID]*worker),
		jobs:        make(map[ids.JobID]*jobMaster),
		standby:     config.Standby,
		grants:      newGrants(),
		recovery:    recovery{gaveUp: make(map[ids.ResourceID]bool)},
	}
	c.addKind(config.Worker, config.SlotMemory)
	return c, nil
}

// Step handles one event and returns the effects to perform, in order.
func (c *core) Step(now time.Time, event event) []effect {
	c.now, c.effects, c.release, c.check = now, nil, nil, nil
	c.excuse()
	switch e := event.(type) {
	case leading:
		c.lead()
	case workersReported:
		c.workersReported(e.Events)
	case taskExecutorSaid:
		c.taskExecutorSaid(e)
	case taskExecutorDisconnected:
		c.disconnected(e.From, e.Cause)
	case jobMasterRegistering:
		c.registerJobMaster(e.Registration)
	case requirementsDeclared:
		c.declare(e.Declaration)
	case nodesBlocked:
		c.block(e.Message)
	case jobMasterGone:
		c.forgetJobMaster(e.Job, e.JobMaster)
	case tokensUpdated:
		c.updateTokens(e.Tokens)
	case woken:
	case statusAsked:
		c.emit(reply{e.Question.Answer(c.status())})
	case supplyAsked:
		c.emit(reply{e.Question.Answer(c.supply())})
	case detailsAsked:
		c.emit(reply{e.Question.Answer(c.details(e.Worker))})
	case grantAsked:
		c.emit(reply{e.Question.Answer(c.grants.at[e.Job])})
	case inquiryAsked:
		c.inquire(e)
	case shutdownAsked:
		c.shutDown(e)
	case deregistered:
		c.deregistered(e.Err)
	}
	c.alarm = time.Time{}
	if c.shutdown == nil && !c.standby {
		c.expire()
		c.expireInquiries()
		c.heartbeat()
		c.reconcile()
		c.noteReturn()
		c.endReturn()
		c.alarm = c.nextDue()
	}
	return c.effects
}

func (c *core) emit(e effect) { c.effects = append(c.effects, e) }

// Alarm implements actor.Core.
func (c *core) Alarm() time.Time { return c.alarm }

// nextDue is when the next deadline passes.
func (c *core) nextDue() time.Time {
	next := actor.Earliest(c.nextExpiry, c.nextHeartbeat)
	if c.recovering() {
		next = actor.Earliest(next, c.recoverBy().At())
	}
	for _, k := range c.kinds {
		if at, ok := k.slots.Next(); ok {
			next = actor.Earliest(next, at)
		}
		if until := c.startsPause(k); c.now.Before(until) {
			next = actor.Earliest(next, until)
		}
	}
	next = actor.Earliest(next, c.inquiries.next())
	return actor.Earliest(next, c.turn.until)
}

func (c *core) registerJobMaster(r msg.RegisterJobMaster) {
	if old := c.jobs[r.Job]; old != nil && old.id != r.JobMaster {
		c.forgetJobMaster(r.Job, old.id)
	}
	if c.jobs[r.Job] == nil {
		c.arrivals++
		c.jobs[r.Job] = &jobMaster{id: r.JobMaster, program: r.Program, arrived: c.arrivals, parts: make(map[*kind]int), later: make(map[*kind]int)}
	}
	c.emit(sendJobMaster{
		To:      r.JobMaster,
		Message: msg.JobMasterRegistered{ResourceManager: c.config.ResourceManager},
	})
	if c.recovery.over {
		c.tellReturned(r.Job)
	}
}

func (c *core) declare(d msg.DeclareRequirements) {
	job := c.jobs[d.Job]
	if job == nil || job.id != d.JobMaster {
		c.emit(dropped{Message: d, From: string(d.JobMaster), Why: "it is not the job's JobMaster"})
		return
	}
	job.toldBlocked, job.number = false, d.Number
	for _, need := range d.Needs {
		if len(d.Needs) > 1 { // Least of each kind may be of another part, so that no part fits
			need.Least = max(need.Least, need.Part)
		}
		c.need(d.Job, need)
	}
}

// need declares a job's slots of one profile.
func (c *core) need(id ids.JobID, n msg.SlotNeed) {
	job, k := c.jobs[id], c.kindFor(n.Profile)
	if k == nil {
		c.emit(sendJobMaster{To: job.id, Message: msg.NotEnoughResources{Job: id, Profile: n.Profile, Answers: job.number, Reason: fmt.Sprintf(
			"the cluster has had slots of %d different sizes, and cannot have more: give slot sharing groups resources that others have, or start another cluster", maxKinds)}})
		return
	}
	delete(k.told, id)
	job.parts[k], job.later[k] = max(n.Part, 0), max(n.Later, 0)
	k.slots.Declare(id, max(n.Slots, 0), n.Least)
}

func (c *core) forgetJobMaster(id ids.JobID, jobMaster ids.JobMasterID) {
	if job := c.jobs[id]; job != nil && job.id == jobMaster {
		delete(c.jobs, id)
		for _, k := range c.kinds {
			k.slots.Declare(id, 0, 0)
		}
		c.emit(forgetJobMaster{JobMaster: jobMaster})
		c.blocked.Set(id, nil)
	}
}

// shutDown ends all workers, and then the application.
func (c *core) shutDown(e shutdownAsked) {
	switch {
	case c.shutdown == nil:
		c.shutdown = &shutdown{waiting: []actor.Question[error]{e.Question}}
	case c.shutdown.done:
		c.emit(reply{e.Question.Answer(c.shutdown.err)})
		return
	default:
		c.shutdown.waiting = append(c.shutdown.waiting, e.Question)
		return
	}
	for _, id := range c.workerIDs() {
		c.terminate(c.workers[id], "the cluster shuts down")
	}
	for _, k := range c.kinds {
		k.missing = 0
	}
	c.order()
	c.emit(deregister{Status: e.Status, Diagnostics: e.Diagnostics})
}

func (c *core) deregistered(err error) {
	c.shutdown.done, c.shutdown.err = true, err
	for _, question := range c.shutdown.waiting {
		c.emit(reply{question.Answer(err)})
	}
	c.shutdown.waiting = nil
}
