package bubble

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// faultKind is what goes wrong.
type faultKind string

const (
	killWorker   faultKind = "kill worker"
	killHost     faultKind = "kill task host"
	killMaster   faultKind = "kill master"
	cutConn      faultKind = "cut a connection"
	freezeConn   faultKind = "freeze a connection"
	isolate      faultKind = "isolate a worker"
	isolateAlone faultKind = "isolate the master" // maybe longer than YARN waits for it
	restartYARN  faultKind = "restart the ResourceManager"
	rollKey      faultKind = "roll the key of AMRM tokens"
	loseCall     faultKind = "lose a call to YARN" // before its effect, or after it
	restartNode  faultKind = "restart a NodeManager"
	freezeNode   faultKind = "freeze a NodeManager"
)

//nolint:gochecknoglobals // constants
var (
	faultKinds = []faultKind{
		killWorker, killHost, killMaster, cutConn, freezeConn, isolate, isolateAlone,
		restartYARN, rollKey, loseCall, restartNode, freezeNode,
	}
	// calls are those that a loseCall hits.
	calls = []string{"registerApplicationMaster", "allocate", "allocate", "finishApplicationMaster", "startContainers", "stopContainers"}
)

// fault is something that goes wrong.
type fault struct {
	at     time.Duration
	kind   faultKind
	time   time.Duration // how long it lasts
	victim int
}

func (f fault) String() string {
	return fmt.Sprintf("%v %s %d for %v", f.at, f.kind, f.victim, f.time)
}

// drawFaults draws the faults of a run, in the order of their times.
func drawFaults(r *rand.Rand, until time.Duration) []fault {
	faults := make([]fault, 1+r.IntN(5))
	for i := range faults {
		f := fault{at: time.Duration(r.Int64N(int64(until))), kind: faultKinds[r.IntN(len(faultKinds))], victim: r.IntN(16)}
		switch f.kind {
		case freezeConn, isolate, freezeNode:
			f.time = time.Duration(r.Int64N(int64(2 * time.Minute)))
		case isolateAlone:
			f.time = time.Duration(r.Int64N(int64(2 * masterExpiry)))
		default:
		}
		faults[i] = f
	}
	slices.SortFunc(faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return faults
}

// suffer lets the faults happen, until ctx ends. It returns how many had a victim.
func (c *cluster) suffer(ctx context.Context, faults []fault) (hits int) {
	began := time.Now()
	for _, f := range faults {
		timer := time.NewTimer(time.Until(began.Add(f.at)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return hits
		}
		hit := c.strike(f)
		c.log.WithField("hit", hit).Infof("fault: %v", f)
		if hit {
			hits++
		}
	}
	return hits
}

// strike lets a fault happen. Without a victim it returns false.
func (c *cluster) strike(f fault) bool {
	var from []*process
	node := c.yarn.Nodes()[f.victim%nodes]
	switch f.kind {
	case restartYARN:
		c.yarn.RestartResourceManagerAlone()
		return true
	case rollKey:
		c.yarn.RollAMRMKey()
		return true
	case loseCall:
		c.yarn.Drop(calls[f.victim%len(calls)], []yarnfake.When{yarnfake.Before, yarnfake.After}[f.victim/len(calls)%2])
		return true
	case restartNode:
		c.yarn.RestartNode(node, nodeSize)
		return true
	case freezeNode:
		c.yarn.Freeze(node)
		time.AfterFunc(f.time, func() { c.yarn.Thaw(node) })
		return true
	case killWorker, isolate:
		from = c.alive(workers)
	case killHost:
		from = c.alive(taskHosts)
	case killMaster, isolateAlone:
		from = c.alive(masters)
	case cutConn, freezeConn:
		from = slices.Concat(c.alive(masters), c.alive(workers), c.alive(taskHosts))
	}
	if len(from) == 0 {
		return false
	}
	p := from[f.victim%len(from)]
	switch f.kind {
	case killWorker, killHost, killMaster:
		p.kill()
	case isolate, isolateAlone:
		p.isolate(time.Now().Add(f.time))
	default:
		open := p.open()
		if len(open) == 0 {
			return false
		}
		if victim := open[f.victim%len(open)]; f.kind == cutConn {
			victim.cut()
		} else {
			victim.freeze(time.Now().Add(f.time))
		}
	}
	return true
}
