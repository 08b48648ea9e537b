package jobmaster

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// A worker may live, though tasks cannot read what it serves: nobody reaches its server, or a disk fails. Each reader tells of it at
// another time. The restart strategy decides once for all partitions that were there at the time of its decision. Each of them is
// written again when a reader misses it. So the readers cannot tell of them for ever, and trouble with what is written later counts
// again.

// outage is the last decision about a server of partitions that a task could not reach.
type outage struct {
	at       time.Time // zero: there was none
	decision failover.Decision
}

// outOfReach gives the worker whose server a region could not reach, though it lives, and the tasks that have written what the region was
// to read there. nil: the region has failed for another reason, or all regions run again anyway.
func (c *core) outOfReach(r int, root failover.Cause) (w *worker, producers []*executiongraph.Execution) {
	server := root.Failure.PeerLost
	if w = c.byHost[server]; w == nil || w.server() != server || c.restartsAll() {
		return nil, nil
	}
	for e := range c.graph.ReadsAt(r, w.resource) {
		if later := e.Ended().After(c.graph.Began(r)); !later {
			producers = append(producers, e)
		}
	}
	return w, producers
}

// sameOutage tells whether the last decision about a server was also about what a region could not read there from these tasks.
func (c *core) sameOutage(r int, w *worker, producers []*executiongraph.Execution) bool {
	others := func(e *executiongraph.Execution) bool {
		return !e.Ended().Before(w.outage.at) || c.runsNoMore(e.Region)
	}
	return c.graph.Began(r).Before(w.outage.at) || len(producers) > 0 && !slices.ContainsFunc(producers, others)
}

// writeAgain lets tasks run again that have finished, because nobody can read their partitions on a worker. Another attempt of a reader
// could not either: Flink does the same. It is no further failure.
func (c *core) writeAgain(w *worker, producers []*executiongraph.Execution) {
	for _, e := range producers {
		if !c.runsNoMore(e.Region) {
			c.free(w.resource, c.graph.Drop(e)...)
			c.runAgain(e.Region)
		}
	}
}

// serverReturned forgets that a server of partitions was lost. Later failures there have other causes.
func (c *core) serverReturned(server ids.HostID) {
	c.losses = slices.DeleteFunc(c.losses, func(l *loss) bool { return l.cause.Host == server })
	for _, l := range c.losses {
		if l.server == server {
			l.server = ""
		}
	}
}
