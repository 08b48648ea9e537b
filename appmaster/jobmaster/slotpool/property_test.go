package slotpool

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

const idleTimeout = 3 * time.Second

// model is a naive pool that recomputes everything from sets each time.
type model struct {
	pool     *Pool
	now      time.Time
	regions  [][]int
	kinds    []int // of each shared slot
	state    []state
	held     map[ids.AllocationID]ids.ResourceID
	runs     []map[int]ids.AllocationID // slots of each running region by shared slot, also those of lost workers
	ready    map[ids.ResourceID]bool
	tasks    [][]int // of each region in each of its shared slots; nil: the pool does not balance them
	required []int   // the last value of each kind
	came     time.Time
	own      int   // regions that the job had at its start; the others were added
	queue    []int // added regions that wait, the one that was added first at the front
}

type state int

const (
	resting  state = iota // created or failed, and not waiting yet
	waits                 // for slots
	running               // or ending, in its slots
	finished              // until all regions start again
)

// TestPoolAgainstSets gives slots to random regions, takes slots away, and loses workers. It would
// catch a free slot that a region could use but does not get; a region that runs in a part of its
// slots, in a slot of a lost worker, or in a slot of another region; a slot of a finished region
// that is declared again, or one that a region no longer needs; an idle slot that is kept; and a used slot that is
// given away.
func TestPoolAgainstSets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"offer":        m.offer,
			"wait":         m.wait,
			"assign":       m.assign,
			"release":      m.release,
			"finish":       m.finish,
			"reopen":       m.reopen,
			"narrow":       m.narrow,
			"lose worker":  m.loseWorker,
			"host changes": m.hostChanges,
			"give up":      m.giveUp,
			"give up free": m.giveUpFree,
			"free worker":  m.freeWorker,
			"add":          m.add,
			"remove":       m.remove,
			"time passes":  func(t *rapid.T) { m.now = m.now.Add(time.Duration(rapid.IntRange(1, 4).Draw(t, "s")) * time.Second) },
			"":             m.check,
		})
	})
}

// newModel has regions over shared slots as in the layout of a job: each shared slot belongs to a
// region.
func newModel(t *rapid.T) *model {
	n := rapid.IntRange(1, 6).Draw(t, "shared slots")
	var regions [][]int
	for next := 0; next < n; { // each vertex, or group of vertices, divides all shared slots
		var members []int
		for i := range min(rapid.IntRange(1, 3).Draw(t, "size"), n-next) {
			members = append(members, next+i)
		}
		regions = append(regions, members)
		next += len(members)
	}
	for range rapid.IntRange(0, 3).Draw(t, "more regions") {
		first := rapid.IntRange(0, n-1).Draw(t, "first")
		var members []int
		for i := range min(rapid.IntRange(1, 3).Draw(t, "size"), n-first) {
			members = append(members, first+i)
		}
		regions = append(regions, members)
	}
	kinds, required := make([]int, n), make([]int, 2)
	for i := range kinds { // some slots are of each kind, unless there is only one slot
		if kinds[i] = i % 2; i > 1 {
			kinds[i] = rapid.IntRange(0, 1).Draw(t, "kind")
		}
		required[kinds[i]]++
	}
	pool := New(regions, kinds, start)
	var tasks [][]int
	if rapid.Bool().Draw(t, "balanced") {
		for _, shared := range regions {
			tasks = append(tasks, rapid.SliceOfN(rapid.IntRange(1, 4), len(shared), len(shared)).Draw(t, "tasks"))
		}
		pool.Balance(tasks)
	}
	return &model{
		pool: pool, tasks: tasks, now: start, came: start, regions: regions, kinds: kinds, required: required[:min(n, 2)],
		own: len(regions), state: make([]state, len(regions)), runs: make([]map[int]ids.AllocationID, len(regions)),
		held: make(map[ids.AllocationID]ids.ResourceID), ready: make(map[ids.ResourceID]bool),
	}
}

func (m *model) worker(t *rapid.T) ids.ResourceID {
	return ids.ResourceID(fmt.Sprint("w", rapid.IntRange(0, 2).Draw(t, "worker")))
}

// in draws a region in a state, which was not added.
func (m *model) in(t *rapid.T, s state) int {
	var found []int
	for r := range m.regions[:m.own] {
		if m.state[r] == s {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		t.Skip("no such region")
	}
	return rapid.SampledFrom(found).Draw(t, "region")
}

// standing gives the slot for each shared slot: the slot of a region that runs there, unless its
// worker is lost.
func (m *model) standing() map[int]ids.AllocationID {
	slots := make(map[int]ids.AllocationID)
	for r, run := range m.runs {
		for shared, a := range run {
			if _, there := m.held[a]; there && m.state[r] == running {
				slots[shared] = a
			}
		}
	}
	return slots
}

// free gives the slots in which nothing runs.
func (m *model) free() map[ids.AllocationID]bool {
	free := make(map[ids.AllocationID]bool)
	for a := range m.held {
		free[a] = true
	}
	for _, a := range m.standing() {
		delete(free, a)
	}
	return free
}

// kind gives the kind of a slot, which its allocation tells.
func (m *model) kind(a ids.AllocationID) int { return int(a[1]-'0') % len(m.required) }

// heldOf counts the slots of a kind.
func (m *model) heldOf(kind int) (n int) {
	for a := range m.held {
		if m.kind(a) == kind {
			n++
		}
	}
	return n
}

func (m *model) offer(t *rapid.T) {
	a := ids.AllocationID(fmt.Sprint("a", rapid.IntRange(0, 9).Draw(t, "allocation")))
	kind := m.kind(a)
	worker := m.worker(t)
	owner, known := m.held[a]
	want := known && owner == worker || !known && m.heldOf(kind) < m.required[kind]
	if got := m.pool.Offer(Slot{a, worker, kind}, m.now); got != want {
		t.Fatalf("offer %s of %s: got %t, want %t", a, worker, got, want)
	}
	if want && !known {
		for r := range m.runs { // regions that ran in an earlier slot of this name do not run in this one
			maps.DeleteFunc(m.runs[r], func(_ int, old ids.AllocationID) bool { return old == a })
		}
		m.held[a] = worker
		m.came = m.now
	}
}

func (m *model) wait(t *rapid.T) {
	r := m.in(t, resting)
	m.state[r] = waits
	m.pool.Wait(r)
}

// loads counts the tasks of the job on each worker.
func (m *model) loads() map[ids.ResourceID]int {
	loads := make(map[ids.ResourceID]int)
	for r, run := range m.runs {
		for at, i := range m.regions[r] {
			if resource, there := m.held[run[i]]; there && m.state[r] == running && m.tasks != nil {
				loads[resource] += m.tasks[r][at]
			}
		}
	}
	return loads
}

// balances checks in which slots a region starts, and counts its tasks. A shared slot with more tasks chooses
// before one with fewer. It chooses the worker with the fewest tasks, and of its slots the one that was offered
// first.
func (m *model) balances(t *rapid.T, r int, offered []Slot, loads map[ids.ResourceID]int) {
	standing := m.standing()
	var lacking []int
	for at, i := range m.regions[r] {
		if a, stands := standing[i]; stands {
			loads[m.held[a]] += m.tasks[r][at]
		} else {
			lacking = append(lacking, at)
		}
	}
	slices.SortStableFunc(lacking, func(a, b int) int { return m.tasks[r][b] - m.tasks[r][a] })
	chosen := make(map[ids.AllocationID]bool)
	for _, at := range lacking {
		free := m.free()
		var best *Slot
		for n := range offered {
			s := &offered[n]
			if free[s.Allocation] && !chosen[s.Allocation] && s.Kind == m.kinds[m.regions[r][at]] && m.ready[s.Resource] && (best == nil || loads[s.Resource] < loads[best.Resource]) {
				best = s
			}
		}
		if got, _ := m.pool.At(m.regions[r][at]); best == nil || got != *best {
			t.Fatalf("region %d has %d tasks in shared slot %d, which is %v instead of %v; tasks on workers: %v",
				r, m.tasks[r][at], m.regions[r][at], got, best, loads)
		}
		chosen[best.Allocation] = true
		loads[best.Resource] += m.tasks[r][at]
	}
}

// assign expects that each waiting region in turn starts if the ready slots suffice.
func (m *model) assign(t *rapid.T) {
	standing, left := m.standing(), make([]int, 2)
	for a := range m.free() {
		if m.ready[m.held[a]] {
			left[m.kind(a)]++
		}
	}
	taken := make(map[int]bool) // shared slots that get one now
	var want, all []int
	for r := range m.own {
		all = append(all, r)
	}
	for _, r := range append(all, m.queue...) {
		shared := m.regions[r]
		if m.state[r] != waits {
			continue
		}
		lacks, can := make([]int, 2), true
		for _, i := range shared {
			a, stands := standing[i]
			if !stands && !taken[i] {
				lacks[m.kinds[i]]++
			}
			can = can && (!stands || m.ready[m.held[a]])
		}
		if can && lacks[0] <= left[0] && lacks[1] <= left[1] {
			want = append(want, r)
			left[0] -= lacks[0]
			left[1] -= lacks[1]
			for _, i := range shared {
				taken[i] = true
			}
		}
	}
	offered, loads := m.pool.Slots(), m.loads()
	got := m.pool.Assign()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("regions that start differ (-model +pool):\n%s", diff)
	}
	for _, r := range got {
		if m.tasks != nil {
			m.balances(t, r, offered, loads)
		}
		m.queue = slices.DeleteFunc(m.queue, func(other int) bool { return other == r })
		m.state[r], m.runs[r] = running, make(map[int]ids.AllocationID)
		for _, i := range m.regions[r] {
			slot, runs := m.pool.At(i)
			if before, stood := standing[i]; !runs || stood && slot.Allocation != before {
				t.Fatalf("region %d starts, and shared slot %d is %v (%t), was %q", r, i, slot, runs, before)
			}
			if owner, there := m.held[slot.Allocation]; !there || owner != slot.Resource || !m.ready[owner] {
				t.Fatalf("region %d starts in slot %v, which is not there or has no host", r, slot)
			}
			if m.kind(slot.Allocation) != m.kinds[i] {
				t.Fatalf("shared slot %d of kind %d is %v", i, m.kinds[i], slot)
			}
			m.runs[r][i] = slot.Allocation
		}
	}
}

func (m *model) release(t *rapid.T) {
	r := m.in(t, running)
	if !m.pool.Release(r) || m.pool.Release(r) {
		t.Fatalf("region %d runs, and is told otherwise, or afterwards still", r)
	}
	m.state[r], m.runs[r] = resting, nil
}

func (m *model) finish(t *rapid.T) {
	r := m.in(t, running)
	m.pool.Finish(r, m.now)
	m.state[r], m.runs[r] = finished, nil
}

// reopen lets all regions start again. No task runs then.
func (m *model) reopen(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
		t.Skip("not now")
	}
	for r := m.own; r < len(m.regions); r++ {
		if m.state[r] != finished {
			m.removed(r)
		}
	}
	m.pool.Reopen(m.now)
	for r := range m.regions[:m.own] {
		m.state[r], m.runs[r] = resting, nil
	}
	clear(m.required)
	needed := make(map[int]bool)
	for _, shared := range m.regions[:m.own] {
		for _, i := range shared {
			needed[i] = true
		}
	}
	for i := range needed {
		m.required[m.kinds[i]]++
	}
}

// add adds a region. It has the number of a removed one of its kind, if there is one.
func (m *model) add(t *rapid.T) {
	kind := rapid.IntRange(0, len(m.required)-1).Draw(t, "kind")
	var spare []int
	for r := m.own; r < len(m.regions); r++ {
		if m.state[r] == finished && m.kinds[m.regions[r][0]] == kind {
			spare = append(spare, r)
		}
	}
	r := m.pool.Add(kind, m.now)
	switch {
	case len(spare) > 0:
		if !slices.Contains(spare, r) {
			t.Fatalf("region %d is added, and %v of its kind were removed before", r, spare)
		}
	case r != len(m.regions):
		t.Fatalf("region %d is added to %d", r, len(m.regions))
	default:
		m.regions, m.kinds = append(m.regions, []int{len(m.kinds)}), append(m.kinds, kind)
		m.state, m.runs = append(m.state, waits), append(m.runs, nil)
		if m.tasks != nil {
			m.tasks = append(m.tasks, []int{1})
		}
	}
	m.state[r], m.queue = waits, append(m.queue, r)
	m.required[kind]++
}

// remove removes a region that was added, and waits or runs.
func (m *model) remove(t *rapid.T) {
	var open []int
	for r := m.own; r < len(m.regions); r++ {
		if m.state[r] != finished {
			open = append(open, r)
		}
	}
	if len(open) == 0 {
		t.Skip("none was added")
	}
	m.removed(rapid.SampledFrom(open).Draw(t, "region"))
}

func (m *model) removed(r int) {
	m.pool.Remove(r, m.now)
	m.state[r], m.runs[r] = finished, nil
	m.queue = slices.DeleteFunc(m.queue, func(other int) bool { return other == r })
}

// narrow lets a region that runs no task need only some of its shared slots.
func (m *model) narrow(t *rapid.T) {
	r := m.in(t, rapid.SampledFrom([]state{resting, waits}).Draw(t, "state"))
	var shared, tasks []int
	last := len(m.regions[r]) - 1
	for at, i := range m.regions[r] {
		if rapid.Bool().Draw(t, "stays") || at == last && len(shared) == 0 {
			shared, tasks = append(shared, i), append(tasks, rapid.IntRange(1, 4).Draw(t, "tasks"))
		}
	}
	m.pool.Narrow(r, shared, tasks, m.now)
	m.regions[r] = shared
	if m.tasks != nil {
		m.tasks[r] = tasks
	}
}

func (m *model) loseWorker(t *rapid.T) {
	worker := m.worker(t)
	var want []ids.AllocationID
	for a, owner := range m.held {
		if owner == worker {
			want = append(want, a)
			delete(m.held, a)
		}
	}
	var got []ids.AllocationID
	for _, s := range m.pool.RemoveWorker(worker, m.now) {
		got = append(got, s.Allocation)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Fatalf("slots %v of worker %s are gone, want %v", got, worker, want)
	}
}

func (m *model) hostChanges(t *rapid.T) {
	worker := m.worker(t)
	m.ready[worker] = !m.ready[worker]
	m.pool.SetReady(worker, m.ready[worker])
	if len(m.pool.workers) > 3 {
		t.Fatalf("the pool knows %d workers", len(m.pool.workers))
	}
}

func (m *model) giveUp(t *rapid.T) {
	free := m.free()
	freed := m.pool.GiveUp(m.now, idleTimeout)
	for kind, required := range m.required {
		given := 0
		for _, s := range freed {
			if m.kind(s.Allocation) == kind {
				given++
			}
		}
		if spare := max(m.heldOf(kind)-required, 0); given > spare {
			t.Fatalf("%d slots of kind %d are given up, %d are to spare", given, kind, spare)
		}
	}
	for _, s := range freed {
		if !free[s.Allocation] {
			t.Fatalf("slot %v is given up, in which something runs", s)
		}
		delete(m.held, s.Allocation)
	}
	if since, idle := m.pool.IdleSince(); idle && m.now.Sub(since) >= idleTimeout {
		t.Fatalf("a slot is idle since %s, at %s", since, m.now)
	}
}

func (m *model) giveUpFree(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
		t.Skip("not now")
	}
	want, got := m.free(), make(map[ids.AllocationID]bool)
	for _, s := range m.pool.GiveUpFree(m.now) {
		if m.held[s.Allocation] != s.Resource || m.kind(s.Allocation) != s.Kind {
			t.Fatalf("slot %v is given up, which the pool did not hold", s)
		}
		got[s.Allocation] = true
		delete(m.held, s.Allocation)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("slots that are given up differ (-model +pool):\n%s", diff)
	}
}

// freeWorker takes the free slots of one worker.
func (m *model) freeWorker(t *rapid.T) {
	worker := m.worker(t)
	want, got := m.free(), make(map[ids.AllocationID]bool)
	maps.DeleteFunc(want, func(a ids.AllocationID, _ bool) bool { return m.held[a] != worker })
	for _, s := range m.pool.GiveUpFreeOf(worker, m.now) {
		got[s.Allocation] = true
		delete(m.held, s.Allocation)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("slots of worker %s that are given up differ (-model +pool):\n%s", worker, diff)
	}
}

func (m *model) check(t *rapid.T) {
	needed, want, some, open := make(map[int]bool), make([]Demand, len(m.required)), false, 0
	most := make([]int, len(want))
	var largest [][]int // the slots of each kind that the largest regions need
	for r, shared := range m.regions {
		if m.state[r] == finished {
			continue
		}
		open++
		needs := make([]int, len(want))
		for _, i := range shared {
			needed[i] = true
			needs[m.kinds[i]]++
		}
		if largest == nil || len(shared) > total(largest[0]) {
			largest = nil
		}
		if largest == nil || len(shared) == total(largest[0]) {
			largest = append(largest, needs)
		}
		enough := true
		for kind, n := range needs {
			if least := &want[kind].Least; n > 0 && (*least == 0 || n < *least) {
				*least = n
			}
			enough = enough && n <= m.heldOf(kind)
			most[kind] = max(most[kind], n)
		}
		some = some || enough
	}
	for i := range needed {
		want[m.kinds[i]].Required++
	}
	parts := make([]int, len(want))
	for kind := range want {
		if got := m.pool.Largest(kind); got != most[kind] {
			t.Fatalf("a region needs %d slots of kind %d at most, want %d", got, kind, most[kind])
		}
		parts[kind] = m.pool.Demand(kind).Part
		want[kind].Part = parts[kind]
	}
	if total(parts) > 0 && !slices.ContainsFunc(largest, func(needs []int) bool { return slices.Equal(needs, parts) }) || open > 0 && total(parts) == 0 {
		t.Fatalf("the largest part needs %v, want one of %v", parts, largest)
	}
	surplus := false
	for kind := range want {
		want[kind].Held = m.heldOf(kind)
		if got := m.pool.Demand(kind); got != want[kind] || got.Required > m.required[kind] {
			t.Fatalf("kind %d: %+v, want %+v, and before that %d were required", kind, got, want[kind], m.required[kind])
		}
		m.required[kind] = want[kind].Required
		surplus = surplus || want[kind].Held > want[kind].Required
	}
	got := make(map[ids.AllocationID]ids.ResourceID)
	for _, s := range m.pool.Slots() {
		got[s.Allocation] = s.Resource
	}
	if diff := cmp.Diff(m.held, got); diff != "" || m.pool.Total().Held != len(m.held) {
		t.Fatalf("pool holds %d; slots differ (-model +pool):\n%s", m.pool.Total().Held, diff)
	}
	if free := len(m.free()); m.pool.Free() != free {
		t.Fatalf("%d slots are free, want %d", m.pool.Free(), free)
	}
	standing := m.standing()
	for i := range needed {
		slot, runs := m.pool.At(i)
		if want, stands := standing[i]; runs != stands || slot.Allocation != want {
			t.Fatalf("shared slot %d is %v (%t), want %q", i, slot, runs, want)
		}
	}
	if since, idle := m.pool.IdleSince(); idle != surplus || since.After(m.now) {
		t.Fatalf("idle since %s (%t) at %s with %v", since, idle, m.now, want)
	}
	if since, starved := m.pool.StarvedSince(); starved != (open > 0 && !some) || starved && (since.Before(m.came) || since.After(m.now)) {
		t.Fatalf("no slot circulates since %s (%t) at %s: %v, the last one came at %s", since, starved, m.now, want, m.came)
	}
}

func total(slots []int) (sum int) {
	for _, n := range slots {
		sum += n
	}
	return sum
}
