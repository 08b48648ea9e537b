package yarnworkers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	// callsPerNode bounds the starts under way at one NodeManager, and also the stops and checks.
	// Each call takes some milliseconds there, and more calls at once would only queue. A
	// NodeManager that does not answer delays no other.
	callsPerNode = 2
	// callsAtOnce bounds starts at all NodeManagers together, and also stops and checks, and with
	// them goroutines and connections. It is enough for a hundred nodes that do not answer.
	callsAtOnce = 256
	// startTimeout is how long a NodeManager may leave all starts unanswered. Then the starts that
	// wait behind them fail too. The time counts from the first call to this node, not from when it
	// waits for calls to other nodes. The node was alive a moment ago, because YARN gave the
	// container at its heartbeat. 20 s is enough for a long garbage collection or a restart, but
	// shorter than the minutes after which YARN counts the node as lost: another container comes
	// within a second.
	startTimeout = 20 * time.Second
	// stopTimeout bounds a stop or a check at a node that does not answer: YARN itself ends
	// released containers.
	stopTimeout = 5 * time.Second
)

var errNoAnswer = fmt.Errorf("the NodeManager has not answered for %v", startTimeout)

// nodeCall is a call to a NodeManager. silent is since when the NodeManager has had calls under way
// and answered none; for the first of these calls it is the call's own start. The result tells
// whether the NodeManager answered.
type nodeCall func(ctx context.Context, silent time.Time) (answered bool)

// bounded makes a nodeCall of a call with its own time limit, which does not depend on earlier
// calls.
func bounded(c call) nodeCall {
	return func(ctx context.Context, _ time.Time) bool {
		c(ctx)
		return true
	}
}

// nodeCalls runs calls to NodeManagers outside the loop, each in its own goroutine. Its methods may
// be called from any goroutine.
type nodeCalls struct {
	spawn func(func(context.Context)) // Loop.Go

	mu    sync.Mutex // guards what follows
	lines lines[nodeCall]
	// silent has the nodes that have not answered since a call began. It does not count the time in
	// which a line waits for calls to other nodes.
	silent map[records.NodeID]time.Time
}

func newNodeCalls(spawn func(func(context.Context))) *nodeCalls {
	return &nodeCalls{
		spawn:  spawn,
		lines:  lines[nodeCall]{each: callsPerNode, all: callsAtOnce, nodes: make(map[records.NodeID]*line[nodeCall])},
		silent: make(map[records.NodeID]time.Time),
	}
}

// put runs a call when its turn comes, unless ctx ends before; ctx ends with the loop.
func (n *nodeCalls) put(ctx context.Context, on records.NodeID, c nodeCall) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines.put(on, c)
	n.begin(ctx)
}

// begin starts the calls whose turn has come. n.mu is held.
func (n *nodeCalls) begin(ctx context.Context) {
	for ctx.Err() == nil {
		on, c, ok := n.lines.next()
		if !ok {
			return
		}
		silent, known := n.silent[on]
		if !known {
			silent = sched.Now(ctx)
			n.silent[on] = silent
		}
		n.spawn(func(ctx context.Context) {
			answered := c(ctx, silent)
			n.mu.Lock()
			defer n.mu.Unlock()
			n.lines.done(on)
			if answered || n.lines.nodes[on] == nil {
				delete(n.silent, on)
			}
			n.begin(ctx)
		})
	}
}

// lines decides whose turn it is. Each node has a line, and a bound for its items under way. So a
// node that does not answer delays only its own line. All nodes together have a bound, too, and the
// lines take turns.
type lines[T any] struct {
	each, all int
	underWay  int
	nodes     map[records.NodeID]*line[T] // the nodes with items, waiting or under way
	ready     []records.NodeID            // the nodes whose first item may start, in the order of their turns
}

type line[T any] struct {
	waiting  []T
	underWay int
	ready    bool // the node is in lines.ready
}

// put adds an item to the end of a node's line.
func (l *lines[T]) put(on records.NodeID, item T) {
	n := l.nodes[on]
	if n == nil {
		n = new(line[T])
		l.nodes[on] = n
	}
	n.waiting = append(n.waiting, item)
	l.enqueue(on, n)
}

// next takes the item whose turn it is; false if none may start.
func (l *lines[T]) next() (on records.NodeID, item T, ok bool) {
	if l.underWay >= l.all || len(l.ready) == 0 {
		return on, item, false
	}
	on, l.ready = l.ready[0], l.ready[1:]
	n := l.nodes[on]
	item, n.waiting = n.waiting[0], n.waiting[1:]
	n.ready = false
	n.underWay++
	l.underWay++
	l.enqueue(on, n)
	return on, item, true
}

// done says that an item of a node has ended.
func (l *lines[T]) done(on records.NodeID) {
	n := l.nodes[on]
	n.underWay--
	l.underWay--
	l.enqueue(on, n)
	if n.underWay == 0 && len(n.waiting) == 0 {
		delete(l.nodes, on)
	}
}

// enqueue gives a node a turn if it has an item that may start.
func (l *lines[T]) enqueue(on records.NodeID, n *line[T]) {
	if !n.ready && len(n.waiting) > 0 && n.underWay < l.each {
		n.ready = true
		l.ready = append(l.ready, on)
	}
}
