package taskexecutor

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// slotState is what a slot of the worker is.
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
	memoryMB   int
}

// slotTable is the worker's slots. An allocation is in at most one of them.
type slotTable []slot

func newSlotTable(n int) slotTable {
	table := make(slotTable, n)
	for i := range table {
		table[i] = slot{index: i, state: slotFree}
	}
	return table
}

// report is the table as the ResourceManager knows it: a slot that is being
// released is still taken.
func (t slotTable) report() []msg.SlotStatus {
	report := make([]msg.SlotStatus, len(t))
	for i, s := range t {
		report[i] = msg.SlotStatus{Index: i, Allocation: s.allocation, Job: s.job}
	}
	return report
}

func (t slotTable) find(allocation ids.AllocationID) *slot {
	i := slices.IndexFunc(t, func(s slot) bool { return s.state != slotFree && s.allocation == allocation })
	if i < 0 {
		return nil
	}
	return &t[i]
}

// of gives a job's slots in one of these states.
func (t slotTable) of(job ids.JobID, states ...slotState) []*slot {
	var found []*slot
	for i := range t {
		if s := &t[i]; s.state != slotFree && s.job == job && slices.Contains(states, s.state) {
			found = append(found, s)
		}
	}
	return found
}

// held gives the slots that a job may use.
func (t slotTable) held(job ids.JobID) []*slot { return t.of(job, slotAllocated, slotActive) }

// memoryMB is what a job's slots hold together.
func (t slotTable) memoryMB(job ids.JobID) int {
	total := 0
	for _, s := range t.held(job) {
		total += s.memoryMB
	}
	return total
}

func (s *slot) free() { *s = slot{index: s.index, state: slotFree} }
