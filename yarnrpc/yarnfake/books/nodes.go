package books

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// registerNode takes a node in, and the containers that it reports.
func (b *ResourceManager) registerNode(now time.Time, r Registration) []Effect {
	n := b.node(r.Node)
	var effects []Effect
	news := n == nil || n.lost || n.capability != r.Capability
	switch {
	case n == nil:
		n = &node{id: r.Node}
		b.nodes = append(b.nodes, n)
	case !n.lost && n.incarnation != r.Incarnation: // it was restarted before it counted as lost
		effects = b.empty(now, n)
	}
	n.lost, n.capability, n.incarnation, n.heard = false, r.Capability, r.Incarnation, now
	b.limit()
	if news {
		b.tellOf(n)
	}
	effects = append(effects, Registered{Node: n.id, ResourceManager: b.started, NM: b.keys.NM, Container: b.keys.Container})
	for _, s := range r.Containers {
		effects = append(effects, b.recover(now, n, s)...)
	}
	return effects
}

// report handles a node's heartbeat, or its report of a change. A node that is not registered, or
// counts as lost, must register first.
func (b *ResourceManager) report(now time.Time, r NodeReport) []Effect {
	n := b.node(r.Node)
	if n == nil || n.lost || r.ResourceManager != b.started || r.Incarnation != n.incarnation {
		return []Effect{Resync{r.Node}}
	}
	n.heard = now
	var effects []Effect
	for _, s := range r.Containers {
		effects = append(effects, b.hear(now, n, s)...)
	}
	if r.Beat {
		effects = append(effects, b.grants(now, n)...)
	}
	return effects
}

// hear compares a node's report of a container with the books. The books change only from granted
// to running to ended. If the node is behind, it gets its order again.
func (b *ResourceManager) hear(now time.Time, n *node, s ContainerStatus) []Effect {
	c := b.container(s.ID)
	ended := s.State == records.ContainerComplete
	switch {
	case c == nil && ended:
		return []Effect{Forget{Node: n.id, ID: s.ID}}
	case c == nil:
		exit, reason := records.ExitKilledByResourceManager, "Container killed: the ResourceManager does not know it"
		if app := b.app(s.ID.Attempt.Application); app != nil && app.state.Terminal() {
			exit, reason = records.ExitKilledAfterAppCompletion, "Container killed: its application has ended"
		}
		return []Effect{Kill{Node: n.id, ID: s.ID, Exit: exit, Reason: reason}}
	case ended:
		effects := b.end(now, c, s.Exit, s.Diagnostics)
		if c.known {
			effects = append(effects, c.forget())
		}
		return effects
	case c.state == records.ContainerComplete:
		return []Effect{Kill{Node: n.id, ID: s.ID, Exit: c.exit, Reason: c.diagnostics}}
	default:
		c.state = records.ContainerRunning
		return nil
	}
}

// lose removes a node and ends its containers.
func (b *ResourceManager) lose(now time.Time, id records.NodeID) []Effect {
	n := b.node(id)
	if n == nil || n.lost {
		return nil
	}
	n.lost = true
	b.limit()
	b.tellOf(n)
	return b.empty(now, n)
}

// empty ends the containers of a node that has none of them any more.
func (b *ResourceManager) empty(now time.Time, n *node) []Effect {
	var effects []Effect
	for _, app := range b.apps {
		for _, c := range slices.Clone(app.containers) {
			if c.node == n {
				effects = append(effects, b.end(now, c, records.ExitAborted, "Container released on a *lost* node")...)
			}
		}
	}
	return effects
}

// limit sets the maximum of a container: the configured one, but not more than the
// largest nodes have (ClusterNodeTracker#getMaxAllowedAllocation).
func (b *ResourceManager) limit() {
	b.maximum = b.settings.Maximum
	var most records.Resource
	others := make(map[string]records.ResourceAmount)
	for _, n := range b.nodes {
		if n.lost {
			continue
		}
		most.MemoryMB, most.VCores = max(most.MemoryMB, n.capability.MemoryMB), max(most.VCores, n.capability.VCores)
		for name, amount := range n.capability.Others.Map() {
			if amount.Value > others[name].Value {
				others[name] = amount
			}
		}
	}
	if most.MemoryMB == 0 { // there is no node
		return
	}
	types := b.settings.Maximum.Others.Map()
	for name, amount := range types {
		amount.Value = min(amount.Value, others[name].Value)
		types[name] = amount
	}
	b.maximum = records.Resource{
		MemoryMB: min(b.settings.Maximum.MemoryMB, most.MemoryMB),
		VCores:   min(b.settings.Maximum.VCores, most.VCores),
		Others:   records.NewResourceValues(types),
	}
}

// tellOf reports a node's change to the current or next master of every application
// (NodesListManager#sendRMAppNodeUpdateEventToNonFinalizedApps).
func (b *ResourceManager) tellOf(n *node) {
	for _, app := range b.apps {
		if !app.state.Terminal() && !slices.Contains(app.changed, n) {
			app.changed = append(app.changed, n)
		}
	}
}
