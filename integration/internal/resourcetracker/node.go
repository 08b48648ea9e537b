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

// ErrRefused says that the ResourceManager refuses a node: it is excluded, too small, or has too
// old a version. The error's text has the reason.
var ErrRefused = errors.New("the ResourceManager refuses the node")

// Node is a simulated NodeManager. Only one goroutine at a time may call Register and Beat. Any
// goroutine may call the other methods, also during these calls.
type Node struct {
	client *Client

	mu    sync.Mutex // guards state
	state *state
}

// NewNode makes a node that is not registered yet.
func NewNode(client *Client, r Registration) *Node {
	return &Node{client: client, state: newState(r)}
}

// ID returns the node's id.
func (n *Node) ID() records.NodeID { return n.state.registration.Node }

// Register registers the node with its containers. The error is ErrRefused if the ResourceManager
// refuses it.
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

// Beat reports the node's containers to the ResourceManager and does what the answer says.
// Containers that it wants stopped end with the exit status that a NodeManager gives them, and the
// next Beat reports them. If the answer asks for it, the node registers again. The error is
// ErrRefused if the node must leave. After any other error, the next Beat sends the same report
// again, which the ResourceManager recognizes.
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

// Unregister removes the node from the cluster.
func (n *Node) Unregister(ctx context.Context) error { return n.client.unregister(ctx, n.ID()) }

// Start lets a container run on the node from now on, as if its ApplicationMaster had started it.
// It does not change a container that the node has had already.
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

// Complete ends a container. It reports whether the container ran on the node.
func (n *Node) Complete(id records.ContainerID, exit records.ExitStatus, diagnostics string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state.complete(id, exit, diagnostics)
}

// SetHealth makes the node unhealthy for a reason. With an empty reason it makes the node healthy
// again.
func (n *Node) SetHealth(reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.unhealthy = reason
}

// Containers returns the containers that the next Beat reports, in the order of their ids.
func (n *Node) Containers() []records.ContainerStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.state.heartbeat().Containers)
}

// Registered returns the ResourceManager's last answer to a registration, with the newest keys.
func (n *Node) Registered() Registered {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state.registered
}
