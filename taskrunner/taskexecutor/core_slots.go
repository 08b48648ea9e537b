package taskexecutor

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// slotState is the state of a slot.
type slotState int

const (
	slotFree      slotState = iota + 1
	slotAllocated           // granted by the ResourceManager, offered to the JobMaster
	slotActive              // accepted by the JobMaster
	slotReleasing           // given back; its memory is still in use
)

type slot struct {
	index      int
	state      slotState
	allocation ids.AllocationID
	job        ids.JobID
	memory     memory.Slot
	offered    time.Time // when it was last offered to the JobMaster; zero: never
}

// slotTable has the worker's slots. An allocation is in at most one of them. Operations on a job's
// slots take time in proportion to these slots, not to all slots.
type slotTable struct {
	slots   []slot
	holders map[ids.AllocationID]int // the slot of each allocation
	jobs    map[ids.JobID][]int      // slots of each job, ascending
}

func newSlotTable(n int) slotTable {
	table := slotTable{
		slots:   make([]slot, n),
		holders: make(map[ids.AllocationID]int), jobs: make(map[ids.JobID][]int),
	}
	for i := range table.slots {
		table.slots[i] = slot{index: i, state: slotFree}
	}
	return table
}

// report is the table for the ResourceManager: a slot that is being released is still occupied.
func (t slotTable) report() []msg.SlotStatus {
	report := make([]msg.SlotStatus, len(t.slots))
	for i, s := range t.slots {
		report[i] = msg.SlotStatus{Index: i, Allocation: s.allocation, Job: s.job}
	}
	return report
}

func (t slotTable) find(allocation ids.AllocationID) *slot {
	if i, held := t.holders[allocation]; held {
		return &t.slots[i]
	}
	return nil
}

// occupy gives a free slot to a job.
func (t slotTable) occupy(s slot) {
	t.slots[s.index] = s
	t.holders[s.allocation] = s.index
	at, _ := slices.BinarySearch(t.jobs[s.job], s.index)
	t.jobs[s.job] = slices.Insert(t.jobs[s.job], at, s.index)
}

// vacate frees slots of a job.
func (t slotTable) vacate(job ids.JobID, freed []*slot) {
	for _, s := range freed {
		delete(t.holders, s.allocation)
		*s = slot{index: s.index, state: slotFree}
	}
	t.jobs[job] = slices.DeleteFunc(t.jobs[job], func(i int) bool { return t.slots[i].state == slotFree })
	if len(t.jobs[job]) == 0 {
		delete(t.jobs, job)
	}
}

// of gives a job's slots in one of these states.
func (t slotTable) of(job ids.JobID, states ...slotState) []*slot {
	var found []*slot
	for _, i := range t.jobs[job] {
		if s := &t.slots[i]; slices.Contains(states, s.state) {
			found = append(found, s)
		}
	}
	return found
}

// held gives the slots that a job may use.
func (t slotTable) held(job ids.JobID) []*slot { return t.of(job, slotAllocated, slotActive) }

// memory is the memory of all slots that a job may use.
func (t slotTable) memory(job ids.JobID) memory.Slot {
	var total memory.Slot
	for _, s := range t.held(job) {
		total = total.Plus(s.memory)
	}
	return total
}

// offersOf converts slots to offers.
func offersOf(slots []*slot) []msg.SlotOffer {
	offers := make([]msg.SlotOffer, len(slots))
	for i, s := range slots {
		offers[i] = msg.SlotOffer{Index: s.index, Allocation: s.allocation}
	}
	return offers
}
