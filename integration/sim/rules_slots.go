package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// slotsServeOne models the slots of each worker by what the worker tells the ResourceManager.
func slotsServeOne(w *watch) {
	tables := make(map[*worker]map[int]ids.AllocationID)
	registering := make(map[*worker]bool) // slots that become free meanwhile are told by the next report
	w.said = append(w.said, func(over *wire, m msg.Message) error {
		k := over.worker
		table := tables[k]
		switch m := m.(type) {
		case msg.RegisterTaskExecutor: // what was sent over an earlier stream may be lost
			tables[k], registering[k] = allocations(m.Slots), true
		case msg.SlotReport:
			told := allocations(m.Slots)
			if registering[k] {
				registering[k] = false
				maps.DeleteFunc(table, func(i int, _ ids.AllocationID) bool { return told[i] == "" })
			}
			if !maps.Equal(told, table) {
				return fmt.Errorf("worker %s reports slots %v after it said %v", k.id, told, table)
			}
		case msg.SlotRequestsAnswered:
			for _, taken := range m.Taken {
				if held, occupied := table[taken.Index]; occupied && held != taken.Allocation {
					return fmt.Errorf("worker %s takes %s for slot %d, which serves %s", k.id, taken.Allocation, taken.Index, held)
				}
				if taken.Index < 0 || taken.Index >= k.slots {
					return fmt.Errorf("worker %s takes %s for slot %d of %d", k.id, taken.Allocation, taken.Index, k.slots)
				}
				table[taken.Index] = taken.Allocation
			}
		case msg.SlotsFreed:
			for _, freed := range m.Slots {
				if table[freed.Index] != freed.Allocation {
					return fmt.Errorf("worker %s frees %s of slot %d, which serves %q", k.id, freed.Allocation, freed.Index, table[freed.Index])
				}
				delete(table, freed.Index)
			}
		}
		return nil
	})
}

func allocations(slots []msg.SlotStatus) map[int]ids.AllocationID {
	table := make(map[int]ids.AllocationID)
	for _, s := range slots {
		if s.Allocation != "" {
			table[s.Index] = s.Allocation
		}
	}
	return table
}

// slotsAreGrantedOnce models what each ResourceManager may believe of the slots of its workers: what it has
// granted, until it could learn that the worker has refused or freed the slot. A grant is for a slot that
// exists and that no other grant has.
func slotsAreGrantedOnce(w *watch) {
	tables := make(map[*worker]*grants)
	w.said = append(w.said, func(over *wire, m msg.Message) error {
		k := over.worker
		t := grantsOf(tables, k)
		if request, is := m.(msg.RequestSlots); is {
			for _, grant := range request.Slots {
				if grant.Index < 0 || grant.Index >= k.slots {
					return fmt.Errorf("worker %s is asked for slot %d of %d", k.id, grant.Index, k.slots)
				}
				if other, taken := t.granted[grant.Index]; taken && other != grant.Allocation {
					return fmt.Errorf("slot %d of worker %s is granted to %s and to %s", grant.Index, k.id, other, grant.Allocation)
				}
			}
		}
		t.hear(m)
		return nil
	})
}

// grants are the slots of a worker, by index, as its ResourceManager may know them.
type grants struct {
	granted   map[int]ids.AllocationID
	announced map[int]ids.AllocationID // by the last registration, until the report after it
}

// grantsOf returns the grants of a worker.
func grantsOf(tables map[*worker]*grants, k *worker) *grants {
	if tables[k] == nil {
		tables[k] = new(grants)
	}
	return tables[k]
}

// hear follows a message between the worker and its ResourceManager.
func (g *grants) hear(m msg.Message) {
	switch m := m.(type) {
	case msg.RegisterTaskExecutor:
		g.announced = allocations(m.Slots)
	case msg.TaskExecutorRegistered: // what was sent over an earlier stream does not count any more
		g.granted = make(map[int]ids.AllocationID)
		maps.Copy(g.granted, g.announced) // none if an older registration arrives after a newer one
	case msg.SlotReport:
		told := allocations(m.Slots)
		for i, allocation := range g.announced { // that became free while the worker registered
			if told[i] == "" && g.granted[i] == allocation {
				delete(g.granted, i)
			}
		}
		g.announced = nil
	case msg.RequestSlots:
		for _, grant := range m.Slots {
			g.granted[grant.Index] = grant.Allocation
		}
	case msg.SlotRequestsAnswered:
		for _, refused := range m.Refused {
			g.free(refused.SlotOffer)
		}
	case msg.SlotsFreed:
		for _, freed := range m.Slots {
			g.free(freed)
		}
	}
}

func (g *grants) free(slot msg.SlotOffer) {
	if g.granted[slot.Index] == slot.Allocation {
		delete(g.granted, slot.Index)
	}
}

// slotsHaveTheirResources checks each task that runs: the slots of its worker have the resources of the
// task's slot sharing group, and YARN has given the worker a container for so much memory.
func slotsHaveTheirResources(w *watch) {
	w.tasks = append(w.tasks, func(h *host, id ids.JobID, e ids.ExecutionAttemptID) error {
		k := h.worker
		at := slices.IndexFunc(w.w.jobs, func(j *job) bool { return j.id == id })
		if at < 0 {
			return nil
		}
		g := &w.w.jobs[at].graph
		group := g.SlotGroups()[g.Vertices[e.Vertex].Group]
		want := msg.ProfileOf(group.Resources)
		if k.profile != want {
			return fmt.Errorf("task %s of group %q needs a slot with %s, and runs in one with %s of worker %s", e, group.Name, want, k.profile, k.id)
		}
		if !want.IsDefault() {
			w.w.facts[Grouped]++
		}
		slot := k.memory.Slot()
		if int64(slot.Heap) < want.TaskHeap || int64(slot.Managed) < want.Managed || !k.uber && k.resource.MemoryMB < int64(k.memory.ContainerMB()) {
			return fmt.Errorf("a slot of worker %s has %v in a container of %d MB, and group %q asked for %s", k.id, slot, k.resource.MemoryMB, group.Name, want)
		}
		return nil
	})
}
