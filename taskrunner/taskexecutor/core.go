package taskexecutor

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Core is a TaskExecutor's state. Step is the only way it changes; one goroutine
// may use a Core.
type Core struct {
	config Config
	slots  slotTable
	rm     link
	jobs   map[ids.JobID]*job
	hosts  map[ids.HostID]*job // by each job's current host

	programs map[string]*heldProgram // by SHA-256
	fetching map[CopyID]*heldProgram // those of them that are not here yet
	idle     []*heldProgram          // those that were fetched and no job needs, the oldest first
	lastCopy CopyID

	links    map[LinkID]*link // those being opened, and the open ones
	lastLink LinkID
	hostIDs  ids.Sequence
	tokens   msg.Secret // the newest, for all hosts
	terms    map[Timer]term
	ending   *End // set when it is decided; performed when all hosts have ended
	ended    bool

	// During a step:
	now     time.Time
	effects []Effect
}

// job is a job that has a slot here.
type job struct {
	id      ids.JobID
	master  ids.JobMasterID
	program *heldProgram
	link    link // to its JobMaster
	spec    *msg.JobSpec
	tasks   int // of the whole job

	host *host // nil while there is none
	// restart is the host whose successor waits for TimerHostStart, or "".
	restart ids.HostID
	// early counts hosts in a row that ended before they were ready, brief those
	// that did not last either.
	early, brief int
	// unavailable is what the JobMaster has to be told: the job can have no host here.
	// No other is started.
	unavailable *msg.HostLost
}

// name is the job's name as far as it is known.
func (j *job) name() string {
	if j.spec != nil && j.spec.Name != "" {
		return j.spec.Name
	}
	return string(j.id)
}

// NewCore makes the core of a TaskExecutor whose slots are free.
func NewCore(config Config) (*Core, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Core{
		config:   config,
		slots:    newSlotTable(config.Slots),
		jobs:     make(map[ids.JobID]*job),
		hosts:    make(map[ids.HostID]*job),
		programs: localized(config.Programs),
		fetching: make(map[CopyID]*heldProgram),
		links:    make(map[LinkID]*link),
		terms:    make(map[Timer]term),
		hostIDs:  ids.NewSequence(config.IDs),
		tokens:   config.Tokens,
	}, nil
}

// Step takes one event and gives what is to be done about it, in order.
func (c *Core) Step(now time.Time, event Event) []Effect {
	c.now, c.effects = now, nil
	if c.ended {
		return nil
	}
	switch e := event.(type) {
	case Started:
		c.open(&c.rm)
		c.allow(Timer{Kind: TimerRegistration}, c.config.RegistrationTimeout)
	case LinkOpened:
		c.linkOpened(e.Link)
	case LinkLost:
		c.linkLost(e.Link)
	case RoleSaid:
		c.roleSaid(e)
	case HostSaid:
		c.hostSaid(e)
	case HostExited:
		c.hostExited(e)
	case HostOverMemory:
		c.hostOverMemory(e)
	case ProgramFetched:
		c.programFetched(e)
	case ProgramFailed:
		c.programFailed(e)
	case TimerFired:
		c.timerFired(e.Timer)
	}
	return c.effects
}

func (c *Core) emit(e Effect) { c.effects = append(c.effects, e) }

func (c *Core) timerFired(t Timer) {
	if c.excused(t) {
		return
	}
	switch t.Kind {
	case TimerReconnect:
		c.reconnect(t)
	case TimerAdmission:
		if l := c.links[t.Link]; l != nil && l.state == linkRegistering {
			c.drop(l, "no answer to the registration")
		}
	case TimerHeartbeat:
		c.beat(t.Link)
	case TimerRegistration:
		if c.rm.state != linkAdmitted && !c.now.Before(c.rm.downSince.Add(c.config.RegistrationTimeout)) {
			c.end(Unregistered, "no ResourceManager for "+c.config.RegistrationTimeout.String()+" (taskmanager.registration.timeout)")
		}
	case TimerSlot:
		c.slotLate(t)
	case TimerHostReady:
		c.hostLate(t.Host)
	case TimerHostHeartbeat:
		c.beatHost(t.Host)
	case TimerHostStop:
		if _, lives := c.hosts[t.Host]; lives {
			c.emit(KillHost{t.Host})
		}
	case TimerHostStart:
		if j := c.jobs[t.Job]; j != nil && j.restart == t.Host {
			j.restart = ""
			c.ensureHost(j)
		}
	}
}

// end ends the TaskExecutor once its hosts have ended. The first reason counts.
func (c *Core) end(reason EndReason, cause string) {
	if c.ending != nil {
		return
	}
	c.ending = &End{reason, cause}
	c.dropFetches()
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		c.stopHost(c.jobs[id], cause)
	}
	c.endIfIdle()
}

func (c *Core) endIfIdle() {
	if c.ending == nil || len(c.hosts) > 0 {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(c.links)) {
		c.emit(CloseLink{id, c.ending.Cause})
	}
	c.emit(*c.ending)
	c.ended = true
}
