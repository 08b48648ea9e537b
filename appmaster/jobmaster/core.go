package jobmaster

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/slotpool"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/usermetrics"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// lossGrace is how long the JobMaster waits after a worker's connection broke before it counts the
// worker as lost. In this time YARN usually reports the end of the container, which is the better
// cause.
const lossGrace = 2 * time.Second

// core is the JobMaster's state. Only Step changes it; one goroutine may use a core.
//
// If the process was stopped, each step first extends the deadlines of the peers for whom the job
// waits. Then it handles the event, and derives the consequences: see Step.
type core struct {
	config    Config
	graph     *executiongraph.Graph
	pool      *slotpool.Pool
	restarts  *failover.Restarts
	layout    layout
	regions   []region
	status    msg.JobStatus
	entered   map[msg.JobStatus]time.Time
	spent     map[msg.JobStatus]time.Duration // in the states that the job has left
	publicIDs map[string]int                  // vertices by the ids that users see
	splits    []*splitQueue                   // of each vertex; nil for vertices that read edges
	commits   []*commit                       // of each region; nil for regions that commit nothing
	toStore   []int                           // regions whose commits are complete, in that order
	storing   int                             // commits
	covered   []bool                          // regions that the record of another region has, too
	onHold    []int                           // regions whose commits wait until others are done
	settled   bool                            // a region has become done, or a record was stored, since goOn
	results   collect.Results
	clients   patience.Deadline // then the job has no client, unless one asks before

	workers      []*worker // in the order of their registration
	byResource   map[ids.ResourceID]*worker
	byHost       map[ids.HostID]*worker
	declared     []msg.SlotNeed // of each kind, last sent to the ResourceManager; nil: not registered there yet
	declarations int            // so many were sent
	short        []bool         // of each kind: the ResourceManager has said that it cannot get all declared slots
	blocklist    failover.Blocklist
	speculation  speculation
	sick         failover.Cause // of the last block of a node
	slots        patience.Wait  // when the job stops waiting for slots: see slotDeadline
	yields       patience.Wait  // when it frees them for others: see yieldTime
	divides      patience.Wait  // when it runs in waves: see divideTime
	waitsSince   time.Time      // since when there are regions that wait for slots
	yielded      bool           // see yieldTime
	supplied     bool           // since the last deploy a slot or host came or became free, or a region was scheduled

	freed      byWorker[ids.PartitionID]           // released in this step
	awaitsHeld bool                                // the job waits for what workers hold of earlier masters
	heldUntil  patience.Deadline                   // until then it may; zero: it may not
	runs       map[int]run                         // of regions that are taken over, while the job waits
	inputs     map[ids.ExecutionAttemptID][]uint64 // what their tasks have read: see msg.TaskDeployment
	told       told                                // of tasks of earlier masters, while exchanges may still turn out to be blocking
	given      map[ids.PartitionID]bool            // of these, released meanwhile
	returned   bool                                // all workers of earlier masters have returned or ended
	untold     map[ids.ResourceID]bool             // those that have partitions of the job, and have still to tell which
	reread     map[int]bool                        // vertices of sources of which all tasks of earlier masters run again
	waves      string                              // why all exchanges are blocking; "": they are as planned
	dividing   string                              // why they will be when no task runs any more; "": they stay
	divisible  bool                                // there are pipelined exchanges, and they could be blocking
	divided    []int                               // slots of each kind that the largest region would need then
	ran        bool                                // a task was deployed
	askUntil   patience.Deadline                   // until then commits wait for an answer: see asksFirst; zero: none does
	asked      bool                                // there was none

	failing   []int                // regions that have failed and not restarted yet, ascending
	scratch   []int                // of failOver
	losses    []*loss              // of hosts, oldest first
	history   []msg.ExceptionEntry // root causes, newest first
	counters  counters
	user      *usermetrics.Table // metrics of users' code
	failed    []taskFailure      // oldest first
	restarted int                // regions
	steps     []msg.Step         // of the start-up, in the order in which they were reached

	nextHeartbeat time.Time
	nextSlotLog   time.Time // if config.LogSlots
	// nextExpiry is not after the first deadline of a worker. Each message moves a deadline, so
	// nextExpiry is recomputed only when it has passed.
	nextExpiry time.Time
	alarm      time.Time // when the next deadline passes; zero: never

	// During a step:
	now     time.Time
	effects []effect
}

// phase is the progress of a region.
type phase int

const (
	blocked  phase = iota + 1 // for partitions that it reads: see block
	waiting                   // for slots of workers with a ready host
	deployed                  // its tasks were sent to their hosts
	failing                   // a task failed: the others are cancelled, and the root cause is not known yet
	delayed                   // a restart was decided: it waits for its delay, and for tasks to end
)

type region struct {
	phase     phase
	incident  failover.Incident
	restartAt time.Time // while delayed
}

// newCore makes the core of a job that has not started yet.
func newCore(config Config) (*core, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("set up job %s: %w", config.Job, err)
	}
	c := &core{
		config:      config,
		restarts:    failover.NewRestarts(config.Restart, config.Seed),
		entered:     make(map[msg.JobStatus]time.Time),
		spent:       make(map[msg.JobStatus]time.Duration),
		publicIDs:   make(map[string]int, len(config.Graph.Vertices)),
		results:     make(collect.Results),
		byResource:  make(map[ids.ResourceID]*worker),
		byHost:      make(map[ids.HostID]*worker),
		runs:        make(map[int]run),
		inputs:      make(map[ids.ExecutionAttemptID][]uint64),
		given:       make(map[ids.PartitionID]bool),
		speculation: newSpeculation(),
	}
	for v, vertex := range config.Graph.Vertices {
		c.publicIDs[config.Graph.PublicID(jobgraph.VertexID(v))] = v
		if vertex.Collect != "" {
			c.results[vertex.Collect] = collect.New(config.ResultBytes, config.JobMaster.Epoch(), config.KeepRead)
		}
	}
	c.plan(config.Graph)
	if c.writesForOthers() {
		// If co-locations do not allow it, the region keeps its slots until the others are done.
		_ = c.inWaves("its tasks write an output and records for others, and must not run again once the output is committed")
	}
	c.exchangesForSpeculation()
	if err := c.recoverCommits(); err != nil {
		return nil, fmt.Errorf("set up job %s: %w", config.Job, err)
	}
	c.config.Recovered = nil // the collected results are in the buffers
	return c, nil
}

// plan makes the regions of a graph of the job. None of its tasks runs.
func (c *core) plan(g *jobgraph.JobGraph) {
	c.config.Graph = g
	c.findDivision()
	if c.graph == nil {
		c.graph = executiongraph.New(g, c.config.Epoch, c.config.AttemptsHistory)
	} else {
		c.graph = c.graph.Replan(g, c.now)
	}
	c.layout = newLayout(g)
	c.regions, c.covered = make([]region, c.graph.Regions()), make([]bool, c.graph.Regions())
	c.counters, c.user = newCounters(c.graph.Total()), usermetrics.New(c.graph.Total())
	c.splits = make([]*splitQueue, len(g.Vertices))
	for v, vertex := range g.Vertices {
		if vertex.Source {
			c.splits[v] = newSplitQueue(vertex.Splits, vertex.Parallelism)
		}
	}
	c.reread = make(map[int]bool)
	c.findCommits()
}

// Step handles one event and returns the effects to perform, in order. After ended, events change
// nothing.
func (c *core) Step(now time.Time, event event) []effect {
	c.now, c.effects = now, nil
	if c.status.GloballyTerminal() {
		return nil
	}
	c.excuse()
	c.take(event)
	c.expire()
	c.dropResults()
	c.heartbeat()
	c.failOver()
	c.divideStopped()
	c.storeCommits()
	for c.goOn() {
		c.storeCommits()
	}
	c.deploy()
	c.release()
	c.giveUpSlots()
	c.declare()
	c.logSlots()
	c.finish()
	c.alarm = c.nextDue()
	return c.effects
}

func (c *core) take(event event) {
	switch e := event.(type) {
	case started:
		c.start()
	case resourceManagerSaid:
		c.resourceManagerSaid(e.Message)
	case taskExecutorSaid:
		c.taskExecutorSaid(e)
	case taskExecutorDisconnected:
		c.disconnected(e.From, e.Cause)
	case commitStored:
		c.commitStored(e)
	case cancelAsked:
		c.cancel()
	case woken: // each step looks for deadlines that have passed
	case detailsAsked:
		c.clientAsked()
		c.emit(reply{e.Question.Answer(c.details())})
	case subtasksAsked:
		c.emit(reply{e.Question.Answer(c.vertexSubtasks(e.Vertex))})
	case overviewAsked:
		c.emit(reply{e.Question.Answer(c.overview())})
	case pageAsked:
		c.clientAsked()
		c.emit(reply{e.Question.Answer(c.page(e.Name, e.Cursor))})
	}
}

func (c *core) emit(e effect) { c.effects = append(c.effects, e) }

// active tells whether the job still tries to finish.
func (c *core) active() bool {
	return c.status == msg.JobRunning || c.status == msg.JobRestarting
}

func (c *core) setStatus(to msg.JobStatus) {
	if to == c.status {
		return
	}
	c.emit(statusChanged{From: c.status, To: to})
	if c.status != "" {
		c.spent[c.status] += c.now.Sub(c.entered[c.status])
	}
	c.status = to
	c.entered[to] = c.now
}

// start schedules all regions.
func (c *core) start() {
	c.clientAsked()
	c.setStatus(msg.JobInitializing)
	switch submitted := c.config.Submitted; {
	case c.takenOver(): // before, an earlier master ran it
		c.entered[msg.JobInitializing] = c.config.TakenOver
		c.steps = []msg.Step{{Name: msg.StepRecovered, At: c.config.TakenOver}}
	case !submitted.IsZero():
		c.entered[msg.JobInitializing] = submitted
	}
	c.tellRecovered()
	c.graph.Start(c.now)
	c.makePool()
	c.setStatus(msg.JobCreated)
	if c.takenOver() {
		c.heldUntil = patience.After(c.now, c.config.RecoveryTimeout)
	}
	c.awaitHeld()
	c.scheduleAll()
	c.setStatus(msg.JobRunning)
	c.beginSpeculation()
	c.nextHeartbeat = c.now.Add(c.config.HeartbeatInterval)
	c.nextSlotLog = c.now.Add(slotLogInterval)
	c.emit(tellResourceManager{msg.RegisterJobMaster{
		Job: c.config.Job, JobMaster: c.config.JobMaster, Program: c.config.Program,
	}})
}

// makePool makes the pool of slots for the regions.
func (c *core) makePool() {
	shared, tasks := make([][]int, len(c.regions)), make([][]int, len(c.regions))
	for r := range c.regions {
		shared[r], tasks[r] = c.sharedSlots(r)
	}
	c.pool = slotpool.New(shared, c.layout.kinds, c.now)
	if c.config.BalanceTasks {
		c.pool.Balance(tasks)
	}
	c.short = make([]bool, c.pool.Kinds())
}

// scheduleAll schedules the regions of a job that begins.
func (c *core) scheduleAll() {
	for r := range c.regions {
		if c.isOver(r) {
			c.pool.Finish(r, c.now)
		} else {
			c.schedule(r)
		}
	}
}

// tasks gives the executions of a region that run, now or after a restart.
func (c *core) tasks(r int) iter.Seq[*executiongraph.Execution] {
	if c.isRecorded(r) {
		return slices.Values(c.commits[r].tasks)
	}
	return c.graph.Region(r)
}

// sharedSlots lists the shared slots that a region needs, ascending, and how many tasks it has in each.
func (c *core) sharedSlots(r int) (all, tasks []int) {
	for e := range c.tasks(r) {
		all = append(all, c.layout.sharedSlot(e))
	}
	slices.Sort(all)
	for at, shared := range all {
		if at == 0 || shared != all[at-1] {
			tasks = append(tasks, 0)
		}
		tasks[len(tasks)-1]++
	}
	return slices.Clip(slices.Compact(all)), tasks
}

// schedule puts a region into the queue for slots once it has its inputs.
func (c *core) schedule(r int) {
	if !c.canRun(r) {
		c.block(r)
		return
	}
	c.regions[r] = region{phase: waiting}
	c.pool.Unblock(r, c.now)
	if c.pool.Waiting() == 0 {
		c.waitsSince = c.now
	}
	c.pool.Wait(r)
	c.supplied = true
	for e := range c.tasks(r) {
		c.mustTransition(e, msg.ExecutionScheduled)
	}
}

func (c *core) mustTransition(e *executiongraph.Execution, to msg.ExecutionState) {
	if err := c.graph.Transition(e, to, c.now); err != nil {
		panic(fmt.Sprintf("jobmaster: job %s: %v", c.config.Job, err))
	}
}

func (c *core) resourceManagerSaid(m msg.Message) {
	switch m := m.(type) {
	case msg.JobMasterRegistered:
		c.declared = make([]msg.SlotNeed, c.pool.Kinds())
		for k, profile := range c.layout.profiles {
			c.declared[k].Profile = profile
		}
		if c.blocksNodes() {
			c.tellBlocked()
		}
	case msg.NotEnoughResources:
		c.notEnough(m)
	case msg.AllNodesBlocked:
		c.noOtherNode("there is no other node")
	case msg.TaskExecutorTerminated:
		if w := c.byResource[m.Resource]; w != nil {
			c.lose(w, m.Cause)
		}
		c.toldAll(m.Resource)
	case msg.PreviousWorkersReturned:
		c.previousReturned(m.Workers)
	default:
		c.emit(dropped{Message: m, Why: "a ResourceManager does not send this message"})
	}
}

// declare tells the ResourceManager how many slots of each kind the job needs now; an ending job needs
// none. If a job that continued with too few slots can run no region any more that needs slots of a
// kind, it declares again, because the earlier answer may be out of date.
func (c *core) declare() {
	changed := false
	for k, last := range c.declared {
		now := msg.SlotNeed{Profile: last.Profile}
		again := false
		if c.active() {
			demand := c.pool.Demand(k)
			now.Slots, now.Least, now.Part = demand.Required, c.least(k), demand.Part
			if len(c.declared) > 1 {
				now.Later = demand.Later
			}
			again = c.short[k] && c.lacks(k)
		}
		c.declared[k], c.short[k] = now, c.short[k] && !again
		changed = changed || now != last || again
	}
	if changed {
		c.declarations++
		c.emit(tellResourceManager{msg.DeclareRequirements{
			Job: c.config.Job, JobMaster: c.config.JobMaster, Number: c.declarations, Needs: slices.Clone(c.declared),
		}})
	}
}

// Alarm implements actor.Core.
func (c *core) Alarm() time.Time { return c.alarm }

// nextDue is when the next deadline passes.
func (c *core) nextDue() time.Time {
	if c.status.GloballyTerminal() {
		return time.Time{}
	}
	next := c.nextHeartbeat
	if len(c.workers) > 0 {
		next = actor.Earliest(next, c.nextExpiry)
	}
	for _, r := range c.failing {
		if at, waits := c.regionDeadline(r); waits {
			next = actor.Earliest(next, at)
		}
	}
	if len(c.stalledResults()) > 0 {
		next = actor.Earliest(next, c.clients.At())
	}
	for d := range c.waits() {
		next = actor.Earliest(next, d.At())
	}
	if c.config.LogSlots && c.active() {
		next = actor.Earliest(next, c.nextSlotLog)
	}
	if at, blocked := c.blocklist.Next(); blocked {
		next = actor.Earliest(next, at)
	}
	if at, avoids := c.speculation.slow.Next(); avoids {
		next = actor.Earliest(next, at)
	}
	if at, speculates := c.speculates(); speculates {
		next = actor.Earliest(next, at)
	}
	if since, idle := c.pool.IdleSince(); idle && c.active() { // otherwise giveUpSlots does nothing
		next = actor.Earliest(next, since.Add(c.config.SlotIdleTimeout))
	}
	return next
}
