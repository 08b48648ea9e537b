package exchange

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Sources are the producers of an edge that connects each of them with each
// consumer. The gates of one host that read such an edge share them: what all have
// in common, above all the producers that have nothing for a consumer, costs them
// nothing.
type Sources struct {
	producers []Producer // by subtask; the channel is each gate's own
	remote    []int      // subtasks on other hosts
}

// NewSources takes the producers by subtask, from 0; their Channel does not count. The gates
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

// Producer gives a subtask as consumer channel reads it.
func (s *Sources) Producer(subtask, channel int) Producer {
	p := s.producers[subtask]
	p.Channel = channel
	return p
}

// Len is the number of producers.
func (s *Sources) Len() int { return len(s.producers) }

// edge is the output of a vertex, as the exchange names it.
type edge struct{ vertex, output int }

func (p PartitionID) edge() edge { return edge{p.Execution.Vertex, p.Output} }

// group is what the gates of this host that share Sources know of those of their
// producers that run on it, too: how many will not begin another channel, or that one
// failed. A channel that such a producer uses is handed to its gate when it begins.
// The registry's mutex guards it.
type group struct {
	sources *Sources
	host    ids.HostID
	local   int // producers of this host
	known   int // of these, producers whose partition was made
	ended   int // of these, producers that use no further channel

	deadline time.Time    // until when all should be known
	failed   int          // subtask of the producer by which the input is lost
	err      error        // why, or nil
	gates    []*InputGate // each that was ever made
	open     int          // of these, gates that are not closed
}

func newGroup(s *Sources, host ids.HostID, deadline time.Time) *group {
	return &group{sources: s, host: host, local: len(s.producers) - len(s.remote), deadline: deadline}
}

// expects tells whether a partition of this host is one that the gates read.
func (g *group) expects(p PartitionID) bool {
	i := p.Execution.Subtask
	return i >= 0 && i < len(g.sources.producers) &&
		g.sources.producers[i].Partition == p && g.sources.producers[i].Host == g.host
}

// complete tells whether the gates have heard the last of the group.
func (g *group) complete() bool { return g.err != nil || g.ended == g.local }

// fail takes in why a producer's data will not come.
func (g *group) fail(subtask int, err error) {
	if !g.complete() {
		g.failed, g.err = subtask, err
		g.tell()
	}
}

// tell has the gates look at the group.
func (g *group) tell() {
	for _, gate := range g.gates {
		gate.others.notify()
	}
}

// missing gives a producer whose partition nobody made.
func (g *group) missing(made func(PartitionID) bool) int {
	for i, p := range g.sources.producers {
		if p.Host == g.host && !made(p.Partition) {
			return i
		}
	}
	return 0
}

// groupSource is a gate's end of its group: it ends when no producer of the host
// begins another channel, and gives nothing before that.
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

func (s *groupSource) close() { s.registry.leave(s.channel.gate) }

// errNotDeployed is why a partition does not come.
func errNotDeployed(id PartitionID) error {
	return fmt.Errorf("partition %s was not deployed in time, or has ended", id)
}
