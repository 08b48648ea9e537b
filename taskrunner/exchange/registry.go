package exchange

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// registry knows the host's partitions and who reads them here, and who waits for
// one that is not deployed yet.
type registry struct {
	host ids.HostID

	mu         sync.Mutex // guards all below
	partitions map[PartitionID]*ResultPartition
	waiting    map[PartitionID][]waiter
	// ended has the last attempt's partition of each output of each subtask, once it is
	// no more, for consumers that come later.
	ended  map[outputID]ending
	edges  map[edge]*readers
	closed bool
}

// outputID names an output over all attempts of its subtask.
type outputID struct {
	edge
	subtask int
}

// ending is how a partition ended: drained (nil), or failed.
type ending struct {
	partition PartitionID
	err       error
}

// readers are those of an edge whose consumers and producers run on this host.
type readers struct {
	groups map[*Sources]*group
	gates  map[int]*InputGate // by channel, the one that came last
	// offers are channels in use for which no gate has come: by channel. Consumers of
	// other hosts ask for theirs.
	offers map[int]map[*subpartition]struct{}
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

func newRegistry(host ids.HostID) *registry {
	return &registry{
		host:       host,
		partitions: make(map[PartitionID]*ResultPartition), waiting: make(map[PartitionID][]waiter),
		ended: make(map[outputID]ending), edges: make(map[edge]*readers),
	}
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

// announce says that a partition's task uses no further channel.
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
		r.tidy(p.id.edge(), g)
	}
}

// remove forgets a partition that has ended, drained or with an error; false when it
// was not known.
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
	if last := r.ended[p.id.output()].partition; last.Execution.Attempt <= p.id.Execution.Attempt {
		r.ended[p.id.output()] = ending{p.id, err}
	}
	for _, s := range used {
		r.withdraw(s)
	}
	if p.announced { // what it has used is told for each channel
		return true
	}
	for _, g := range r.groupsOf(p) {
		g.fail(p.id.Execution.Subtask, err)
		r.tidy(p.id.edge(), g)
	}
	return true
}

func (p PartitionID) output() outputID { return outputID{p.edge(), p.Execution.Subtask} }

// groupsOf lists those who read a partition.
func (r *registry) groupsOf(p *ResultPartition) (groups []*group) {
	if e := r.edges[p.id.edge()]; e != nil {
		for _, g := range e.groups {
			if g.expects(p.id) {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// request answers by with a channel of the partition, once it is there, or
// refuses after the deadline.
func (r *registry) request(id PartitionID, channel int, by requester, deadline time.Time) {
	r.mu.Lock()
	p, known := r.partitions[id]
	closed := r.closed
	last, over := r.ended[id.output()]
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
	case over: // it had nothing for this consumer, or would be there
		by.attach(drained(id))
	}
}

// connect gives a channel to a consumer that has asked for it.
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

// readersOf gives the readers of an edge, from now on known.
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

// offer brings a channel that is used for the first time to its gate, if that is on
// this host and there.
func (r *registry) offer(s *subpartition) {
	r.mu.Lock()
	if r.closed || r.partitions[s.partition.id] != s.partition {
		r.mu.Unlock()
		return
	}
	e := r.readersOf(s.partition.id.edge())
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

// withdraw takes back an offer, if there is one.
func (r *registry) withdraw(s *subpartition) {
	if !s.offered {
		return
	}
	s.offered = false
	id := s.partition.id.edge()
	e := r.edges[id]
	delete(e.offers[s.channel], s)
	if len(e.offers[s.channel]) == 0 {
		delete(e.offers, s.channel)
	}
	r.forget(id, e)
}

// enter makes a gate known to the producers of this host, and gives it what they have
// for it already.
func (r *registry) enter(gate *InputGate, sources *Sources, deadline time.Time) {
	id := sources.producers[0].Partition.edge()
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
	gate.others.notify() // all may have ended before it came
}

// survey finds out about the producers that there are or were.
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
		} else if last, over := r.ended[id.output()]; over && last.partition == id {
			g.known++
			if last.err != nil {
				g.fail(i, last.err)
			} else {
				g.ended++
			}
		}
	}
}

// leave takes in that a gate is closed.
func (r *registry) leave(gate *InputGate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gate.group.open--
	r.tidy(gate.group.sources.producers[0].Partition.edge(), gate.group)
}

// tidy forgets a group that has ended, with its gates: until then they turn away what
// producers still have for them.
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

// forget forgets an edge of which there is nothing left.
func (r *registry) forget(id edge, e *readers) {
	if len(e.groups) == 0 && len(e.offers) == 0 {
		delete(r.edges, id)
	}
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

// made tells whether a partition is there, or was.
func (r *registry) made(id PartitionID) bool {
	return r.partitions[id] != nil || r.ended[id.output()].partition == id
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
