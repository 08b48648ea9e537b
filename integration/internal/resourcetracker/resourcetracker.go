// Package resourcetracker has simulated NodeManagers. They call a real ResourceManager as
// NodeManagers do (ResourceTracker), so that a test or a benchmark has a hundred nodes in one
// process.
//
// A Node offers memory and cores, receives the ResourceManager's orders, and reports the containers
// that its owner starts and completes. It runs no processes and accepts no calls from
// ApplicationMasters. It does not support labels and attributes that nodes report of themselves,
// other resources, signals, log aggregation and the timeline service.
//
// One Client serves any number of Nodes, over one connection, and may be used from any goroutine.
// The package starts no goroutines besides those of the connection. The owner of a Node calls Beat
// as often as the ResourceManager asks. state is pure; Node makes its calls. The package imports
// the plain records and nothing of the typed clients.
package resourcetracker

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Options configure a Client.
type Options struct {
	// Addresses are the ResourceManagers' addresses for NodeManagers
	// (yarn.resourcemanager.resource-tracker.address, port 8031). The Client finds the active one.
	Addresses []string
	// RPC has the login of the NodeManagers, and the options of connections. New sets the protocol.
	RPC yarnrpc.Options
}

// Client makes calls for NodeManagers.
type Client struct {
	rpc   yarnrpc.Caller
	close func() error
}

// New makes a Client. It connects with the first call. It tries an unreachable
// ResourceManager for a minute; NodeManagers try for 15
// (yarn.resourcemanager.connect.max-wait.ms).
func New(o Options) *Client {
	o.RPC.Protocol = yarnrpc.ResourceTracker
	proxy := yarnrpc.NewProxy(o.Addresses, o.RPC, yarnrpc.Policy{MaxWait: time.Minute, BaseDelay: 200 * time.Millisecond, MaxDelay: 4 * time.Second})
	return &Client{rpc: proxy, close: proxy.Close}
}

// Close ends the connection. The nodes stay registered until they expire.
func (c *Client) Close() error { return c.close() }

// action is the ResourceManager's order to a NodeManager (NodeAction).
type action string

const (
	actionNormal   action = "NORMAL"
	actionResync   action = "RESYNC"   // register again: the ResourceManager has restarted, or missed heartbeats
	actionShutdown action = "SHUTDOWN" // leave: the ResourceManager refuses the node
)

// Container is a container as its NodeManager reports it.
type Container struct {
	records.ContainerStatus
	Priority            records.Priority
	Created             time.Time
	Version             int // grows with each update of the container
	AllocationRequestID int64
	AllocationTags      []string
}

// Registration is the request with which a NodeManager registers.
type Registration struct {
	// Node is the node's id: the address at which ApplicationMasters would call it. The
	// ResourceManager must be able to resolve the host.
	Node     records.NodeID
	HTTPPort int
	// Resource is the node's capacity, at least yarn.scheduler.minimum-allocation.
	Resource records.Resource
	// Version is the node's Hadoop version, such as "3.4.3".
	Version string
	// Containers and Applications are those that the node has already.
	Containers   []Container
	Applications []records.ApplicationID
}

// Registered is the ResourceManager's answer to a Registration.
type Registered struct {
	Action      action // actionShutdown refuses the node
	Diagnostics string // the reason
	// ContainerTokenKey and NMTokenKey are the keys that sign the tokens with which
	// ApplicationMasters call the node.
	ContainerTokenKey, NMTokenKey MasterKey
	// RMIdentifier is the start of the ResourceManager in milliseconds since 1970. It identifies
	// one life of the ResourceManager. The tokens of containers contain it.
	RMIdentifier int64
	RMVersion    string
}

// register registers a node (registerNodeManager). A refusal is no error: see Registered.Action.
func (c *Client) register(ctx context.Context, r Registration) (Registered, error) {
	var response yarnpb.RegisterNodeManagerResponseProto
	if err := c.rpc.Call(ctx, "registerNodeManager", registrationProto(r), &response); err != nil {
		return Registered{}, fmt.Errorf("register node %s: %w", r.Node, err)
	}
	return registeredOf(&response), nil
}

// heartbeat is a NodeManager's regular report.
type heartbeat struct {
	Node records.NodeID
	// ResponseID is the id of the last answer, or 0 after a registration.
	ResponseID int32
	Containers []records.ContainerStatus
	// Unhealthy is the reason for which nothing can run on the node. Empty means healthy.
	Unhealthy string
	// ContainerTokenKeyID and NMTokenKeyID are the ids of the keys that the node has.
	ContainerTokenKeyID, NMTokenKeyID int32
}

// heartbeatResponse is the ResourceManager's answer to a heartbeat.
type heartbeatResponse struct {
	ResponseID  int32 // of the next heartbeat
	Action      action
	Diagnostics string
	Interval    time.Duration // until the next heartbeat; 0: not set
	// Stop lists containers to kill. Ended lists applications whose containers to kill.
	Stop  []records.ContainerID
	Ended []records.ApplicationID
	// Forget lists completed containers that the node need not report any more.
	Forget []records.ContainerID
	// Updated lists containers with a new size or execution type.
	Updated []records.Container
	// ContainerTokenKey and NMTokenKey are nil if the node has the current keys.
	ContainerTokenKey, NMTokenKey *MasterKey
}

// heartbeat sends a node's report to the ResourceManager (nodeHeartbeat). A node that the
// ResourceManager does not know gets actionResync.
func (c *Client) heartbeat(ctx context.Context, h heartbeat) (heartbeatResponse, error) {
	var response yarnpb.NodeHeartbeatResponseProto
	if err := c.rpc.Call(ctx, "nodeHeartbeat", heartbeatProto(h, time.Now()), &response); err != nil {
		return heartbeatResponse{}, fmt.Errorf("heartbeat of node %s: %w", h.Node, err)
	}
	return heartbeatResponseOf(&response), nil
}

// unregister removes a node (unRegisterNodeManager). Its containers are lost at once, and not only
// when the node expires (yarn.nm.liveness-monitor.expiry-interval-ms, 10 min).
func (c *Client) unregister(ctx context.Context, node records.NodeID) error {
	request := &yarnpb.UnRegisterNodeManagerRequestProto{NodeId: nodeIDProto(node)}
	if err := c.rpc.Call(ctx, "unRegisterNodeManager", request, new(yarnpb.UnRegisterNodeManagerResponseProto)); err != nil {
		return fmt.Errorf("unregister node %s: %w", node, err)
	}
	return nil
}
