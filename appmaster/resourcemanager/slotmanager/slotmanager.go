// Package slotmanager matches the slots that jobs need with the slots that
// workers have. It owns the ResourceManager's view of both: what each job
// declared, which workers are expected or registered, and who holds each slot.
// Facts go in through methods, and Reconcile gives what is to be done about
// them, so that any number of facts may come before one decision.
//
// It is a pure core: no goroutine, no I/O, no clock, and nothing that depends on
// map order. One goroutine may use a Manager. It must never import a role, a
// provider or anything that talks to a peer.
package slotmanager

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Config bounds what a Manager asks for.
type Config struct {
	// SlotsPerWorker is taskmanager.numberOfTaskSlots: what every worker has.
	SlotsPerWorker int
	// MaxSlots is slotmanager.number-of-slots.max: the slots of registered and
	// coming workers together; 0 means no limit.
	MaxSlots int
	// IdleTimeout is resourcemanager.taskmanager-timeout: a worker without a
	// slot in use goes after it.
	IdleTimeout time.Duration
	// Blocklist says where jobs take no slots; nil: they take any. See BlocklistChanged.
	Blocklist Blocklist
}

// Blocklist says where jobs take no slots.
type Blocklist interface {
	// Blocks tells whether a job takes no slot of a worker.
	Blocks(job ids.JobID, worker ids.ResourceID) bool
	// Exhausted tells whether a job would take none of any worker that could come.
	Exhausted(job ids.JobID) bool
}

// A slot that its worker refused is left alone for refusalPause, lest the two
// repeat themselves as fast as messages go. A job whose slots were refused
// refusalLimit times, while it got and lost none, and that has too few to run, is told
// so instead of being left to its slot.request.timeout without a reason, unless another
// worker is to come: that may take longer, and serve it.
const (
	refusalPause = time.Second
	refusalLimit = 10
)

// Manager is the SlotManager. Make it with New.
type Manager struct {
	config      Config
	allocations ids.Sequence

	jobs    []*job // with requirements, in the order of their first declaration
	held    map[ids.JobID]int
	workers map[ids.ResourceID]*worker
	holders map[ids.AllocationID]ids.SlotID // each grant, and the one slot that has it

	registered int // workers registered or suspended
	// Workers by state and sequence; open ones are registered with a free slot.
	expected, suspended, open []*worker

	sequence int // of workers
	// Of the expected workers, those up to screened may serve some job that is short, and
	// those up to looked have been looked at.
	screened, looked int
	refusal          string // why no more workers can come; "" while they can
	sparing          bool   // there was a refusal, and no order has been taken since: see releaseUseless
	dirty            bool
	last             Plan      // of the last Reconcile
	next             time.Time // when time alone gives Reconcile something to do; zero: never
	nextIdle         time.Time // no later than the first idle worker's end of patience; zero: no worker is idle
}

type job struct {
	id       ids.JobID
	declared int
	since    time.Time // it has had fewer; zero: it has them
	least    int       // of these, without which nothing of the job can run
	refusals int       // since it last got a slot, lost one, or asked anew
	refusal  string    // the last one's reason
}

// New makes a Manager without jobs or workers; it names its grants from
// allocations.
func New(config Config, allocations ids.Sequence) *Manager {
	return &Manager{
		config:      config,
		allocations: allocations,
		held:        make(map[ids.JobID]int),
		workers:     make(map[ids.ResourceID]*worker),
		holders:     make(map[ids.AllocationID]ids.SlotID),
	}
}

// Plan is what is to be done so that jobs get the slots they declared. The
// Manager takes Grants and Release as done, so they come once, and Strayed with them; the
// others are the state of things, and come each time.
type Plan struct {
	// Grants are to be sent to their workers.
	Grants []Grant
	// Release lists workers that are not needed, or serve nobody; the Manager has
	// forgotten them.
	Release []Release
	// Strayed says that some of these serve nobody, and were not expected before.
	Strayed bool
	// Workers is how many are needed beside those expected and registered.
	Workers int
	// Short lists the jobs that have less than they declared.
	Short []Shortage
}

// Grant gives a slot to a job.
type Grant struct {
	Slot       ids.SlotID
	Allocation ids.AllocationID
	Job        ids.JobID
}

// Release says which worker to give up and why.
type Release struct {
	Worker ids.ResourceID
	Cause  string
}

// Shortage is a job that lacks slots.
type Shortage struct {
	Job    ids.JobID
	Reason string // why nothing of it can run, as far as is known; "" while it may
}

// Declare sets the total of slots that a job needs now; 0 removes the job from
// those that are served. Slots that it holds beyond that are not taken from it:
// its JobMaster frees them at their workers. What it was refused before does not count
// any more, as it asks anew. With the least of them some part of the
// job can run, and the others after it; 0 means that it needs all at once.
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

// Retry says that a job asks anew, as Declare does, for as many slots as before: it may take
// others now.
func (m *Manager) Retry(id ids.JobID) {
	m.forgive(id)
	m.dirty = true
}

// BlocklistChanged says that the Blocklist may give other answers than before. Slots that
// jobs hold are not taken from them.
func (m *Manager) BlocklistChanged() { m.dirty, m.screened = true, 0 }

// Refuse says why no more workers can come than those that are expected or registered; ""
// ends that, and says no more than that they are asked for again: see Taken. Who needs more is
// told so, see Shortage, and remains to be counted in Plan.Workers.
func (m *Manager) Refuse(reason string) {
	m.dirty = m.dirty || m.refusal != reason
	m.sparing = m.sparing || reason != ""
	m.refusal = reason
}

// Taken says that workers that were refused before are going to come when there is room.
func (m *Manager) Taken() {
	m.dirty = m.dirty || m.sparing
	m.sparing = false
}

// Refusal is what Refuse said last.
func (m *Manager) Refusal() string { return m.refusal }

func (m *Manager) blocks(job ids.JobID, worker ids.ResourceID) bool {
	return m.config.Blocklist != nil && m.config.Blocklist.Blocks(job, worker)
}

func (m *Manager) exhausted(job ids.JobID) bool {
	return m.config.Blocklist != nil && m.config.Blocklist.Exhausted(job)
}

// Holders lists the jobs that hold slots of a worker, each once, by slot.
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

// Next gives the time at which Reconcile has something to do though nothing
// happened before; false means never.
func (m *Manager) Next() (time.Time, bool) { return m.next, !m.next.IsZero() }

// Reconcile gives what is to be done now.
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
		m.next = earliest(m.next, m.nextRetry(now))
	}
	m.last, m.dirty = plan, false
	return plan
}

// grant hands out free slots, to jobs in the order in which they came, and
// gives the number of slots that are missing after that and that workers could bring,
// and the jobs that lack any.
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
			slots = append(blocked, slots...) // for the jobs after it
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

// grantable lists the free slots: first those of workers that are in use
// already, so that unused ones can go, and older workers before younger ones.
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

// nextRetry gives the time at which a refused slot may be granted again.
func (m *Manager) nextRetry(now time.Time) (next time.Time) {
	for _, w := range m.open {
		for _, s := range w.slots {
			if now.Before(s.notBefore) {
				next = earliest(next, s.notBefore)
			}
		}
	}
	return next
}

// earliest gives the earlier of two times, where zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// bySequence orders workers by when they came into their state.
func bySequence(a, b *worker) int { return cmp.Compare(a.sequence, b.sequence) }

// add puts a worker into a list that it is not in, and remove takes it out of
// one that it may be in.
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
