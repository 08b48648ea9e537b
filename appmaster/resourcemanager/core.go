package resourcemanager

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/blocklist"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// core is the ResourceManager's state. Only Step changes it; one goroutine may use a core.
type core struct {
	config    Config
	slots     *slotmanager.Manager
	instances ids.Sequence

	workers     map[ids.ResourceID]*worker
	connections map[actor.ConnectionID]*worker // of registered workers
	jobs        map[ids.JobID]*jobMaster

	total    int         // the last Orders.Total
	asked    time.Time   // since when the provider has ordered workers to start; zero: it has none
	starts   int         // WorkerStarting events so far
	failures failureRate // of starts
	strayed  time.Time   // when the provider last started a worker that can serve no waiting job

	blocked *blocklist.Blocklist
	nodes   []string // that could have workers, as last reported by the provider
	avoid   []string // the next Orders.Avoid
	avoided []string // the last one

	// tokens are the newest delegation tokens that came after the start. Workers may have been
	// launched with older ones. nil while none came.
	tokens msg.Secret

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
	// told says that the JobMaster knows that its requirements cannot be met.
	told bool
	// toldBlocked says that the JobMaster knows that it lacks slots and has blocked all nodes.
	toldBlocked bool
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
		failures:    failureRate{limit: config.MaxStartFailures, pause: config.StartRetryInterval},
		workers:     make(map[ids.ResourceID]*worker),
		connections: make(map[actor.ConnectionID]*worker),
		jobs:        make(map[ids.JobID]*jobMaster),
	}
	most := config.Ceiling.Most(config.Worker.totals())
	c.slots = slotmanager.New(slotmanager.Config{
		SlotsPerWorker: config.Worker.Slots,
		Least:          config.Floor.Fewest(config.Worker.totals()).Workers,
		Most:           most.Workers,
		MostBy:         fmt.Sprintf("%v (each TaskExecutor has %v)", most, config.Worker.totals()),
		Redundant:      config.Redundant,
		Spread:         config.Spread,
		IdleTimeout:    config.IdleTimeout,
		Blocklist:      blocks{c},
	}, ids.NewSequence(config.IDs))
	return c, nil
}

// Step handles one event and returns the effects to perform, in order.
func (c *core) Step(now time.Time, event event) []effect {
	c.now, c.effects, c.release, c.check = now, nil, nil, nil
	c.excuse()
	switch e := event.(type) {
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
	case shutdownAsked:
		c.shutDown(e)
	case deregistered:
		c.deregistered(e.Err)
	}
	c.alarm = time.Time{}
	if c.shutdown == nil {
		c.expire()
		c.heartbeat()
		c.reconcile()
		c.alarm = c.nextDue()
	}
	return c.effects
}

func (c *core) emit(e effect) { c.effects = append(c.effects, e) }

// reconcile grants free slots to jobs and orders missing workers.
func (c *core) reconcile() {
	plan := c.slots.Reconcile(c.now)
	for _, grants := range together(plan.Grants) {
		c.request(grants)
	}
	for _, r := range plan.Release {
		c.terminate(c.workers[r.Worker], r.Cause)
	}
	if plan.Strayed {
		c.strayed = c.now
	}
	for _, s := range plan.Short {
		reason := cmp.Or(s.Reason, c.hopeless())
		if job := c.jobs[s.Job]; reason != "" && !job.told {
			job.told = true
			c.emit(sendJobMaster{To: job.id, Message: msg.NotEnoughResources{
				Job: s.Job, Reason: reason, NodesBlocked: c.blocked.Any(s.Job),
			}})
		}
	}
	c.tellBlocked(plan.Short)
	c.avoid = c.useless(plan.For)
	c.order(c.permitted(plan.Workers))
}

// together groups the grants of each job on each worker, so that the worker starts one task host with
// the memory of all slots.
func together(grants []slotmanager.Grant) (groups [][]slotmanager.Grant) {
	type place struct {
		worker ids.ResourceID
		job    ids.JobID
	}
	at := make(map[place]int)
	for _, g := range grants {
		key := place{g.Slot.Resource, g.Job}
		i, known := at[key]
		if !known {
			i, at[key] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], g)
	}
	return groups
}

// request asks a worker for slots that were granted to one job.
func (c *core) request(grants []slotmanager.Grant) {
	job := c.jobs[grants[0].Job]
	m := msg.RequestSlots{
		Job:       grants[0].Job,
		JobMaster: job.id,
		Program:   job.program,
		Memory:    c.config.SlotMemory,
	}
	for _, g := range grants {
		m.Slots = append(m.Slots, msg.SlotOffer{Index: g.Slot.Index, Allocation: g.Allocation})
	}
	c.emit(sendTaskExecutor{To: c.workers[grants[0].Slot.Resource].connection, Message: m})
}

// order sends new orders to the provider if they have changed.
func (c *core) order(outstanding int) {
	switch {
	case outstanding == 0:
		c.asked = time.Time{}
	case c.asked.IsZero():
		c.asked = c.now
	}
	total := c.starts + outstanding
	if total == c.total && len(c.release) == 0 && len(c.check) == 0 && slices.Equal(c.avoid, c.avoided) {
		return
	}
	c.total, c.avoided = total, c.avoid
	c.emit(orderWorkers{Orders: Orders{
		Workers: []WorkerOrder{{Spec: c.config.Worker, Total: total}},
		Release: c.release, Check: c.check, Avoid: c.avoid,
	}})
}

// Alarm implements actor.Core.
func (c *core) Alarm() time.Time { return c.alarm }

// nextDue is when the next deadline passes.
func (c *core) nextDue() time.Time {
	next := actor.Earliest(c.nextExpiry, c.nextHeartbeat)
	if at, ok := c.slots.Next(); ok {
		next = actor.Earliest(next, at)
	}
	if until := c.startsPause(); c.now.Before(until) {
		next = actor.Earliest(next, until)
	}
	return next
}

func (c *core) registerJobMaster(r msg.RegisterJobMaster) {
	if old := c.jobs[r.Job]; old != nil && old.id != r.JobMaster {
		c.forgetJobMaster(r.Job, old.id)
	}
	if c.jobs[r.Job] == nil {
		c.jobs[r.Job] = &jobMaster{id: r.JobMaster, program: r.Program}
	}
	c.emit(sendJobMaster{
		To:      r.JobMaster,
		Message: msg.JobMasterRegistered{ResourceManager: c.config.ResourceManager},
	})
}

func (c *core) declare(d msg.DeclareRequirements) {
	job := c.jobs[d.Job]
	if job == nil || job.id != d.JobMaster {
		c.emit(dropped{Message: d, From: string(d.JobMaster), Why: "it is not the job's JobMaster"})
		return
	}
	job.told = false
	job.toldBlocked = false
	c.slots.Declare(d.Job, max(d.Slots, 0), d.Least)
}

func (c *core) forgetJobMaster(id ids.JobID, jobMaster ids.JobMasterID) {
	if job := c.jobs[id]; job != nil && job.id == jobMaster {
		delete(c.jobs, id)
		c.slots.Declare(id, 0, 0)
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
	c.order(0)
	c.emit(deregister{Status: e.Status, Diagnostics: e.Diagnostics})
}

func (c *core) deregistered(err error) {
	c.shutdown.done, c.shutdown.err = true, err
	for _, question := range c.shutdown.waiting {
		c.emit(reply{question.Answer(err)})
	}
	c.shutdown.waiting = nil
}

// workerIDs lists the workers in the order of their ids, which does not depend on the order of the
// map.
func (c *core) workerIDs() []ids.ResourceID { return slices.Sorted(maps.Keys(c.workers)) }

func (c *core) status() Status {
	s := Status{Worker: c.config.Worker, Requested: c.total - c.starts, RequestedSince: c.asked, Refused: c.slots.Refusal(), Kept: c.slots.Kept()}
	if least := c.config.Floor.Fewest(c.config.Worker.totals()); least.Workers > 0 {
		s.Floor = least.String()
	}
	for _, d := range c.slots.Demands() {
		s.Jobs = append(s.Jobs, msg.SlotDemand{Job: d.Job, Needed: d.Declared, Held: d.Held, Since: d.Since})
	}
	for _, id := range c.workerIDs() {
		w := c.workers[id]
		if w.state == starting {
			s.Starting++
			continue
		}
		total, free := c.slots.Usage(id)
		s.TaskExecutors = append(s.TaskExecutors, msg.TaskExecutorDetails{
			Resource: id, Host: w.host, SlotsTotal: total, SlotsFree: free,
			Memory: w.memory, VCores: w.vcores, Hardware: w.hardware, LastHeartbeat: w.lastSeen,
		})
	}
	s.Blocked = c.blocked.Nodes()
	return s
}
