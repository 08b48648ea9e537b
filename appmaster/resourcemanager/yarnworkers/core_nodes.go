package yarnworkers

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// node is a node for containers, and its size.
type node struct {
	amrm.Node
	total records.Resource
}

// knowNodes takes the list of the cluster's nodes. What YARN has told of a node before is newer. The list does not count
// the containers of earlier attempts, which YARN may have told before as well.
func (c *core) knowNodes(reports []records.NodeReport) {
	known := make(map[records.NodeID]bool)
	for _, r := range reports {
		if !c.toldOf[r.ID] {
			c.updateNode(r)
			known[r.ID] = true
		}
	}
	//bobbin:anyorder sums
	for _, k := range c.containers {
		if known[k.Node] && k.state != ended {
			c.occupy(k.Container, true)
		}
	}
	c.nodesListed = c.nodesListed || len(reports) > 0
	c.toldOf = nil
}

// updateNodes updates the list of nodes that requests name.
func (c *core) updateNodes(reports []records.NodeReport) {
	for _, r := range reports {
		c.updateNode(r)
		if c.toldOf != nil {
			c.toldOf[r.ID] = true
		}
	}
}

func (c *core) updateNode(r records.NodeReport) {
	_, known := c.nodes[r.ID]
	if r.State.Usable() && c.suits(r) {
		c.nodes[r.ID] = node{amrm.NodeOf(r), r.Capability}
		c.nodesNews = c.nodesNews || !known
	} else {
		delete(c.nodes, r.ID)
		c.nodesNews = c.nodesNews || known
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

// nodeList gives the nodes that requests may name, in any order. The core asks up to ten times in a
// second, and a cluster may have ten thousand nodes, so the list is not sorted.
func (c *core) nodeList() []amrm.Node {
	nodes := make([]amrm.Node, 0, len(c.nodes))
	//bobbin:anyorder amrm.Spread puts the hosts in an order, and nodes of one host are in one rack
	for id, n := range c.nodes {
		if !slices.Contains(c.avoid, id.Host) {
			nodes = append(nodes, n.Node)
		}
	}
	return nodes
}

// tellNodes reports the hosts that could have workers if the list has changed. It reports nothing
// if nobody gave a list, because YARN's updates alone do not name all nodes.
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

// doubtLargest says that YARN's largest container may have grown since the registration. YARN tells it only there, and
// bounds it by its largest node (ClusterNodeTracker#getMaxAllowedAllocation) and by options that it reads at its start.
func (c *core) doubtLargest(r amrm.Response) {
	grows := func(n records.NodeReport) bool { return n.State.Usable() && !n.Capability.Fits(c.maximum) }
	if c.largest && (r.Resynced || slices.ContainsFunc(r.UpdatedNodes, grows)) {
		c.largest = false
		c.emit(tellLargest{})
	}
}
