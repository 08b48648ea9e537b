package slotpool

import (
	"cmp"
	"container/heap"
	"slices"
)

// Balance makes the pool spread tasks over workers: shared slots with the most tasks of a region come first,
// and get the worker with the fewest tasks of the job (taskmanager.load-balance.mode TASKS). tasks has the
// number of tasks of each region in each of its shared slots. Call it before the first Assign.
func (p *Pool) Balance(tasks [][]int) { p.tasks = tasks }

// order lists the positions of a region's shared slots in which start fills them. nil: as they are.
func (p *Pool) order(r int) []int {
	if p.tasks == nil {
		return nil
	}
	order := make([]int, len(p.regions[r].shared))
	for at := range order {
		order[at] = at
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if first := cmp.Compare(p.lacks(r, a), p.lacks(r, b)); first != 0 {
			return first // what is placed already counts before the rest is placed
		}
		return cmp.Compare(p.tasks[r][b], p.tasks[r][a])
	})
	return order
}

// lacks is 1 if the shared slot at a position of a region has no slot, otherwise 0.
func (p *Pool) lacks(r, at int) int {
	if p.shared[p.regions[r].shared[at]].slot == nil {
		return 1
	}
	return 0
}

// next is the usable slot for the next shared slot of a region that has taken some of this kind already.
func (p *Pool) next(of *stock) *slot {
	if p.tasks == nil {
		return of.usable[len(of.taken)]
	}
	if of.loads == nil {
		of.loads = newLoads(of.usable)
	}
	return of.loads.take()
}

// load counts the tasks of a region that now run in a slot of a worker.
func (p *Pool) load(w *worker, r, at int) {
	if p.tasks != nil {
		w.tasks += p.tasks[r][at]
		for k := range p.kinds {
			p.kinds[k].loads.changed(w)
		}
	}
}

// unload counts that these tasks do not run there any more.
func (p *Pool) unload(w *worker, r, at int) {
	if p.tasks != nil {
		w.tasks -= p.tasks[r][at]
	}
}

// loads is a heap of the workers with usable slots: the one with the fewest tasks is the first, and of several
// the one whose slot was offered first. It is made for one Assign, so its cost does not depend on the other
// slots of the job.
type loads struct {
	workers []*loaded
	of      map[*worker]*loaded
}

// loaded is a worker in a heap.
type loaded struct {
	*worker
	usable queue
	at     int // its place
}

func newLoads(usable queue) *loads {
	l := &loads{of: make(map[*worker]*loaded)}
	for _, s := range usable {
		w := l.of[s.worker]
		if w == nil {
			w = &loaded{worker: s.worker, at: len(l.workers)}
			l.of[s.worker] = w
			l.workers = append(l.workers, w)
		}
		w.usable = append(w.usable, s)
	}
	heap.Init(l)
	return l
}

// take removes the best slot. Its worker's place is corrected when its tasks are counted.
func (l *loads) take() *slot {
	w := l.workers[0]
	s := w.usable[0]
	if w.usable = w.usable[1:]; len(w.usable) == 0 {
		heap.Pop(l)
		delete(l.of, w.worker)
	}
	return s
}

// changed corrects the place of a worker with other tasks.
func (l *loads) changed(w *worker) {
	if l == nil {
		return
	}
	if w := l.of[w]; w != nil {
		heap.Fix(l, w.at)
	}
}

// Len implements heap.Interface.
func (l *loads) Len() int { return len(l.workers) }

// Less implements heap.Interface.
func (l *loads) Less(i, j int) bool {
	a, b := l.workers[i], l.workers[j]
	return cmp.Or(cmp.Compare(a.tasks, b.tasks), cmp.Compare(a.usable[0].sequence, b.usable[0].sequence)) < 0
}

// Swap implements heap.Interface.
func (l *loads) Swap(i, j int) {
	l.workers[i], l.workers[j] = l.workers[j], l.workers[i]
	l.workers[i].at, l.workers[j].at = i, j
}

// Push implements heap.Interface. Nothing pushes: newLoads adds all workers.
func (l *loads) Push(w any) { l.workers = append(l.workers, w.(*loaded)) }

// Pop implements heap.Interface.
func (l *loads) Pop() any {
	last := len(l.workers) - 1
	w := l.workers[last]
	l.workers = l.workers[:last]
	return w
}
