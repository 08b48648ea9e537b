package books

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// The types below are copies of the state, for tests and invariants.
type (
	// ApplicationView is an application.
	ApplicationView struct {
		ID             records.ApplicationID
		User           string
		State          records.ApplicationState
		Final          records.FinalApplicationStatus
		Diagnostics    string
		KeepContainers bool
		Attempts       []AttemptView   // by age
		Containers     []ContainerView // those that the ResourceManager knows, also ended ones
	}
	// AttemptView is an attempt of an application.
	AttemptView struct {
		ID         records.ApplicationAttemptID
		State      records.AttemptState
		Live       bool                // its calls are accepted
		Master     records.ContainerID // zero: unmanaged, or not placed yet
		Node       records.NodeID      // of Master
		Registered bool
		Finishing  bool // it has unregistered
		ResponseID int32
		Began      time.Time
		Heard      time.Time // its launch, or its last call
		Asks       []AskView // outstanding, by key
		Blacklist  []string
	}
	// AskView is one outstanding ask.
	AskView struct {
		Priority   records.Priority
		RequestID  int64
		Capability records.Resource
		Count      int // of containers to come
	}
	// ContainerView is a container as the ResourceManager knows it.
	ContainerView struct {
		ID          records.ContainerID
		Owner       records.ApplicationAttemptID // the attempt that learns of its end
		Node        records.NodeID
		Resource    records.Resource
		Priority    records.Priority
		RequestID   int64
		Master      bool
		State       records.ContainerState
		Exit        records.ExitStatus
		Diagnostics string
	}
	// NodeView is a node as the ResourceManager knows it.
	NodeView struct {
		ID         records.NodeID
		Capability records.Resource
		Used       records.Resource
		Lost       bool
		Heard      time.Time
	}
)

// Identifier returns the ResourceManager's identifier: its start, in milliseconds since 1970. No two
// ResourceManagers of one cluster have the same.
func (b *ResourceManager) Identifier() int64 { return b.started }

// Nodes returns the nodes, also lost ones, in the order of their first registration.
func (b *ResourceManager) Nodes() []NodeView {
	var views []NodeView
	for _, n := range b.nodes {
		views = append(views, NodeView{ID: n.id, Capability: n.capability, Used: n.used, Lost: n.lost, Heard: n.heard})
	}
	return views
}

// Applications returns the applications by age.
func (b *ResourceManager) Applications() []ApplicationView {
	var views []ApplicationView
	for _, app := range b.apps {
		v := ApplicationView{
			ID: app.id, User: app.user, State: app.state, Final: app.final, Diagnostics: app.diagnostics,
			KeepContainers: app.context.KeepContainers,
		}
		for _, a := range app.attempts {
			v.Attempts = append(v.Attempts, a.view())
		}
		for _, c := range app.containers {
			v.Containers = append(v.Containers, c.view())
		}
		views = append(views, v)
	}
	return views
}

// Container returns a container that the ResourceManager knows.
func (b *ResourceManager) Container(id records.ContainerID) (ContainerView, bool) {
	c := b.container(id)
	if c == nil {
		return ContainerView{}, false
	}
	return c.view(), true
}

func (a *attempt) view() AttemptView {
	v := AttemptView{
		ID: a.id, State: a.state, Live: a.live(), Registered: a.registered, Finishing: a.finishing,
		ResponseID: a.responseID, Began: a.began, Heard: a.heard, Blacklist: slices.Clone(a.blacklist),
	}
	if a.master != nil {
		v.Master, v.Node = a.master.id, a.master.node.id
	}
	for _, row := range a.asks {
		v.Asks = append(v.Asks, AskView{
			Priority: row.priority, RequestID: row.requestID, Capability: row.capability, Count: int(row.places[anyPlace].count),
		})
	}
	return v
}

func (c *container) view() ContainerView {
	return ContainerView{
		ID: c.id, Owner: c.owner.id, Node: c.node.id, Resource: c.resource, Priority: c.priority, RequestID: c.requestID,
		Master: c.master, State: c.state, Exit: c.exit, Diagnostics: c.diagnostics,
	}
}
