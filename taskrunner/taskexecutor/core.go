package taskexecutor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// core is a TaskExecutor's state. Only Step changes it; one goroutine may use a core.
type core struct {
	config Config
	slots  slotTable
	rm     link
	jobs   map[ids.JobID]*job
	hosts  map[ids.HostID]*job // the job of each current host

	artifacts map[artifactKey]*artifact
	fetching  map[copyID]*artifact // the artifacts that are not here yet
	idle      []*artifact          // fetched programs that no job needs, the oldest first
	lastCopy  copyID

	// untold says that the registration at the ResourceManager that is under way is out of date.
	untold   bool
	leader   leader
	links    map[linkID]*link // links that are opening or open
	lastLink linkID
	started  int        // hosts so far
	tokens   msg.Secret // the newest tokens, for fetches and hosts
	timers   actor.Deadlines[timer]
	terms    map[timer]term
	ending   *end // set when the end is decided; performed when all hosts have ended
	ended    bool

	inquiries inquiries // of the ResourceManager

	partitions     int   // finished ones that are served, of all jobs
	partitionBytes int64 // of these
	reports        int   // the memory of the reports of finished tasks, in bytes
	spare          int   // finished tasks without partitions, of all jobs

	metrics *msg.WorkerMetrics // for the next heartbeats; nil: this worker measures nothing

	// During a step:
	now     time.Time
	effects []effect
}

// job is a job that has a slot or partitions here.
type job struct {
	id      ids.JobID
	master  ids.JobMasterID
	program *artifact   // nil while the job has no slot
	files   []*artifact // in the order of the job's files; nil while they are not known
	link    link        // to its JobMaster
	// unready is since when the last answer of the master is that the JobMaster is being made; zero: it is not.
	unready time.Time
	// settings are the last answer of a JobMaster to the registration.
	settings *msg.RegisteredAtJobMaster

	host *host // nil if there is none
	// restart is the lost host whose successor waits for timerHostStart, or "".
	restart ids.HostID
	// early counts the last hosts in a row that ended before they were ready. brief counts the last
	// ones that ended before briefLife.
	early, brief int
	// unavailable is the message to the JobMaster that this worker cannot run a host of the job. No
	// further host is started.
	unavailable *msg.HostLost

	finished   map[ids.ExecutionAttemptID]*finished
	partitions int                // that are served
	writers    map[ids.HostID]int // the number of finished tasks of each host with partitions
}

// name is the job's name, or its id while the name is not known.
func (j *job) name() string {
	if j.settings != nil && j.settings.Job.Name != "" {
		return j.settings.Job.Name
	}
	return string(j.id)
}

// newCore makes the core of a TaskExecutor with free slots.
func newCore(config Config) (*core, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &core{
		config: config,
		slots:  newSlotTable(config.Slots),
		jobs:   make(map[ids.JobID]*job),
		hosts:  make(map[ids.HostID]*job),

		artifacts: localized(config.Programs),
		fetching:  make(map[copyID]*artifact),
		leader:    leader{address: config.Address, jitter: rand.NewPCG(config.Seed, 0)},
		links:     make(map[linkID]*link),
		terms:     make(map[timer]term),
		tokens:    config.Tokens,
	}, nil
}

// Step handles one event and returns the effects to perform, in order.
func (c *core) Step(now time.Time, event event) []effect {
	c.now, c.effects = now, nil
	if c.ended {
		return nil
	}
	switch e := event.(type) {
	case started:
		if c.tokens != nil {
			c.emit(updateTokens{c.tokens})
		}
		c.open(&c.rm)
		c.allow(timer{Kind: timerRegistration}, c.config.RegistrationTimeout)
	case linkOpened:
		c.linkOpened(e.Link)
	case linkLost:
		c.mayWait(e)
		c.linkLost(e.Link)
	case leaderFound:
		c.leaderFound(e)
	case leaderNotFound:
		c.leader.finding = false
		c.seek()
	case roleSaid:
		c.roleSaid(e)
	case hostSaid:
		c.hostSaid(e)
	case hostExited:
		c.hostExited(e)
	case hostOverMemory:
		c.hostOverMemory(e)
	case fetched:
		c.fetched(e)
	case fetchFailed:
		c.fetchFailed(e)
	case inquiryAnswered:
		c.inquiryAnswered(e)
	case measured:
		e.Metrics.Partitions = c.served()
		c.metrics = &e.Metrics
		c.emit(showMetrics(e))
	case terminated:
		c.terminate(e.Cause)
	case woken:
		for t, due := c.timers.Due(now); due; t, due = c.timers.Due(now) {
			c.timerDue(t)
		}
	}
	return c.effects
}

// Alarm implements actor.Core.
func (c *core) Alarm() time.Time { return c.timers.Next() }

func (c *core) emit(e effect) { c.effects = append(c.effects, e) }

// set sets a timer. It replaces an earlier setting.
func (c *core) set(t timer, after time.Duration) { c.timers.Set(t, c.now.Add(after)) }

// timerDue handles a timer that has expired. Its reason may have passed already.
func (c *core) timerDue(t timer) {
	if c.excused(t) {
		return
	}
	switch t.Kind {
	case timerReconnect:
		c.reconnect(t)
	case timerFind:
		c.find()
	case timerAdmission:
		if l := c.links[t.Link]; l != nil && l.state == linkRegistering {
			c.drop(l, "no answer to the registration")
		}
	case timerHeartbeat:
		c.beat(t.Link)
	case timerRegistration:
		if limit, named := c.patience(); c.rm.state != linkAdmitted && !c.now.Before(c.rm.downSince.Add(limit)) {
			c.end(unregistered, fmt.Sprintf("no ResourceManager for %s (%s)", limit, named))
		}
	case timerSlot:
		c.slotLate(t)
	case timerPartitions:
		c.partitionsLate(c.jobs[t.Job])
	case timerHostReady:
		c.hostLate(t.Host)
	case timerHostHeartbeat:
		c.beatHost(t.Host)
	case timerHostStop:
		if _, lives := c.hosts[t.Host]; lives {
			c.emit(killHost{t.Host})
		}
	case timerHostReset:
		c.resetLate(t.Host)
	case timerFetch:
		c.fetchAgain(t.Copy)
	case timerInquiry:
		c.endInquiries(fmt.Sprintf("it has not answered for %s", inquiryTime), func(q openInquiry) bool { return q.id == t.Inquiry })
	case timerHostStart:
		if j := c.jobs[t.Job]; j != nil && j.restart == t.Host {
			j.restart = ""
			c.ensureHost(j)
		}
	}
}

// end ends the TaskExecutor once its hosts have ended. The first reason counts.
func (c *core) end(reason endReason, cause string) {
	if c.ending != nil {
		return
	}
	c.ending = &end{reason, cause}
	c.dropFetches()
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		c.stopHost(c.jobs[id], cause)
	}
	c.endIfIdle()
}

// terminate ends the TaskExecutor because its process must end. The roles learn it first: the loss of a
// worker counts as no failure of a job, and the end of its hosts would.
func (c *core) terminate(cause string) {
	if c.ending != nil {
		return
	}
	c.leave(&c.rm, cause)
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		c.leave(&c.jobs[id].link, cause)
	}
	c.end(stopped, cause)
}

func (c *core) endIfIdle() {
	if c.ending == nil || len(c.hosts) > 0 {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(c.links)) {
		c.emit(closeLink{id, c.ending.Cause})
	}
	c.emit(*c.ending)
	c.ended, c.timers = true, actor.Deadlines[timer]{}
}
