package failover

import (
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// BlockTime is how long a node is set aside, 10 min. By then YARN itself avoids the node if its
	// disks are full or broken, which the NodeManager checks every 2 min
	// (yarn.nodemanager.disk-health-checker.interval-ms), or if it is silent, which the
	// ResourceManager notices after 10 min (yarn.nm.liveness-monitor.expiry-interval-ms). A node
	// with another fault is tried again; this costs two hosts that do not start.
	BlockTime = 10 * time.Minute
	// maxBlocked bounds the nodes that are set aside. Only the last ones are kept.
	maxBlocked = 64
	// maxWhole bounds the nodes whose causes are kept whole. Of older causes only the last maxEnd
	// bytes are kept. Each block sends all causes, and they count in the memory of a job.
	maxWhole, maxEnd = 8, 128
)

// Blocklist holds the nodes that a job has set aside, each for a while; Flink's
// blocklist. Its zero value is empty.
type Blocklist struct {
	nodes  []block   // by the time of the block, the newest last
	lifted time.Time // the time given to Lift; zero: a node was blocked after that
}

// block is a node that is set aside.
type block struct {
	msg.BlockedNode
	full bool // its worker has no room for the job
}

// Block sets a node aside until then.
func (b *Blocklist) Block(until time.Time, node, cause string) msg.BlockedNode {
	return b.block(until, node, cause, false)
}

// BlockFull sets a node aside whose worker is full. It says nothing about the job: Other does not give it.
func (b *Blocklist) BlockFull(until time.Time, node, cause string) msg.BlockedNode {
	return b.block(until, node, cause, true)
}

func (b *Blocklist) block(until time.Time, node, cause string, full bool) msg.BlockedNode {
	blocked := msg.BlockedNode{Node: node, Cause: cause, Until: until}
	b.nodes = slices.DeleteFunc(b.nodes, func(n block) bool { return n.Node == node })
	b.nodes = append(b.nodes, block{blocked, full})
	b.nodes = slices.Delete(b.nodes, 0, max(0, len(b.nodes)-maxBlocked))
	for i := range max(0, len(b.nodes)-maxWhole) {
		b.nodes[i].Cause = end(b.nodes[i].Cause)
	}
	b.lifted = time.Time{}
	return blocked
}

// end gives the end of a cause, which says what went wrong.
func end(cause string) string {
	if len(cause) <= maxEnd {
		return cause
	}
	const dots = "…"
	return dots + strings.ToValidUTF8(cause[len(cause)-maxEnd+len(dots):], "")
}

// Blocks tells whether a node is set aside.
func (b *Blocklist) Blocks(node string) bool {
	return slices.ContainsFunc(b.nodes, func(n block) bool { return n.Node == node })
}

// Other gives the node that was set aside last, except for the named one and those whose workers are
// full; false if there is none.
func (b *Blocklist) Other(node string) (msg.BlockedNode, bool) {
	for _, n := range slices.Backward(b.nodes) {
		if n.Node != node && !n.full {
			return n.BlockedNode, true
		}
	}
	return msg.BlockedNode{}, false
}

// Empty tells whether no node is set aside.
func (b *Blocklist) Empty() bool { return len(b.nodes) == 0 }

// Nodes lists the nodes that are set aside, the newest block last.
func (b *Blocklist) Nodes() (nodes []msg.BlockedNode) {
	for _, n := range b.nodes {
		nodes = append(nodes, n.BlockedNode)
	}
	return nodes
}

// Lift ends all blocks at the given time at the latest, because no other node serves the job.
func (b *Blocklist) Lift(at time.Time) {
	b.lifted = at
	for i := range b.nodes {
		if at.Before(b.nodes[i].Until) {
			b.nodes[i].Until = at
		}
	}
}

// Lifted is the time that was given to Lift; zero if a node was blocked after that.
func (b *Blocklist) Lifted() time.Time { return b.lifted }

// Expire ends the blocks whose time has passed, and tells whether there were any.
func (b *Blocklist) Expire(now time.Time) bool {
	before := len(b.nodes)
	b.nodes = slices.DeleteFunc(b.nodes, func(n block) bool { return !now.Before(n.Until) })
	return len(b.nodes) < before
}

// Next is when the next block ends; false while there is none.
func (b *Blocklist) Next() (next time.Time, blocked bool) {
	for _, n := range b.nodes {
		if next.IsZero() || n.Until.Before(next) {
			next = n.Until
		}
	}
	return next, len(b.nodes) > 0
}
