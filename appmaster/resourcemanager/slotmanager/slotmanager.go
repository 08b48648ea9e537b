// Package slotmanager matches the slots that jobs need with the slots that workers have. It owns
// the ResourceManager's view of both: the declaration of each job, the expected and the registered
// workers, and the holder of each slot. Methods record facts, and Reconcile decides what to do
// about them, so one decision can follow many facts.
//
// It is a pure core: no goroutine, no I/O, no clock, and nothing that depends on map order. One
// goroutine may use a Manager. It must never import a role, a provider or anything that talks to a
// peer.
package slotmanager

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Config bounds the workers that a Manager requests.
type Config struct {
	// SlotsPerWorker is taskmanager.numberOfTaskSlots: the slots of every worker.
	SlotsPerWorker int
	// MaxSlots is slotmanager.number-of-slots.max: the most slots of registered and expected
	// workers together; 0 means no limit.
	MaxSlots int
	// IdleTimeout is resourcemanager.taskmanager-timeout: a worker without a used slot is released
	// after it.
	IdleTimeout time.Duration
	// Blocklist says from which workers jobs take no slots; nil: they take slots from all. See
	// BlocklistChanged.
	Blocklist Blocklist
}

// Blocklist says from which workers jobs take no slots.
type Blocklist interface {
	// Blocks tells whether a job takes no slot of a worker.
	Blocks(job ids.JobID, worker ids.ResourceID) bool
	// Exhausted tells whether a job would take no slot of any worker that could come.
	Exhausted(job ids.JobID) bool
}

// After its worker refused a slot, the Manager does not grant it for refusalPause. Otherwise grants
// and refusals would follow each other without a pause. A job is told after refusalLimit refusals
// if it got and lost no slot meanwhile, and has too few slots to run. Otherwise it would fail only
// after slot.request.timeout, without a reason. It is not told while another worker is expected,
// which may serve it.
const (
	refusalPause = time.Second
	refusalLimit = 10
)

// Manager is the SlotManager. Make it with New.
type Manager struct {
	config      Config
	allocations ids.Sequence

	jobs    []*job // the jobs with requirements, in the order of their first declaration
	held    map[ids.JobID]int
	workers map[ids.ResourceID]*worker
	holders map[ids.AllocationID]ids.SlotID // the slot of each grant

	registered int // workers registered or suspended
	// expected, suspended and open are the workers by state and sequence. Open ones are registered
	// and have a free slot.
	expected, suspended, open []*worker

	sequence int // of workers
	// Expected workers up to screened may serve some job that is short of slots. releaseUseless has
	// already looked at those up to looked.
	screened, looked int
	refusal          string // why no more workers can come; "" while they can
	sparing          bool   // true from Refuse until Taken: see releaseUseless
	dirty            bool
	last             Plan      // of the last Reconcile
	next             time.Time // when time alone gives Reconcile something to do; zero: never
	nextIdle         time.Time // not after the first IdleTimeout of an idle worker; zero: no worker is idle
}

type job struct {
	id       ids.JobID
	declared int
	since    time.Time // since when it has fewer; zero: it has all
	least    int       // the slots with which some part of the job can run
	refusals int       // since it last got a slot, lost one, or declared
	refusal  string    // the reason of the last refusal
}

// New makes a Manager without jobs or workers. It takes the ids of its grants from allocations.
func New(config Config, allocations ids.Sequence) *Manager {
	return &Manager{
		config:      config,
		allocations: allocations,
		held:        make(map[ids.JobID]int),
		workers:     make(map[ids.ResourceID]*worker),
		holders:     make(map[ids.AllocationID]ids.SlotID),
	}
}

// Plan is what the caller must do so that jobs get the slots that they declared. The Manager
// assumes that Grants and Release are performed, so each of them, and Strayed, comes once. The
// other fields describe the current state and come each time.
type Plan struct {
	// Grants are grants to send to their workers.
	Grants []Grant
	// Release lists workers that are not needed, or can serve no job. The Manager has already
	// removed them.
	Release []Release
	// Strayed says that some released workers are new and can serve no waiting job.
	Strayed bool
	// Workers is the number of workers needed beside the expected and registered ones.
	Workers int
	// Short lists the jobs that have fewer slots than they declared.
	Short []Shortage
}

// Grant gives a slot to a job.
type Grant struct {
	Slot       ids.SlotID
	Allocation ids.AllocationID
	Job        ids.JobID
}

// Release names a worker to release, and the cause.
type Release struct {
	Worker ids.ResourceID
	Cause  string
}

// Shortage is a job that lacks slots.
type Shortage struct {
	Job    ids.JobID
	Reason string // why no part of it can run, if known; "" while some part may
}

// Declare sets the number of slots that a job needs now; 0 removes the job. It takes no slots away
// from the job: its JobMaster frees surplus slots at their workers. Earlier refusals count no more.
// With least slots some part of the job can run, and the other parts after it; 0 means that the job
// needs all slots at once.
func (m *Manager) Declare(id ids.JobID, slots, least int) {
	m.dirty = true
	if least <= 0 || least > slots {
		least = slots
	}
	at := slices.IndexFunc(m.jobs, func(j *job) bool { return j.id == id })
	switch {
	case at < 0 && slots > 0:
		m.jobs = append(m.jobs, &job{id: id, declared: slots, least: least})
	case at >= 0 && slots > 0:
		j := m.jobs[at]
		j.declared, j.least, j.refusals = slots, least, 0
	case at >= 0:
		m.jobs = slices.Delete(m.jobs, at, at+1)
	}
}

// Retry says that a job asks again for the same number of slots: it may accept other slots now.
func (m *Manager) Retry(id ids.JobID) {
	m.forgive(id)
	m.dirty = true
}

// BlocklistChanged says that the answers of the Blocklist may have changed. Jobs keep the slots
// that they hold.
func (m *Manager) BlocklistChanged() { m.dirty, m.screened = true, 0 }

// Refuse says why no further workers can come beside the expected and registered ones. "" ends the
// refusal: workers are requested again, and may be refused again until Taken. Jobs that need more
// workers are told the reason (see Shortage). Plan.Workers still counts these workers.
func (m *Manager) Refuse(reason string) {
	m.dirty = m.dirty || m.refusal != reason
	m.sparing = m.sparing || reason != ""
	m.refusal = reason
}

// Taken says that workers are not refused any more, and come when there is room.
func (m *Manager) Taken() {
	m.dirty = m.dirty || m.sparing
	m.sparing = false
}

// Refusal is the last argument of Refuse.
func (m *Manager) Refusal() string { return m.refusal }

func (m *Manager) blocks(job ids.JobID, worker ids.ResourceID) bool {
	return m.config.Blocklist != nil && m.config.Blocklist.Blocks(job, worker)
}

func (m *Manager) exhausted(job ids.JobID) bool {
	return m.config.Blocklist != nil && m.config.Blocklist.Exhausted(job)
}

// Holders lists the jobs that hold slots of a worker, each once, in the order of the slots.
func (m *Manager) Holders(id ids.ResourceID) []ids.JobID {
	var jobs []ids.JobID
	if w := m.workers[id]; w != nil {
		for _, s := range w.slots {
			if s.allocation != "" && !slices.Contains(jobs, s.job) {
				jobs = append(jobs, s.job)
			}
		}
	}
	return jobs
}

// Usage gives the slots of a worker and how many of them are free.
func (m *Manager) Usage(id ids.ResourceID) (total, free int) {
	if w := m.workers[id]; w != nil {
		return len(w.slots), len(w.slots) - w.used
	}
	return 0, 0
}

// Next gives the time at which Reconcile must be called even if nothing has happened; false means
// never.
func (m *Manager) Next() (time.Time, bool) { return m.next, !m.next.IsZero() }

// Reconcile decides what to do now.
func (m *Manager) Reconcile(now time.Time) Plan {
	if due := !m.next.IsZero() && !now.Before(m.next); !m.dirty && !due {
		return Plan{Workers: m.last.Workers, Short: m.last.Short}
	}
	var plan Plan
	missing, short := m.grant(now, &plan)
	spared := m.releaseUseless(missing, short, &plan)
	m.resize(now, missing, spared, short, &plan)
	m.releaseIdle(now, short, &plan)
	for _, j := range short {
		plan.Short = append(plan.Short, Shortage{Job: j.id, Reason: m.reason(j, plan.Workers)})
	}
	m.next = time.Time{}
	if m.nextIdle.After(now) {
		m.next = m.nextIdle
	}
	if len(plan.Short) > 0 {
		m.next = actor.Earliest(m.next, m.nextRetry(now))
	}
	m.last, m.dirty = plan, false
	return plan
}

// grant gives free slots to jobs, in the order in which the jobs came. It returns the jobs that
// still lack slots, and the number of missing slots that new workers could provide.
func (m *Manager) grant(now time.Time, plan *Plan) (missing int, short []*job) {
	var slots []ids.SlotID
	for _, j := range m.jobs {
		want := j.declared - m.held[j.id]
		if want > 0 && slots == nil {
			slots = m.grantable(now)
		}
		var blocked []ids.SlotID
		for want > 0 && len(slots) > 0 {
			g := Grant{Slot: slots[0], Job: j.id}
			slots = slots[1:]
			if m.blocks(j.id, g.Slot.Resource) {
				blocked = append(blocked, g.Slot)
				continue
			}
			want--
			g.Allocation = ids.AllocationID(m.allocations.Next())
			m.occupy(m.workers[g.Slot.Resource], g.Slot.Index, pending, g.Allocation, g.Job)
			plan.Grants = append(plan.Grants, g)
		}
		if len(blocked) > 0 {
			slots = append(blocked, slots...) // for the next jobs
		}
		j.lacks(want > 0, now)
		if want > 0 {
			if !m.exhausted(j.id) {
				missing += want
			}
			short = append(short, j)
		}
	}
	if slots != nil {
		m.open = slices.DeleteFunc(m.open, func(w *worker) bool { return w.used == len(w.slots) })
	}
	return missing, short
}

// grantable lists the free slots. Slots of used workers come first, so that unused workers can be
// released; then older workers come before younger ones.
func (m *Manager) grantable(now time.Time) []ids.SlotID {
	slots := make([]ids.SlotID, 0, len(m.open))
	for _, inUse := range []bool{true, false} {
		for _, w := range m.open {
			if (w.used > 0) != inUse {
				continue
			}
			for i, s := range w.slots {
				if s.state == free && !now.Before(s.notBefore) {
					slots = append(slots, ids.SlotID{Resource: w.id, Index: i})
				}
			}
		}
	}
	return slots
}

// nextRetry gives the first time at which a refused slot may be granted again.
func (m *Manager) nextRetry(now time.Time) (next time.Time) {
	for _, w := range m.open {
		for _, s := range w.slots {
			if now.Before(s.notBefore) {
				next = actor.Earliest(next, s.notBefore)
			}
		}
	}
	return next
}

// bySequence orders workers by the time at which they reached their state.
func bySequence(a, b *worker) int { return cmp.Compare(a.sequence, b.sequence) }

// add inserts a worker into a list that does not contain it. remove removes a worker from a list
// that may contain it.
func add(list []*worker, w *worker) []*worker {
	at, _ := slices.BinarySearchFunc(list, w, bySequence)
	return slices.Insert(list, at, w)
}

func remove(list []*worker, w *worker) []*worker {
	if at, found := slices.BinarySearchFunc(list, w, bySequence); found {
		return slices.Delete(list, at, at+1)
	}
	return list
}
