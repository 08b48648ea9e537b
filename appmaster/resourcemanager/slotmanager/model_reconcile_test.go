package slotmanager

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// reconcile compares a plan with what the naive account allows and requires.
func (m *model) reconcile(t *rapid.T) {
	plan := m.manager.Reconcile(m.now)
	surplus := m.surplus()
	for _, id := range surplus {
		delete(m.workers, id)
	}
	for _, g := range plan.Grants {
		w := m.workers[g.Slot.Resource]
		switch {
		case w == nil || w.state != registered:
			t.Fatalf("slot %s granted on a worker that is not there", g.Slot)
		case w.slots[g.Slot.Index].allocation != "":
			t.Fatalf("slot %s granted twice", g.Slot)
		case m.now.Before(w.slots[g.Slot.Index].notBefore):
			t.Fatalf("slot %s granted right after it was refused", g.Slot)
		case m.blocked[g.Job][g.Slot.Resource]:
			t.Fatalf("job %s got a slot of %s, which it has blocked", g.Job, g.Slot.Resource)
		case m.granted[g.Allocation]:
			t.Fatalf("allocation %s granted twice", g.Allocation)
		case m.held(g.Job) >= m.declared[g.Job]:
			t.Fatalf("job %s got more than its %d slots", g.Job, m.declared[g.Job])
		case m.held(g.Job) >= m.share(g.Job).Hold:
			t.Fatalf("job %s got more than the %d slots that it may have now", g.Job, m.share(g.Job).Hold)
		}
		m.first(t, g)
		m.granted[g.Allocation] = true
		w.slots[g.Slot.Index] = modelSlot{allocation: g.Allocation, job: g.Job, pending: true}
	}

	missing, spares := m.missing(), m.spareSlots()
	if m.spares && spares == 0 {
		m.spared = m.now
	}
	m.spares = spares > 0
	serves := m.wanted
	if missing == 0 {
		serves = m.accepted
	}
	looking := missing > 0 || spares > m.freeFor()
	later := 0
	strayed := false
	var useless, unwanted, starting, unused []ids.ResourceID
	coming, here := 0, 0
	for _, id := range slices.Sorted(maps.Keys(m.workers)) {
		w := m.workers[id]
		switch {
		case w.state == expected && looking && !serves(id):
			useless = append(useless, id)
			strayed = strayed || w.order > m.looked
			continue
		case w.state == expected:
			coming++
			starting = append(starting, id)
			continue
		case missing > 0 && w.state == registered && w.used() == 0 && !w.serves && !m.wanted(id):
			unwanted = append(unwanted, id)
			continue
		}
		here++
		if w.state == registered && w.used() == 0 {
			unused = append(unused, id)
		}
		for _, s := range w.slots {
			switch {
			case s.allocation != "", !m.wanted(id):
			case w.state == suspended || m.now.Before(s.notBefore):
				later++
			case m.served(id):
				t.Fatalf("slots are missing and worker %s has a free one", id)
			}
		}
	}
	younger := func(a, b ids.ResourceID) int { return m.workers[b].came - m.workers[a].came }
	slices.SortFunc(unwanted, younger)
	spared := len(unwanted)
	for spared > 0 && !(m.refused && (m.config.Most == 0 || coming+here+spared <= m.limit)) {
		spared--
	}
	useless = append(useless, unwanted[spared:]...)
	unused = append(unused, unwanted[:spared]...)
	for _, id := range useless {
		if m.workers[id].state != expected {
			delete(m.workers, id) // the floor and the spares are counted without it
		}
	}
	slices.SortFunc(unused, younger)
	var idle []ids.ResourceID
	for _, id := range unused {
		w := m.workers[id]
		due := w.idle.Add(idleTimeout)
		if at := m.spared.Add(idleTimeout); at.After(due) {
			due = at
		}
		spare := m.accepted(id) && m.freeFor()-m.config.SlotsPerWorker < spares
		if m.now.Before(due) || m.ordered(id) || m.refused && m.lacking() || w.serves || spare || here+spared-1 < m.config.Least {
			continue
		}
		idle = append(idle, id)
		delete(m.workers, id)
		here--
	}
	later = min(later, missing)
	slots := missing - later + max(spares-(m.freeFor()-later), 0)
	needed := 0
	for needed*m.config.SlotsPerWorker < slots || needed+here+spared < m.config.Least {
		needed++
	}
	if m.config.Most > 0 {
		needed = max(min(needed, m.limit-here), 0)
	}
	slices.SortFunc(starting, func(a, b ids.ResourceID) int { return m.workers[b].order - m.workers[a].order })
	want := slices.Concat(surplus, useless, starting[:max(coming-needed, 0)], idle)
	slices.Sort(want)
	var released []ids.ResourceID
	for _, r := range plan.Release {
		released = append(released, r.Worker)
		delete(m.workers, r.Worker)
	}
	slices.Sort(released)
	if diff := cmp.Diff(want, released, cmp.Transformer("empty", func(s []ids.ResourceID) string { return fmt.Sprint(s) })); diff != "" {
		t.Fatalf("released workers (-want +got):\n%s", diff)
	}
	if plan.Strayed != strayed {
		t.Fatalf("plan says that workers came in vain: %v, want %v", plan.Strayed, strayed)
	}
	if looking {
		m.looked = m.lastID
	}
	if want := max(needed-coming, 0); plan.Workers != want {
		t.Fatalf("plan asks for %d workers instead of %d", plan.Workers, want)
	}
	if there := len(m.workers) - spared; m.config.Most > 0 && plan.Workers > 0 && there+plan.Workers > m.limit {
		t.Fatalf("plan asks for %d workers, there are %d, and the limit is %d", plan.Workers, there, m.limit)
	}
	m.short(t, plan.Short)
	if at, ok := m.manager.Next(); ok && !at.After(m.now) {
		t.Fatalf("next reconciliation at %v is not after %v", at, m.now)
	}
	m.compare(t)
}

// surplus lists the unused workers that must make room: the youngest, above the limit, but none that serves data.
func (m *model) surplus() (list []ids.ResourceID) {
	here := 0
	for id, w := range m.workers {
		if w.state != expected {
			here++
		}
		if w.state == registered && w.used() == 0 && !w.serves {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, func(a, b ids.ResourceID) int { return m.workers[b].came - m.workers[a].came })
	if m.config.Most == 0 || m.limit == m.config.Most {
		return nil
	}
	return list[:min(len(list), max(here-m.limit, 0))]
}

// short checks that exactly the jobs that lack slots are named. Those that cannot run with the
// slots that they can get, because of the limit of slots or a refusal of workers, must get a
// reason.
func (m *model) short(t *rapid.T, list []Shortage) {
	named := make(map[ids.JobID]bool)
	for _, s := range list {
		named[s.Job] = true
		limit := m.config.Most * m.config.SlotsPerWorker
		limited := m.config.Most > 0 && m.least[s.Job] > limit
		refused := m.refusal != "" && m.least[s.Job] > m.supply(s.Job)
		if told := strings.Contains(s.Reason, m.config.MostBy); told && !limited {
			t.Fatalf("job %s, which can do with %d slots, is told: %s", s.Job, m.least[s.Job], s.Reason)
		} else if told := s.Reason != "" && s.Reason == m.refusal; told && !refused {
			t.Fatalf("job %s, which can do with %d slots of %d, is told: %s", s.Job, m.least[s.Job], m.supply(s.Job), s.Reason)
		} else if s.Reason == "" && (limited || refused) {
			t.Fatalf("job %s needs %d slots, the limit is %d, workers are refused: %q, there are %d; and it is not told",
				s.Job, m.least[s.Job], limit, m.refusal, m.supply(s.Job))
		}
	}
	lacking := make(map[ids.JobID]bool)
	for job, declared := range m.declared {
		if m.held(job) < declared {
			lacking[job] = true
		}
	}
	if diff := cmp.Diff(lacking, named); diff != "" {
		t.Fatalf("jobs that lack slots (-want +got):\n%s", diff)
	}
}

// compare compares the Manager's tables with the model's.
func (m *model) compare(t *rapid.T) {
	if len(m.manager.workers) != len(m.workers) {
		t.Fatalf("manager knows %d workers instead of %d", len(m.manager.workers), len(m.workers))
	}
	holders := make(map[ids.AllocationID]ids.SlotID)
	for id, w := range m.workers {
		total, free := m.manager.Usage(id)
		if total != len(w.slots) || free != len(w.slots)-w.used() {
			t.Fatalf("worker %s has %d slots, %d free, instead of %d and %d", id, total, free, len(w.slots), len(w.slots)-w.used())
		}
		for i, s := range w.slots {
			if s.allocation != "" {
				holders[s.allocation] = ids.SlotID{Resource: id, Index: i}
			}
		}
	}
	if diff := cmp.Diff(holders, m.manager.holders); diff != "" {
		t.Fatalf("holders of allocations (-want +got):\n%s", diff)
	}
}
