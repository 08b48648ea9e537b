// Package resourcetracker has simulated NodeManagers, which speak to a real ResourceManager
// as NodeManagers do (ResourceTracker): a test or a benchmark gives it a hundred nodes in one
// process.
//
// A Node offers memory and cores, learns what the ResourceManager wants of it, and reports
// containers as its owner says they are. It runs no processes and takes no calls of
// ApplicationMasters. Labels and attributes that nodes report of themselves, other
// resources, signals, log aggregation and the timeline service are left out.
//
// One Client serves any number of Nodes, over one connection, and may be used from any
// goroutine. The package starts no goroutines besides those of the connection: whoever
// owns a Node calls Beat as often as the ResourceManager asks. state is pure; Node does
// its calls. The package imports the plain records and nothing of the typed clients.
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
	// Addresses are where the ResourceManagers take NodeManagers
	// (yarn.resourcemanager.resource-tracker.address, port 8031). The active one is found.
	Addresses []string
	// RPC says who the NodeManagers are and how connections behave. New sets the protocol.
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

// action is what the ResourceManager tells a NodeManager to do (NodeAction).
type action string

const (
	actionNormal   action = "NORMAL"
	actionResync   action = "RESYNC"   // register anew: the ResourceManager has restarted, or missed heartbeats
	actionShutdown action = "SHUTDOWN" // leave: the node is not wanted
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

// Registration is what a NodeManager says when it comes, or comes back.
type Registration struct {
	// Node is its id: the address at which ApplicationMasters would call it. The host
	// must be one that the ResourceManager can resolve.
	Node     records.NodeID
	HTTPPort int
	// Resource is what it offers, at least yarn.scheduler.minimum-allocation.
	Resource records.Resource
	// Version is that of its Hadoop, such as "3.4.3".
	Version string
	// Containers and Applications are those it has already.
	Containers   []Container
	Applications []records.ApplicationID
}

// Registered is the ResourceManager's answer to a Registration.
type Registered struct {
	Action      action // actionShutdown refuses the node
	Diagnostics string // why
	// ContainerTokenKey and NMTokenKey are what the tokens of ApplicationMasters that
	// call the node are signed with.
	ContainerTokenKey, NMTokenKey MasterKey
	// RMIdentifier tells one life of the ResourceManager from another; the tokens of
	// containers hold it. When it started, in milliseconds since 1970.
	RMIdentifier int64
	RMVersion    string
}

// register makes a node one of the cluster's (registerNodeManager). That the
// ResourceManager does not want it is no error: see Registered.Action.
func (c *Client) register(ctx context.Context, r Registration) (Registered, error) {
	var response yarnpb.RegisterNodeManagerResponseProto
	if err := c.rpc.Call(ctx, "registerNodeManager", registrationProto(r), &response); err != nil {
		return Registered{}, fmt.Errorf("register node %s: %w", r.Node, err)
	}
	return registeredOf(&response), nil
}

// heartbeat is what a NodeManager says regularly.
type heartbeat struct {
	Node records.NodeID
	// ResponseID is that of the last answer, 0 after a registration.
	ResponseID int32
	Containers []records.ContainerStatus
	// Unhealthy says why nothing can run on the node; empty: it is healthy.
	Unhealthy string
	// ContainerTokenKeyID and NMTokenKeyID are of the keys that the node has.
	ContainerTokenKeyID, NMTokenKeyID int32
}

// heartbeatResponse is the ResourceManager's answer to a heartbeat.
type heartbeatResponse struct {
	ResponseID  int32 // of the next heartbeat
	Action      action
	Diagnostics string
	Interval    time.Duration // until the next heartbeat; 0: not told
	// Stop are containers to be killed, Ended applications whose containers are.
	Stop  []records.ContainerID
	Ended []records.ApplicationID
	// Forget are completed containers that need not be reported any more.
	Forget []records.ContainerID
	// Updated are containers that have got another size or execution type.
	Updated []records.Container
	// ContainerTokenKey and NMTokenKey are nil unless the node has not got the current ones.
	ContainerTokenKey, NMTokenKey *MasterKey
}

// heartbeat tells the ResourceManager of a node (nodeHeartbeat). A node that it does
// not know is told actionResync.
func (c *Client) heartbeat(ctx context.Context, h heartbeat) (heartbeatResponse, error) {
	var response yarnpb.NodeHeartbeatResponseProto
	if err := c.rpc.Call(ctx, "nodeHeartbeat", heartbeatProto(h, time.Now()), &response); err != nil {
		return heartbeatResponse{}, fmt.Errorf("heartbeat of node %s: %w", h.Node, err)
	}
	return heartbeatResponseOf(&response), nil
}

// unregister takes a node away (unRegisterNodeManager): what ran on it is lost at once,
// not only when the node expires (yarn.nm.liveness-monitor.expiry-interval-ms, 10 min).
func (c *Client) unregister(ctx context.Context, node records.NodeID) error {
	request := &yarnpb.UnRegisterNodeManagerRequestProto{NodeId: nodeIDProto(node)}
	if err := c.rpc.Call(ctx, "unRegisterNodeManager", request, new(yarnpb.UnRegisterNodeManagerResponseProto)); err != nil {
		return fmt.Errorf("unregister node %s: %w", node, err)
	}
	return nil
}
