package failover

import (
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// BlockTime is how long a node is set aside, 10 min. By then YARN keeps away from it by
	// itself if its disks are full or broken, which NodeManagers look for every 2 min
	// (yarn.nodemanager.disk-health-checker.interval-ms), or if it is silent, for which
	// the ResourceManager waits 10 min (yarn.nm.liveness-monitor.expiry-interval-ms). A
	// node with another fault is tried again at the price of two hosts that do not start.
	BlockTime = 10 * time.Minute
	// maxBlocked bounds the nodes that are set aside: of more, the last ones.
	maxBlocked = 64
	// maxWhole bounds the nodes whose causes are kept whole; of the others' causes the last
	// maxEnd bytes are. All are told with each block, and count in the memory of a job.
	maxWhole, maxEnd = 8, 128
)

// Blocklist holds the nodes that a job has set aside, each for a while; Flink's
// blocklist. Its zero value is empty.
type Blocklist struct {
	nodes  []msg.BlockedNode // the one that was blocked last is last
	lifted time.Time         // as given to Lift; zero: a node was blocked since
}

// Block sets a node aside for BlockTime from now on.
func (b *Blocklist) Block(now time.Time, node, cause string) msg.BlockedNode {
	blocked := msg.BlockedNode{Node: node, Cause: cause, Until: now.Add(BlockTime)}
	b.nodes = slices.DeleteFunc(b.nodes, func(n msg.BlockedNode) bool { return n.Node == node })
	b.nodes = append(b.nodes, blocked)
	b.nodes = slices.Delete(b.nodes, 0, max(0, len(b.nodes)-maxBlocked))
	for i := range max(0, len(b.nodes)-maxWhole) {
		b.nodes[i].Cause = end(b.nodes[i].Cause)
	}
	b.lifted = time.Time{}
	return blocked
}

// end gives the end of a cause, which tells what went wrong.
func end(cause string) string {
	if len(cause) <= maxEnd {
		return cause
	}
	const dots = "…"
	return dots + strings.ToValidUTF8(cause[len(cause)-maxEnd+len(dots):], "")
}

// Blocks tells whether a node is set aside.
func (b *Blocklist) Blocks(node string) bool {
	return slices.ContainsFunc(b.nodes, func(n msg.BlockedNode) bool { return n.Node == node })
}

// Other gives the node that was set aside last, but for the one that is named; false
// when there is none.
func (b *Blocklist) Other(node string) (msg.BlockedNode, bool) {
	for _, n := range slices.Backward(b.nodes) {
		if n.Node != node {
			return n, true
		}
	}
	return msg.BlockedNode{}, false
}

// Empty tells whether no node is set aside.
func (b *Blocklist) Empty() bool { return len(b.nodes) == 0 }

// Nodes lists the nodes that are set aside, the one that was blocked last at the end.
func (b *Blocklist) Nodes() []msg.BlockedNode { return slices.Clone(b.nodes) }

// Lift ends all blocks at a time, those that end earlier excepted: no other node serves
// the job.
func (b *Blocklist) Lift(at time.Time) {
	b.lifted = at
	for i := range b.nodes {
		if at.Before(b.nodes[i].Until) {
			b.nodes[i].Until = at
		}
	}
}

// Lifted is when the blocks end, or have ended, by Lift; zero where a node was blocked
// since.
func (b *Blocklist) Lifted() time.Time { return b.lifted }

// Expire ends the blocks whose time has come, and tells whether there were any.
func (b *Blocklist) Expire(now time.Time) bool {
	before := len(b.nodes)
	b.nodes = slices.DeleteFunc(b.nodes, func(n msg.BlockedNode) bool { return !now.Before(n.Until) })
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
