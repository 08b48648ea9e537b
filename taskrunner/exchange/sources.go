package exchange

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Sources are the producers of an edge that connects each producer with each consumer. The gates of
// one host that read the edge share them. So common state, mainly about producers without data for
// a consumer, is not kept for each gate.
type Sources struct {
	producers []Producer // by subtask; each gate has its own channel
	remote    []int      // subtasks on other hosts
}

// NewSources makes Sources of the producers, by subtask from 0. It ignores their Channel. The gates
// are on host own.
func NewSources(own ids.HostID, producers []Producer) *Sources {
	s := &Sources{producers: producers}
	for i, p := range producers {
		if p.Host != own {
			s.remote = append(s.remote, i)
		}
	}
	return s
}

// Producer gives the producer of a subtask with this channel.
func (s *Sources) Producer(subtask, channel int) Producer {
	p := s.producers[subtask]
	p.Channel = channel
	return p
}

// Len is the number of producers.
func (s *Sources) Len() int { return len(s.producers) }

// edge is an output of a vertex.
type edge struct{ vertex, output int }

func edgeOf(p PartitionID) edge { return edge{p.Execution.Vertex, p.Output} }

// group is the state that gates with the same Sources share about those producers that run on the
// same host: how many will use no further channel, or that one has failed. A channel that such a
// producer uses goes directly to its gate. The registry's mutex guards the group.
type group struct {
	sources *Sources
	host    ids.HostID
	local   int // producers of this host
	known   int // local producers whose partition was made
	ended   int // local producers that use no further channel

	deadline time.Time    // by then all must be known
	failed   int          // subtask of the producer that failed
	err      error        // why, or nil
	gates    []*InputGate // all gates that were ever made
	open     int          // gates that are not closed
}

func newGroup(s *Sources, host ids.HostID, deadline time.Time) *group {
	return &group{sources: s, host: host, local: len(s.producers) - len(s.remote), deadline: deadline}
}

// expects tells whether the gates read this partition of this host.
func (g *group) expects(p PartitionID) bool {
	i := p.Execution.Subtask
	return i >= 0 && i < len(g.sources.producers) &&
		g.sources.producers[i].Partition == p && g.sources.producers[i].Host == g.host
}

// complete tells whether the group has failed, or all its producers have ended.
func (g *group) complete() bool { return g.err != nil || g.ended == g.local }

// fail records why a producer's data will not come.
func (g *group) fail(subtask int, err error) {
	if !g.complete() {
		g.failed, g.err = subtask, err
		g.tell()
	}
}

// tell makes the gates look at the group.
func (g *group) tell() {
	for _, gate := range g.gates {
		gate.others.notify()
	}
}

// missing gives a producer whose partition was not made.
func (g *group) missing(made func(PartitionID) bool) int {
	for i, p := range g.sources.producers {
		if p.Host == g.host && !made(p.Partition) {
			return i
		}
	}
	return 0
}

// groupSource is the source of a gate for its group. It gives no buffers, and ends when no producer
// of this host uses a further channel.
type groupSource struct {
	registry *registry
	channel  *inputChannel
	group    *group
}

func (s *groupSource) take() (delivery, error) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	if err := s.group.err; err != nil {
		s.channel.producer = s.group.sources.Producer(s.group.failed, s.channel.gate.channel)
		return delivery{}, err
	}
	return delivery{end: s.group.complete()}, nil
}

func (s *groupSource) recycle(*buffer) {}

func (s *groupSource) usage() (u channelUsage, own bool) { return channelUsage{}, false }

func (s *groupSource) close() { s.registry.leave(s.channel.gate) }

// errNotDeployed is the error for a partition that does not come.
func errNotDeployed(id PartitionID) error {
	return fmt.Errorf("partition %s was not deployed in time, or has ended", id)
}
