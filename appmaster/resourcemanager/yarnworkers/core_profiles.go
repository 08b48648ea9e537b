package yarnworkers

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// profile is a kind of worker. Each profile has its own priority, because YARN keeps one container
// size for a priority.
type profile struct {
	spec     resourcemanager.WorkerResourceSpec
	priority records.Priority
	total    int // WorkerOrder.Total
	starts   int // reported so far
	asked    int // outstanding requests in amrm's table
	// sent says that the number of requests went with the allocate that is in flight or has failed:
	// YARN has not looked at it yet.
	sent bool
	// refusedUntil is when the refusal by YARN ends; zero: there is none.
	refusedUntil time.Time
	doubtful     bool      // YARN has refused it, and has accepted no request since
	standing     time.Time // since when YARN holds a request that it has not refused; zero: it holds none
	given        time.Time // when YARN gave the last container
	room         msg.Room  // as last reported
	orders       orders    // of the missing workers
}

// missing is the number of containers that must still come.
func (p *profile) missing() int { return max(p.total-p.starts, 0) }

// wanted is the number of containers of a profile to request from YARN now.
func (c *core) wanted(p *profile) int {
	if p.refused() || slices.Index(c.trial, p) > 0 {
		return 0
	}
	return p.missing()
}

// capability is the container size that a profile requests.
func (c *core) capability(p *profile) records.Resource {
	return c.place.Capability(p.spec.MemoryMB, p.spec.VCores, p.spec.External, c.maximum)
}

func (c *core) profile(spec resourcemanager.WorkerResourceSpec) *profile {
	for _, p := range c.profiles {
		if p.spec == spec {
			return p
		}
	}
	p := &profile{spec: spec, priority: records.Priority(len(c.profiles) + 1)}
	c.profiles = append(c.profiles, p)
	return p
}

func (c *core) byPriority(priority records.Priority) *profile {
	if priority < 1 || int(priority) > len(c.profiles) {
		return nil
	}
	return c.profiles[priority-1]
}

// ask requests the containers that a profile still lacks, and says where.
func (c *core) ask(a *allocate, p *profile) {
	key := amrm.AskKey{Priority: p.priority, ExecutionType: c.place.ExecutionType}
	if c.place.Constraint != nil {
		a.requests = append(a.requests, amrm.SchedulingRequest{
			Key: key, Capability: c.capability(p), Count: p.asked,
			Tags: []string{launch.WorkerTag}, Constraint: c.place.Constraint,
		})
		return
	}
	a.asks = append(a.asks, amrm.Ask{
		Key: key, Capability: c.capability(p), Count: p.asked, NodeLabel: c.place.NodeLabel,
		Hosts: amrm.Spread(c.nodeList(), p.asked, c.capability(p)),
	})
}
