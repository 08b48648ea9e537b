package yarnworkers

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// updateNodes updates the list of nodes that requests name.
func (c *core) updateNodes(reports []records.NodeReport) {
	for _, r := range reports {
		_, known := c.nodes[r.ID]
		if r.State.Usable() && c.suits(r) {
			c.nodes[r.ID] = amrm.NodeOf(r)
			c.nodesNews = c.nodesNews || !known
		} else {
			delete(c.nodes, r.ID)
			c.nodesNews = c.nodesNews || known
		}
	}
}

// suits tells whether a node is in the partition of the workers. YARN gives no containers on other
// nodes, and a request that names them would wait.
func (c *core) suits(r records.NodeReport) bool {
	if c.place.NodeLabel != "" {
		return slices.Contains(r.Labels, c.place.NodeLabel)
	}
	return len(r.Labels) == 0
}

// nodeList gives the nodes that requests may name, in an order that does not depend on the map's.
func (c *core) nodeList() []amrm.Node {
	keys := make([]records.NodeID, 0, len(c.nodes))
	for id := range c.nodes {
		if !slices.Contains(c.avoid, id.Host) {
			keys = append(keys, id)
		}
	}
	slices.SortFunc(keys, func(a, b records.NodeID) int { return strings.Compare(a.String(), b.String()) })
	nodes := make([]amrm.Node, len(keys))
	for i, id := range keys {
		nodes[i] = c.nodes[id]
	}
	return nodes
}

// tellNodes reports the hosts that could have workers if the list has changed. It reports nothing
// if the client gave no list, because YARN's updates alone do not name all nodes.
func (c *core) tellNodes() {
	if !c.nodesListed || !c.nodesNews {
		return
	}
	c.nodesNews = false
	hosts := make([]string, 0, len(c.nodes))
	for id := range c.nodes {
		hosts = append(hosts, id.Host)
	}
	slices.Sort(hosts)
	c.events = append(c.events, resourcemanager.NodesChanged{Nodes: slices.Compact(hosts)})
}
