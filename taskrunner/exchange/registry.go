package exchange

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// registry knows the host's partitions, and who waits for one that is not
// deployed yet.
type registry struct {
	mu         sync.Mutex // guards all below
	partitions map[PartitionID]*ResultPartition
	waiting    map[PartitionID][]waiter
	closed     bool
}

// requester asks for one channel of a partition and gets exactly one answer,
// possibly before request returns.
type requester interface {
	attach(s *subpartition)
	refuse(err error)
}

type waiter struct {
	requester
	channel  int
	deadline time.Time
}

func newRegistry() *registry {
	return &registry{partitions: make(map[PartitionID]*ResultPartition), waiting: make(map[PartitionID][]waiter)}
}

// add makes a partition known and gives its channels to those who wait for it.
func (r *registry) add(p *ResultPartition) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	if _, known := r.partitions[p.id]; known {
		r.mu.Unlock()
		return fmt.Errorf("add partition %s: it exists", p.id)
	}
	r.partitions[p.id] = p
	waiting := r.waiting[p.id]
	delete(r.waiting, p.id)
	r.mu.Unlock()
	for _, w := range waiting {
		connect(p, w.channel, w.requester)
	}
	return nil
}

// remove forgets a partition; false when it was not known.
func (r *registry) remove(p *ResultPartition) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.partitions[p.id] == p
	if known {
		delete(r.partitions, p.id)
	}
	return known
}

// request answers by with a channel of the partition, once it is there, or
// refuses after the deadline.
func (r *registry) request(id PartitionID, channel int, by requester, deadline time.Time) {
	r.mu.Lock()
	p, known := r.partitions[id]
	closed := r.closed
	if !known && !closed {
		r.waiting[id] = append(r.waiting[id], waiter{by, channel, deadline})
	}
	r.mu.Unlock()
	switch {
	case closed:
		by.refuse(ErrClosed)
	case known:
		connect(p, channel, by)
	}
}

func connect(p *ResultPartition, channel int, by requester) {
	if channel < 0 || channel >= len(p.channels) {
		by.refuse(fmt.Errorf("request channel %d of partition %s, which has %d", channel, p.id, len(p.channels)))
		return
	}
	by.attach(&p.channels[channel])
}

// expire refuses what has waited until its deadline.
func (r *registry) expire(now time.Time) {
	late := make(map[PartitionID][]waiter)
	r.mu.Lock()
	for id, waiting := range r.waiting {
		r.waiting[id] = slices.DeleteFunc(waiting, func(w waiter) bool {
			if w.deadline.After(now) {
				return false
			}
			late[id] = append(late[id], w)
			return true
		})
		if len(r.waiting[id]) == 0 {
			delete(r.waiting, id)
		}
	}
	r.mu.Unlock()
	for id, waiting := range late {
		for _, w := range waiting {
			w.refuse(fmt.Errorf("partition %s was not deployed in time, or has ended", id))
		}
	}
}

// list gives the partitions of this moment, in no order.
func (r *registry) list() []*ResultPartition {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*ResultPartition, 0, len(r.partitions))
	for _, p := range r.partitions {
		all = append(all, p)
	}
	return all
}

// close refuses all who wait, and whatever comes later.
func (r *registry) close() {
	r.mu.Lock()
	r.closed = true
	waiting := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	for _, ws := range waiting {
		for _, w := range ws {
			w.refuse(ErrClosed)
		}
	}
}
