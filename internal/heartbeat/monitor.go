// Package heartbeat tells which peers have been silent for too long. It is pure:
// it owns no timer, no goroutine and no clock, imports nothing of ours, and
// gives the same answers to the same calls.
package heartbeat

import (
	"container/heap"
	"time"
)

// Monitor keeps a deadline for each peer: the time it was heard of last, and the
// timeout. A role needs one timer, for Next. The methods cost O(log peers); they
// are not safe for concurrent use.
type Monitor[ID comparable] struct {
	timeout time.Duration
	peers   map[ID]*entry[ID]
	queue   queue[ID]
	order   uint64
}

type entry[ID comparable] struct {
	id       ID
	deadline time.Time
	order    uint64 // of Seen, so that equal deadlines expire in a fixed order
	index    int    // in the queue
}

// NewMonitor makes a monitor; a peer that is not seen for timeout has expired.
func NewMonitor[ID comparable](timeout time.Duration) *Monitor[ID] {
	return &Monitor[ID]{timeout: timeout, peers: make(map[ID]*entry[ID])}
}

// Seen notes a sign of life. A peer that is not known yet is from now on. A time
// before the last one changes nothing.
func (m *Monitor[ID]) Seen(id ID, now time.Time) {
	deadline := now.Add(m.timeout)
	m.order++
	e, known := m.peers[id]
	if !known {
		e = &entry[ID]{id: id, deadline: deadline, order: m.order}
		m.peers[id] = e
		heap.Push(&m.queue, e)
		return
	}
	if deadline.After(e.deadline) {
		e.deadline, e.order = deadline, m.order
		heap.Fix(&m.queue, e.index)
	}
}

// LastSeen is when a peer was heard of last.
func (m *Monitor[ID]) LastSeen(id ID) (time.Time, bool) {
	e, known := m.peers[id]
	if !known {
		return time.Time{}, false
	}
	return e.deadline.Add(-m.timeout), true
}

// Forget drops a peer, which never expires then.
func (m *Monitor[ID]) Forget(id ID) {
	if e, known := m.peers[id]; known {
		heap.Remove(&m.queue, e.index)
		delete(m.peers, id)
	}
}

// Expired gives the peers whose deadline has come, the longest silent first, and
// forgets them.
func (m *Monitor[ID]) Expired(now time.Time) []ID {
	var expired []ID
	for len(m.queue) > 0 && !m.queue[0].deadline.After(now) {
		e := heap.Pop(&m.queue).(*entry[ID])
		delete(m.peers, e.id)
		expired = append(expired, e.id)
	}
	return expired
}

// Next is the nearest deadline, if there is any peer.
func (m *Monitor[ID]) Next() (time.Time, bool) {
	if len(m.queue) == 0 {
		return time.Time{}, false
	}
	return m.queue[0].deadline, true
}

// queue is a heap by deadline.
type queue[ID comparable] []*entry[ID]

func (q queue[ID]) Len() int { return len(q) }

func (q queue[ID]) Less(i, j int) bool {
	if !q[i].deadline.Equal(q[j].deadline) {
		return q[i].deadline.Before(q[j].deadline)
	}
	return q[i].order < q[j].order
}

func (q queue[ID]) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue[ID]) Push(x any) {
	e := x.(*entry[ID])
	e.index = len(*q)
	*q = append(*q, e)
}

func (q *queue[ID]) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
