package exchange

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// registry knows the partitions of the host, their readers on this host, and the requests for
// partitions that are not deployed yet.
type registry struct {
	host ids.HostID

	mu         sync.Mutex // guards all below
	partitions map[PartitionID]*ResultPartition
	waiting    map[PartitionID][]waiter
	// ended has, for each output of each subtask, the partition of the last attempt that has ended,
	// for later consumers.
	ended  map[outputID]ending
	edges  map[edge]*readers
	closed bool
}

// outputID names an output over all attempts of its subtask.
type outputID struct {
	edge
	subtask int
}

// ending is the end of a partition: drained (nil) or failed.
type ending struct {
	partition PartitionID
	err       error
}

// readers are the gates on this host that read an edge, and the channels that producers on this
// host offer them.
type readers struct {
	groups map[*Sources]*group
	gates  map[int]*InputGate // by channel; the newest gate of each
	// offers are used channels without a gate yet, by channel. Consumers on other hosts request
	// their channels.
	offers map[int]map[*subpartition]struct{}
}

// requester requests one channel of a partition and gets exactly one answer, possibly before
// request returns.
type requester interface {
	attach(s *subpartition)
	refuse(err error)
}

type waiter struct {
	requester
	channel  int
	deadline time.Time
}

func newRegistry(host ids.HostID) *registry {
	return &registry{
		host:       host,
		partitions: make(map[PartitionID]*ResultPartition), waiting: make(map[PartitionID][]waiter),
		ended: make(map[outputID]ending), edges: make(map[edge]*readers),
	}
}

// add adds a partition and gives its channels to waiting requesters.
func (r *registry) add(p *ResultPartition) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	if _, known := r.partitions[p.id]; known {
		r.mu.Unlock()
		return fmt.Errorf("add partition %s: it exists already", p.id)
	}
	r.partitions[p.id] = p
	for _, g := range r.groupsOf(p) {
		g.known++
	}
	waiting := r.waiting[p.id]
	delete(r.waiting, p.id)
	r.mu.Unlock()
	for _, w := range waiting {
		r.connect(p, w.channel, w.requester)
	}
	return nil
}

// announce says that the task of a partition uses no further channel.
func (r *registry) announce(p *ResultPartition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.announceLocked(p)
}

func (r *registry) announceLocked(p *ResultPartition) {
	if p.announced || r.partitions[p.id] != p {
		return
	}
	p.announced = true
	for _, g := range r.groupsOf(p) {
		if g.ended++; g.complete() {
			g.tell()
		}
		r.tidy(edgeOf(p.id), g)
	}
}

// remove removes a partition that has ended, drained or with an error; false if it was not known.
func (r *registry) remove(p *ResultPartition, used []*subpartition, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.partitions[p.id] != p {
		return false
	}
	if err == nil {
		r.announceLocked(p)
	}
	delete(r.partitions, p.id)
	if last := r.ended[outputOf(p.id)].partition; last.Execution.Attempt <= p.id.Execution.Attempt {
		r.ended[outputOf(p.id)] = ending{p.id, err}
	}
	for _, s := range used {
		r.withdraw(s)
	}
	if p.announced { // each used channel reports its own end
		return true
	}
	for _, g := range r.groupsOf(p) {
		g.fail(p.id.Execution.Subtask, err)
		r.tidy(edgeOf(p.id), g)
	}
	return true
}

func outputOf(p PartitionID) outputID { return outputID{edgeOf(p), p.Execution.Subtask} }

// groupsOf lists the groups that read a partition.
func (r *registry) groupsOf(p *ResultPartition) (groups []*group) {
	if e := r.edges[edgeOf(p.id)]; e != nil {
		for _, g := range e.groups {
			if g.expects(p.id) {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// request gives the requester a channel of the partition when the partition is there, or refuses
// after the deadline.
func (r *registry) request(id PartitionID, channel int, by requester, deadline time.Time) {
	r.mu.Lock()
	p, known := r.partitions[id]
	closed := r.closed
	last, over := r.ended[outputOf(id)]
	over = over && last.partition == id
	if !known && !closed && !over {
		r.waiting[id] = append(r.waiting[id], waiter{by, channel, deadline})
	}
	r.mu.Unlock()
	switch {
	case closed:
		by.refuse(ErrClosed)
	case known:
		r.connect(p, channel, by)
	case over && last.err != nil:
		by.refuse(last.err)
	case over: // it had no data for this consumer: otherwise it would still be there
		by.attach(drained(id))
	}
}

// connect gives a channel to its requester.
func (r *registry) connect(p *ResultPartition, channel int, by requester) {
	if channel < 0 || channel >= p.width {
		by.refuse(fmt.Errorf("request channel %d of partition %s, which has %d channels", channel, p.id, p.width))
		return
	}
	s := p.use(channel)
	r.mu.Lock()
	r.withdraw(s)
	r.mu.Unlock()
	by.attach(s)
}

// readersOf gives the readers of an edge, and adds them if there are none.
func (r *registry) readersOf(e edge) *readers {
	known := r.edges[e]
	if known == nil {
		known = &readers{
			groups: make(map[*Sources]*group), gates: make(map[int]*InputGate),
			offers: make(map[int]map[*subpartition]struct{}),
		}
		r.edges[e] = known
	}
	return known
}

// offer gives a newly used channel to its gate, if the gate is on this host and exists. Otherwise
// it keeps the offer.
func (r *registry) offer(s *subpartition) {
	r.mu.Lock()
	if r.closed || r.partitions[s.partition.id] != s.partition {
		r.mu.Unlock()
		return
	}
	e := r.readersOf(edgeOf(s.partition.id))
	gate := e.gates[s.channel]
	if gate == nil || !gate.group.expects(s.partition.id) {
		gate = nil
		if e.offers[s.channel] == nil {
			e.offers[s.channel] = make(map[*subpartition]struct{})
		}
		e.offers[s.channel][s] = struct{}{}
		s.offered = true
	}
	r.mu.Unlock()
	if gate != nil {
		gate.join(s)
	}
}

// withdraw removes an offer, if there is one.
func (r *registry) withdraw(s *subpartition) {
	if !s.offered {
		return
	}
	s.offered = false
	id := edgeOf(s.partition.id)
	e := r.edges[id]
	delete(e.offers[s.channel], s)
	if len(e.offers[s.channel]) == 0 {
		delete(e.offers, s.channel)
	}
	r.forget(id, e)
}

// enter adds a gate, and gives it the channels that producers on this host already offer.
func (r *registry) enter(gate *InputGate, sources *Sources, deadline time.Time) {
	id := edgeOf(sources.producers[0].Partition)
	r.mu.Lock()
	e := r.readersOf(id)
	g := e.groups[sources]
	if g == nil {
		g = newGroup(sources, r.host, deadline)
		e.groups[sources] = g
		r.survey(g)
	}
	gate.group, gate.others.source = g, &groupSource{r, gate.others, g}
	g.gates = append(g.gates, gate)
	g.open++
	e.gates[gate.channel] = gate
	if r.closed {
		g.fail(0, ErrClosed)
	}
	var offered []*subpartition
	for s := range e.offers[gate.channel] {
		if g.expects(s.partition.id) {
			offered = append(offered, s)
		}
	}
	for _, s := range offered {
		r.withdraw(s)
	}
	r.mu.Unlock()
	for _, s := range offered {
		gate.join(s)
	}
	gate.others.notify() // all producers may have ended before
}

// survey counts the producers of a group that exist or have ended.
func (r *registry) survey(g *group) {
	for i, producer := range g.sources.producers {
		id := producer.Partition
		if !g.expects(id) {
			continue
		}
		if p := r.partitions[id]; p != nil {
			g.known++
			if p.announced {
				g.ended++
			}
		} else if last, over := r.ended[outputOf(id)]; over && last.partition == id {
			g.known++
			if last.err != nil {
				g.fail(i, last.err)
			} else {
				g.ended++
			}
		}
	}
}

// leave handles that a gate is closed.
func (r *registry) leave(gate *InputGate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gate.group.open--
	r.tidy(edgeOf(gate.group.sources.producers[0].Partition), gate.group)
}

// tidy removes a group that has ended, with its gates. Until then its closed gates release channels
// that producers offer.
func (r *registry) tidy(id edge, g *group) {
	if g.open > 0 || !g.complete() {
		return
	}
	e := r.edges[id]
	if e == nil || e.groups[g.sources] != g {
		return
	}
	delete(e.groups, g.sources)
	for _, gate := range g.gates {
		if e.gates[gate.channel] == gate {
			delete(e.gates, gate.channel)
		}
	}
	r.forget(id, e)
}

// forget removes an edge without groups and offers.
func (r *registry) forget(id edge, e *readers) {
	if len(e.groups) == 0 && len(e.offers) == 0 {
		delete(r.edges, id)
	}
}

// expire refuses requests whose deadline has passed.
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
	for id, e := range r.edges {
		for _, g := range e.groups {
			if !g.complete() && g.known < g.local && !g.deadline.After(now) {
				missing := g.missing(r.made)
				g.fail(missing, errNotDeployed(g.sources.producers[missing].Partition))
				r.tidy(id, g)
			}
		}
	}
	r.mu.Unlock()
	for id, waiting := range late {
		for _, w := range waiting {
			w.refuse(errNotDeployed(id))
		}
	}
}

// made tells whether a partition exists or has ended.
func (r *registry) made(id PartitionID) bool {
	return r.partitions[id] != nil || r.ended[outputOf(id)].partition == id
}

// list gives the current partitions, in no order.
func (r *registry) list() []*ResultPartition {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*ResultPartition, 0, len(r.partitions))
	for _, p := range r.partitions {
		all = append(all, p)
	}
	return all
}

// close refuses all waiting requests, and all later ones.
func (r *registry) close() {
	r.mu.Lock()
	r.closed = true
	waiting := r.waiting
	r.waiting = nil
	for id, e := range r.edges {
		for _, g := range e.groups {
			g.fail(0, ErrClosed)
			r.tidy(id, g)
		}
	}
	r.mu.Unlock()
	for _, ws := range waiting {
		for _, w := range ws {
			w.refuse(ErrClosed)
		}
	}
}
