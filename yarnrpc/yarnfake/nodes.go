package yarnfake

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// lose removes a node and ends its containers.
func (b *books) lose(now time.Time, id records.NodeID) []effect {
	n := b.node(id)
	if n == nil || n.lost {
		return nil
	}
	n.lost = true
	b.limit()
	b.tellOf(n)
	effects := []effect{emptyNode{id}}
	for _, app := range b.apps {
		for _, c := range slices.Clone(app.containers) {
			if c.node == n {
				effects = append(effects, b.end(now, c, records.ExitAborted, "Container released on a *lost* node")...)
			}
		}
	}
	return effects
}

// restartNode removes all containers of a node, and adds the node again.
func (b *books) restartNode(now time.Time, id records.NodeID, capability records.Resource) []effect {
	n := b.node(id)
	if n == nil {
		return nil
	}
	effects := b.lose(now, id)
	n.lost, n.capability, n.heard = false, capability, now
	b.limit()
	b.tellOf(n)
	return effects
}

// limit sets the maximum of a container: the configured one, but not more than the
// largest nodes have (ClusterNodeTracker#getMaxAllowedAllocation).
func (b *books) limit() {
	b.settings.maximum = b.settings.configured
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
	types := b.settings.configured.Others.Map()
	for name, amount := range types {
		amount.Value = min(amount.Value, others[name].Value)
		types[name] = amount
	}
	b.settings.maximum = records.Resource{
		MemoryMB: min(b.settings.configured.MemoryMB, most.MemoryMB),
		VCores:   min(b.settings.configured.VCores, most.VCores),
		Others:   records.NewResourceValues(types),
	}
}

// tellOf reports a node's change to every registered master.
func (b *books) tellOf(n *node) {
	for _, app := range b.apps {
		if a := app.attempt(); a.registered && a.live() {
			a.changed = append(a.changed, n)
		}
	}
}
