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
	arrived int           // the number of its registration
	parts   map[*kind]int // SlotNeed.Part
	// tooLarge says why no part of the job fits under the ceiling; "": some part may fit.
	tooLarge string
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
		allocations: ids.NewSequence(config.IDs),
		failures:    newFailureRate(config),
		workers:     make(map[ids.ResourceID]*worker),
		connections: make(map[actor.ConnectionID]*worker),
		jobs:        make(map[ids.JobID]*jobMaster),
	}
	c.addKind(config.Worker, config.SlotMemory)
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
	changed := c.reconcileKinds(false)
	for changed && len(c.kinds) > 1 { // what one kind has given or released may concern the others
		changed = c.reconcileKinds(true)
	}
	for _, k := range c.kinds {
		c.tellShort(k)
	}
	for _, k := range c.kinds {
		c.tellBlocked(k.plan.Short)
		k.missing = c.permitted(k)
	}
	c.avoid = c.useless()
	c.order()
}

// reconcileKinds asks the SlotManagers that have something to do, and does it. It tells whether slots were granted or
// workers released.
func (c *core) reconcileKinds(changed bool) (did bool) {
	a := c.allot(changed)
	var limits []int
	if a != nil {
		limits = a.limits()
	}
	for i, k := range c.kinds {
		if a != nil {
			k.slots.Limit(a.room(i, limits))
		}
		if k.due(c.now) {
			did = c.reconcileKind(k) || did
		}
		if a != nil {
			limits[i] = k.slots.Stock(c.now).Workers + k.plan.Workers
		}
	}
	return did
}

// reconcileKind asks the SlotManager of one kind what to do, and does it.
func (c *core) reconcileKind(k *kind) (did bool) {
	k.plan = k.slots.Reconcile(c.now)
	for _, grants := range together(k.plan.Grants) {
		c.request(grants)
	}
	for _, r := range k.plan.Release {
		c.terminate(c.workers[r.Worker], r.Cause)
	}
	if k.plan.Strayed {
		k.strayed = c.now
	}
	return len(k.plan.Grants) > 0 || len(k.plan.Release) > 0
}

// tellShort tells JobMasters that their jobs cannot get enough slots of a kind, if that is known, once as long as this
// holds.
func (c *core) tellShort(k *kind) {
	var told map[ids.JobID]bool
	for _, s := range k.plan.Short {
		job := c.jobs[s.Job]
		reason := cmp.Or(s.Reason, job.tooLarge, c.hopeless(k))
		if reason == "" {
			continue
		}
		if told == nil {
			told = make(map[ids.JobID]bool)
		}
		told[s.Job] = true
		if !k.told[s.Job] {
			c.emit(sendJobMaster{To: job.id, Message: msg.NotEnoughResources{
				Job: s.Job, Profile: k.spec.Profile, Reason: reason, NodesBlocked: c.blocked.Any(s.Job),
			}})
		}
	}
	k.told = told
}

// forgive has a JobMaster told again of what its job cannot get.
func (c *core) forgive(job ids.JobID) {
	for _, k := range c.kinds {
		delete(k.told, job)
	}
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
	job, to := c.jobs[grants[0].Job], c.workers[grants[0].Slot.Resource]
	m := msg.RequestSlots{
		Job:       grants[0].Job,
		JobMaster: job.id,
		Program:   job.program,
		Profile:   to.kind.spec.Profile,
		Memory:    to.kind.slot,
	}
	for _, g := range grants {
		m.Slots = append(m.Slots, msg.SlotOffer{Index: g.Slot.Index, Allocation: g.Allocation})
	}
	c.emit(sendTaskExecutor{To: to.connection, Message: m})
}

// order sends new orders to the provider if they have changed.
func (c *core) order() {
	changed, outstanding := false, 0
	for _, k := range c.kinds {
		total := k.starts + k.missing
		changed = changed || total != k.total
		outstanding += k.missing
		k.total, k.ordered = total, k.ordered || total > 0
	}
	switch {
	case outstanding == 0:
		c.asked = time.Time{}
	case c.asked.IsZero():
		c.asked = c.now
	}
	if !changed && len(c.release) == 0 && len(c.check) == 0 && slices.Equal(c.avoid, c.avoided) {
		return
	}
	c.avoided = c.avoid
	var orders []WorkerOrder
	for _, k := range c.kinds {
		if k.ordered || k.spec.Profile.IsDefault() {
			orders = append(orders, WorkerOrder{Spec: k.spec, Total: k.total})
		}
	}
	c.emit(orderWorkers{Orders: Orders{Workers: orders, Release: c.release, Check: c.check, Avoid: c.avoid}})
}

// Alarm implements actor.Core.
func (c *core) Alarm() time.Time { return c.alarm }

// nextDue is when the next deadline passes.
func (c *core) nextDue() time.Time {
	next := actor.Earliest(c.nextExpiry, c.nextHeartbeat)
	for _, k := range c.kinds {
		if at, ok := k.slots.Next(); ok {
			next = actor.Earliest(next, at)
		}
		if until := c.startsPause(k); c.now.Before(until) {
			next = actor.Earliest(next, until)
		}
	}
	return actor.Earliest(next, c.turn.until)
}

func (c *core) registerJobMaster(r msg.RegisterJobMaster) {
	if old := c.jobs[r.Job]; old != nil && old.id != r.JobMaster {
		c.forgetJobMaster(r.Job, old.id)
	}
	if c.jobs[r.Job] == nil {
		c.arrivals++
		c.jobs[r.Job] = &jobMaster{id: r.JobMaster, program: r.Program, arrived: c.arrivals, parts: make(map[*kind]int)}
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
	job.toldBlocked = false
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
		c.emit(sendJobMaster{To: job.id, Message: msg.NotEnoughResources{Job: id, Profile: n.Profile, Reason: fmt.Sprintf(
			"the cluster has had slots of %d different sizes, and cannot have more: give slot sharing groups resources that others have, or start another cluster", maxKinds)}})
		return
	}
	delete(k.told, id)
	job.parts[k] = max(n.Part, 0)
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

// workerIDs lists the workers in the order of their ids, which does not depend on the order of the
// map.
func (c *core) workerIDs() []ids.ResourceID { return slices.Sorted(maps.Keys(c.workers)) }

func (c *core) status() Status {
	s := Status{Worker: c.config.Worker, RequestedSince: c.asked, Kept: c.kinds[0].slots.Kept()}
	if least := c.config.Floor.Fewest(c.config.Worker.totals()); least.Workers > 0 {
		s.Floor = least.String()
	}
	for _, k := range c.kinds {
		s.Requested += k.total - k.starts
		s.Refused = cmp.Or(s.Refused, k.slots.Refusal())
		for _, d := range k.slots.Demands() {
			s.demands(d)
		}
	}
	for _, id := range c.workerIDs() {
		w := c.workers[id]
		if w.state == starting {
			s.Starting++
			continue
		}
		total, free := w.kind.slots.Usage(id)
		s.TaskExecutors = append(s.TaskExecutors, msg.TaskExecutorDetails{
			Resource: id, Host: w.host, SlotsTotal: total, SlotsFree: free,
			Memory: w.memory, VCores: w.vcores, External: w.kind.spec.External, Hardware: w.hardware, LastHeartbeat: w.lastSeen,
		})
	}
	s.Blocked = c.blocked.Nodes()
	return s
}

// demands adds the slots of one kind that a job needs.
func (s *Status) demands(d slotmanager.Demand) {
	at := slices.IndexFunc(s.Jobs, func(other msg.SlotDemand) bool { return other.Job == d.Job })
	if at < 0 {
		s.Jobs = append(s.Jobs, msg.SlotDemand{Job: d.Job, Needed: d.Declared, Held: d.Held, Since: d.Since})
		return
	}
	sum := &s.Jobs[at]
	sum.Needed += d.Declared
	sum.Held += d.Held
	sum.Since = actor.Earliest(sum.Since, d.Since)
}
