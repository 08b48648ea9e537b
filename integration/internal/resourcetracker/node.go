package resourcetracker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrRefused is a node that the ResourceManager does not want: it is excluded, too
// small, or of too old a version. The error's text has the reason.
var ErrRefused = errors.New("the ResourceManager refuses the node")

// Node is a simulated NodeManager. Register and Beat are for one goroutine at a time,
// which owns it; the other methods may be called from any, also meanwhile.
type Node struct {
	client *Client

	mu    sync.Mutex // guards state
	state *state
}

// NewNode makes a node that nobody knows of yet.
func NewNode(client *Client, r Registration) *Node {
	return &Node{client: client, state: newState(r)}
}

// ID is the node's.
func (n *Node) ID() records.NodeID { return n.state.registration.Node }

// Register makes the node one of the cluster's, with the containers it has. The error
// is ErrRefused if it is not wanted.
func (n *Node) Register(ctx context.Context) error {
	n.mu.Lock()
	greeting := n.state.greeting()
	n.mu.Unlock()
	r, err := n.client.register(ctx, greeting)
	if err != nil {
		return err
	}
	if r.Action == actionShutdown {
		return fmt.Errorf("register node %s: %w: %s", n.ID(), ErrRefused, r.Diagnostics)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.welcomed(r)
	return nil
}

// Beat tells the ResourceManager of the node's containers and does what it answers:
// containers that it wants stopped have ended, with the exit status that a NodeManager
// gives them, and are told so with the next beat; where it asks for that, the node
// registers anew. The error is ErrRefused if the node has to leave. After any other
// the next Beat says the same again, which the ResourceManager recognizes.
func (n *Node) Beat(ctx context.Context) error {
	_, err := n.beat(ctx)
	return err
}

func (n *Node) beat(ctx context.Context) (heartbeatResponse, error) {
	n.mu.Lock()
	said := n.state.heartbeat()
	n.mu.Unlock()
	r, err := n.client.heartbeat(ctx, said)
	if err != nil {
		return heartbeatResponse{}, err
	}
	switch r.Action {
	case actionShutdown:
		return r, fmt.Errorf("heartbeat of node %s: %w: %s", n.ID(), ErrRefused, r.Diagnostics)
	case actionResync:
		return r, n.Register(ctx)
	case actionNormal:
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.answered(r)
	return r, nil
}

// Unregister takes the node away.
func (n *Node) Unregister(ctx context.Context) error { return n.client.unregister(ctx, n.ID()) }

// Start lets a container run on the node from now on, as its ApplicationMaster would
// have it. One that the node has had already stays as it is.
func (n *Node) Start(c records.Container) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, has := n.state.containers[c.ID]; has {
		return
	}
	status := runningStatus(c)
	status.Created = time.Now()
	n.state.containers[c.ID] = status
}

// Complete ends a container. It reports whether that ran on the node.
func (n *Node) Complete(id records.ContainerID, exit records.ExitStatus, diagnostics string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state.complete(id, exit, diagnostics)
}

// SetHealth makes the node unhealthy for a reason, or healthy again with an empty one.
func (n *Node) SetHealth(reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.unhealthy = reason
}

// Containers are those that the next beat tells of, in the order of their ids.
func (n *Node) Containers() []records.ContainerStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.state.heartbeat().Containers)
}

// Registered is the ResourceManager's last answer to a registration, with the newest
// keys.
func (n *Node) Registered() Registered {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state.registered
}
