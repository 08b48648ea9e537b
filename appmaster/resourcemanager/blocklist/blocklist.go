// Package blocklist is the ResourceManager's copy of the nodes that jobs have set aside. It decides
// which slots a job must not get, which nodes YARN should avoid for new workers, and whether a job
// has any node left. JobMasters own the lists and their times. Each JobMaster sends its whole list,
// and sends it again when a block ends.
//
// A Blocklist is plain state that the ResourceManager's core owns: no I/O, no clock, no goroutine,
// no lock, and nothing that depends on map order. It must never import a role, a provider or
// anything that talks to a peer.
package blocklist

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Blocklist holds the nodes that jobs have blocked. Make it with New.
type Blocklist struct {
	jobs map[ids.JobID][]msg.BlockedNode // of each job that blocks any node
}

// New makes an empty Blocklist.
func New() *Blocklist { return &Blocklist{jobs: make(map[ids.JobID][]msg.BlockedNode)} }

// Set replaces the list of a job. The list of a job that has ended is empty.
func (b *Blocklist) Set(job ids.JobID, nodes []msg.BlockedNode) {
	if len(nodes) == 0 {
		delete(b.jobs, job)
		return
	}
	b.jobs[job] = slices.Clone(nodes)
}

// Blocks tells whether a job wants no slots of a node.
func (b *Blocklist) Blocks(job ids.JobID, node string) bool {
	return slices.ContainsFunc(b.jobs[job], func(n msg.BlockedNode) bool { return n.Node == node })
}

// Empty tells whether no job blocks any node.
func (b *Blocklist) Empty() bool { return len(b.jobs) == 0 }

// Any tells whether a job blocks any node.
func (b *Blocklist) Any(job ids.JobID) bool { return len(b.jobs[job]) > 0 }

// Exhausted tells whether a job has blocked every node that could have its workers. It is false
// while no node is known. known names each node once. If it has more nodes than the job has blocked, none needs a look.
func (b *Blocklist) Exhausted(job ids.JobID, known []string) bool {
	return len(known) > 0 && len(known) <= len(b.jobs[job]) &&
		!slices.ContainsFunc(known, func(node string) bool { return !b.Blocks(job, node) })
}

// Common lists the nodes that all of these jobs have blocked, by name: a worker there could serve
// none of them.
func (b *Blocklist) Common(jobs []ids.JobID) []string {
	if len(jobs) == 0 {
		return nil
	}
	var common []string
	for _, n := range b.jobs[jobs[0]] {
		if !slices.ContainsFunc(jobs[1:], func(job ids.JobID) bool { return !b.Blocks(job, n.Node) }) {
			common = append(common, n.Node)
		}
	}
	slices.Sort(common)
	return common
}

// Nodes lists the nodes that any job has blocked, by name, each with the block that ends last. It
// is for users.
func (b *Blocklist) Nodes() []msg.BlockedNode {
	last := make(map[string]msg.BlockedNode)
	for _, job := range slices.Sorted(maps.Keys(b.jobs)) {
		for _, n := range b.jobs[job] {
			if other, known := last[n.Node]; !known || other.Until.Before(n.Until) {
				last[n.Node] = n
			}
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b msg.BlockedNode) int { return cmp.Compare(a.Node, b.Node) })
}

// Changes gives the nodes to add to YARN's blacklist, and those to remove, when the list changes
// from before to after.
func Changes(before, after []string) (avoid, dontAvoid []string) {
	missing := func(list, from []string) (nodes []string) {
		for _, node := range list {
			if !slices.Contains(from, node) {
				nodes = append(nodes, node)
			}
		}
		return nodes
	}
	return missing(after, before), missing(before, after)
}
