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
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Config bounds the workers that a Manager requests.
type Config struct {
	// SlotsPerWorker is the slots of each worker: taskmanager.numberOfTaskSlots for default slots.
	SlotsPerWorker int
	// Least and Most bound the registered and expected workers together. Least are kept even if no
	// job needs them. Most wins over all other wishes; 0 means no limit. See Limit.
	Least int
	Most  int
	// MostBy is the option that gives Most, with its value and the size of a worker, for users.
	MostBy string
	// Redundant is slotmanager.redundant-taskmanager-num: while a job has requirements, as many
	// slots as this number of workers have are free, so that they can replace lost ones at once.
	Redundant int
	// Spread says that the worker with the fewest used slots gives the next slot
	// (taskmanager.load-balance.mode SLOTS). If not, used workers give their slots first.
	Spread bool
	// IdleTimeout is resourcemanager.taskmanager-timeout: a worker without a used slot is released
	// after it.
	IdleTimeout time.Duration
	// Blocklist says from which workers jobs take no slots; nil: they take slots from all. See
	// BlocklistChanged.
	Blocklist Blocklist
}

// NoWorkers is a Config.Most that allows no worker.
const NoWorkers = -1

// Blocklist says from which workers jobs take no slots.
type Blocklist interface {
	// Blocks tells whether a job takes no slot of a worker.
	Blocks(job ids.JobID, worker ids.ResourceID) bool
	// Exhausted tells whether a job would take no slot of any worker that could come.
	Exhausted(job ids.JobID) bool
	// Empty tells whether all jobs take slots of all workers.
	Empty() bool
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
	allocations *ids.Sequence
	limit       int // at most Config.Most: see Limit

	jobs    []*job // the jobs with requirements, in the order of their first declaration
	held    map[ids.JobID]int
	workers map[ids.ResourceID]*worker
	holders map[ids.AllocationID]ids.SlotID // the slot of each grant

	registered int // workers registered or suspended
	// expected and suspended are the workers in these states, by sequence.
	expected, suspended []*worker
	open                shelf // registered workers with a free slot

	sequence int // of workers
	// Expected workers up to screened may serve some job of last.For. releaseUseless has already
	// looked at those up to looked.
	screened, looked int
	refusal          string // why no more workers can come; "" while they can
	sparing          bool   // true from Refuse until Taken: see releaseUseless
	dirty            bool
	last             Plan      // of the last Reconcile
	next             time.Time // when time alone gives Reconcile something to do; zero: never
	// nextIdle is not after the first IdleTimeout of an idle worker; zero: no worker is idle. It is
	// in the past while such workers are kept.
	nextIdle    time.Time
	spares      bool      // were kept at the last Reconcile
	sparedUntil time.Time // when spares were last kept: IdleTimeout does not begin before
}

type job struct {
	id       ids.JobID
	declared int
	share    Share
	since    time.Time // since when it has fewer; zero: it has all
	least    int       // the slots with which some part of the job can run
	refusals int       // since it last got a slot, lost one, or declared
	refusal  string    // the reason of the last refusal
}

// New makes a Manager without jobs or workers. It takes the ids of its grants from allocations, which
// other Managers may use too.
func New(config Config, allocations *ids.Sequence) *Manager {
	return &Manager{
		config:      config,
		allocations: allocations,
		limit:       max(config.Most, 0),
		open:        newShelf(config.Spread, config.SlotsPerWorker),
		dirty:       true, // the floor is missing
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
	// Strayed says that some released workers are new and can serve no job of For.
	Strayed bool
	// For lists the jobs that new workers are to serve: those that are short of slots, or all jobs
	// while only spares are missing.
	For []ids.JobID
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
		m.jobs = append(m.jobs, &job{id: id, declared: slots, share: Everything, least: least})
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

// acceptsAll tells whether all jobs take slots of all workers.
func (m *Manager) acceptsAll() bool { return m.config.Blocklist == nil || m.config.Blocklist.Empty() }

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

// Occupants lists the jobs of a worker's slots that are not free, in the order of the slots.
func (m *Manager) Occupants(id ids.ResourceID) []ids.JobID {
	var jobs []ids.JobID
	if w := m.workers[id]; w != nil {
		for _, s := range w.slots {
			if s.allocation != "" {
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
		return Plan{Workers: m.last.Workers, Short: m.last.Short, For: m.last.For}
	}
	var plan Plan
	m.makeRoom(&plan) // before slots are granted there
	missing, short := m.grant(now, &plan)
	m.watchSpares(now)
	spared := m.releaseUseless(missing, short, &plan)
	m.next = m.releaseIdle(now, short, &plan)
	m.resize(now, missing, spared, short, &plan)
	for _, j := range short {
		plan.Short = append(plan.Short, Shortage{Job: j.id, Reason: m.reason(j, plan.Workers)})
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
	var waiting []*job // for slots that are free
	kept := 0          // of the missing slots: free ones that these jobs may get later
	for _, j := range m.jobs {
		if want := min(j.declared, j.share.Hold) - m.held[j.id]; want > 0 {
			m.serve(now, j, want, plan)
		}
		j.lacks(m.held[j.id] < j.declared, now)
		if m.held[j.id] >= j.declared {
			continue
		}
		short = append(short, j)
		if order := m.orders(j); order > 0 && !m.exhausted(j.id) {
			missing += order
			if later := min(order, j.declared-j.share.Hold); later > 0 {
				kept, waiting = kept+later, append(waiting, j)
			}
		}
	}
	if kept > 0 {
		missing = max(missing-min(kept, m.grantable(now, waiting)), 0)
	}
	return missing, short
}

// serve grants a job as many slots as it wants and open workers have, and returns their number.
func (m *Manager) serve(now time.Time, j *job, want int, plan *Plan) (given int) {
	for rank := range m.open.ranks {
		for at := 0; at < len(m.open.ranks[rank]) && given < want; {
			w, n := m.open.ranks[rank][at], 0
			if !m.blocks(j.id, w.id) {
				n = m.give(now, w, j.id, m.open.turn(want-given), plan)
			}
			if given += n; n == 0 {
				at++ // otherwise the worker has another rank now, or gives no more the next time
			}
		}
	}
	return given
}

// give grants a job up to most slots of a worker, and returns their number.
func (m *Manager) give(now time.Time, w *worker, to ids.JobID, most int, plan *Plan) (given int) {
	for i, s := range w.slots {
		if given == most {
			break
		}
		if s.state != free || now.Before(s.notBefore) {
			continue
		}
		g := Grant{Slot: ids.SlotID{Resource: w.id, Index: i}, Allocation: ids.AllocationID(m.allocations.Next()), Job: to}
		m.occupy(w, i, pending, g.Allocation, to)
		plan.Grants = append(plan.Grants, g)
		given++
	}
	m.open.place(w)
	return given
}

// nextRetry gives the first time at which a refused slot may be granted again.
func (m *Manager) nextRetry(now time.Time) (next time.Time) {
	for w := range m.open.all() {
		for _, s := range w.slots {
			if now.Before(s.notBefore) {
				next = actor.Earliest(next, s.notBefore)
			}
		}
	}
	return next
}
