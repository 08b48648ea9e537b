// Package subtasks encodes what is known of the subtasks of a vertex in few bytes: some 50 for a subtask that ran once. So
// a job can keep them after its end, and a commit record can have them.
//
// The package is plain data: it starts no goroutines, and imports only ids and msg.
package subtasks

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// worker is where an execution runs.
type worker struct {
	resource ids.ResourceID
	node     string
}

// encoder appends subtasks. Texts of workers come once.
type encoder struct {
	data    []byte
	workers []worker
	index   map[worker]int // of workers
	last    int64          // the time that was appended last
}

// Encode returns the bytes of subtasks, in their order; nil for none. Numbers are uvarints, and those marked ± are varints
// (encoding/binary). A text follows its length.
//
//	┌─────────┬─────────────────────────┬──────────┬─────────────────────────────────────────────┐
//	│ workers │ of each: resource, node │ subtasks │ of each: attempt, earlier, earlier attempts │
//	└─────────┴─────────────────────────┴──────────┴─────────────────────────────────────────────┘
//
// An attempt has its number, the index of its state, one more than the index of its worker, when it entered its states, ± its
// traffic, and ± its times in ms. A point in time is 0 for never, or one more than the distance to the time before it, whose sign is the lowest bit.
func Encode(tasks []msg.Subtask) []byte {
	if len(tasks) == 0 {
		return nil
	}
	e := encoder{index: make(map[worker]int)}
	for i := range tasks {
		e.meet(&tasks[i].TaskAttempt)
		for k := range tasks[i].Earlier {
			e.meet(&tasks[i].Earlier[k])
		}
	}
	e.number(len(e.workers))
	for _, w := range e.workers {
		e.text(string(w.resource))
		e.text(w.node)
	}
	e.number(len(tasks))
	for i := range tasks {
		e.attempt(&tasks[i].TaskAttempt)
		e.number(len(tasks[i].Earlier))
		for k := range tasks[i].Earlier {
			e.attempt(&tasks[i].Earlier[k])
		}
	}
	return slices.Clip(e.data)
}

// meet adds the worker of an attempt to the table.
func (e *encoder) meet(a *msg.TaskAttempt) {
	w := worker{a.Resource, a.Node}
	if _, known := e.index[w]; !known && w != (worker{}) {
		e.index[w] = len(e.workers)
		e.workers = append(e.workers, w)
	}
}

func (e *encoder) attempt(a *msg.TaskAttempt) {
	e.number(a.Number)
	e.number(a.State.Index())
	if w := (worker{a.Resource, a.Node}); w == (worker{}) {
		e.number(0)
	} else {
		e.number(e.index[w] + 1)
	}
	for _, ms := range a.Entered {
		if ms == 0 {
			e.number(0)
			continue
		}
		distance := ms - e.last
		e.data = binary.AppendUvarint(e.data, (uint64(distance)<<1^uint64(distance>>63))+1)
		e.last = ms
	}
	for _, n := range traffic(&a.Traffic) {
		e.data = binary.AppendVarint(e.data, *n)
	}
	for _, d := range times(&a.Times) {
		e.data = binary.AppendVarint(e.data, d.Milliseconds())
	}
}

func (e *encoder) number(n int) { e.data = binary.AppendUvarint(e.data, uint64(n)) }

func (e *encoder) text(s string) {
	e.number(len(s))
	e.data = append(e.data, s...)
}

// traffic returns the numbers of a Traffic in their order.
func traffic(t *msg.Traffic) [6]*int64 {
	return [...]*int64{&t.ReadRecords, &t.WriteRecords, &t.ReadBytes, &t.WriteBytes, &t.ReadBuffers, &t.WriteBuffers}
}

// times returns the parts of TaskTimes in their order.
func times(t *msg.TaskTimes) [3]*time.Duration {
	return [...]*time.Duration{&t.Busy, &t.Idle, &t.BackPressured}
}
