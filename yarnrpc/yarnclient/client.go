// Package yarnclient is the client's side of YARN's ResourceManager
// (ApplicationClientProtocol): submit an application, follow it, kill it, look
// at the cluster.
//
// A Client may be used from any goroutine and starts none besides those of its
// connection. Every call is repeated over broken connections and fail-overs for
// as long as Options.Policy allows; all calls of this package can be repeated
// without harm. The package never waits for an application to do its work: that
// is a loop over ApplicationReport which the caller owns.
package yarnclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Options configure a Client; FromConf fills in what a Hadoop configuration says.
type Options struct {
	// Addresses are the client addresses of all ResourceManagers
	// (yarn.resourcemanager.address, port 8032). The active one is found.
	Addresses []string
	// RPC says who the user is and how connections behave. New sets the protocol.
	RPC yarnrpc.Options
	// Policy bounds the tries of each call; DefaultPolicy when zero.
	Policy yarnrpc.Policy
	// PollInterval is the time between two looks at an application that is being
	// submitted or killed; 0: 200 ms
	// (yarn.client.application-client-protocol.poll-interval-ms).
	PollInterval time.Duration
}

// DefaultPolicy tries an unreachable ResourceManager for 30 s. Hadoop's own
// clients try for 15 minutes (yarn.resourcemanager.connect.max-wait.ms), which
// no person waits for.
func DefaultPolicy() yarnrpc.Policy {
	return yarnrpc.Policy{MaxWait: 30 * time.Second, BaseDelay: 500 * time.Millisecond, MaxDelay: 4 * time.Second}
}

// FromConf takes addresses, intervals and the behaviour of connections from a
// Hadoop configuration. A yarn.resourcemanager.connect.max-wait.ms that the files
// set is obeyed; negative means for ever.
func FromConf(conf *hadoopconf.Conf, user string) (Options, error) {
	rms, err := conf.ResourceManagers()
	if err != nil {
		return Options{}, err
	}
	rpc, err := yarnrpc.OptionsFrom(conf)
	if err != nil {
		return Options{}, err
	}
	rpc.User = yarnrpc.UserInformation{Effective: user}
	o := Options{RPC: rpc, Policy: DefaultPolicy()}
	for _, rm := range rms {
		o.Addresses = append(o.Addresses, rm.Client)
	}
	const pollKey, waitKey = "yarn.client.application-client-protocol.poll-interval-ms", "yarn.resourcemanager.connect.max-wait.ms"
	if o.PollInterval, err = conf.Duration(pollKey, time.Millisecond); err != nil {
		return Options{}, err
	}
	if conf.SourceOf(waitKey) != (hadoopconf.Source{}) {
		if o.Policy.MaxWait, err = conf.Duration(waitKey, time.Millisecond); err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

const defaultPollInterval = 200 * time.Millisecond

// Client makes calls as one user.
type Client struct {
	rpc   yarnrpc.Caller
	close func() error
	poll  time.Duration
}

// New makes a Client. It connects with the first call.
func New(o Options) *Client {
	if o.Policy == (yarnrpc.Policy{}) {
		o.Policy = DefaultPolicy()
	}
	o.RPC.Protocol = yarnrpc.ApplicationClientProtocol
	proxy := yarnrpc.NewProxy(o.Addresses, o.RPC, o.Policy)
	return newClient(resourceManager{proxy}, proxy.Close, o.PollInterval)
}

// resourceManager says whose answer is missing where a call gets none because the
// server is away. One that is there and not what it should be is another matter.
type resourceManager struct{ yarnrpc.Caller }

func (r resourceManager) Call(ctx context.Context, method string, request, response proto.Message) error {
	err := r.Caller.Call(ctx, method, request, response)
	if _, unanswered := errors.AsType[*yarnrpc.CallError](err); unanswered && ctx.Err() == nil && yarnrpc.Classify(err) != yarnrpc.Permanent {
		return fmt.Errorf("ResourceManager does not answer: %w", err)
	}
	return err
}

func newClient(rpc yarnrpc.Caller, closeRPC func() error, poll time.Duration) *Client {
	if poll <= 0 {
		poll = defaultPollInterval
	}
	return &Client{rpc: rpc, close: closeRPC, poll: poll}
}

// Close ends the connection.
func (c *Client) Close() error { return c.close() }

// ClusterMetrics counts the cluster's NodeManagers by state.
func (c *Client) ClusterMetrics(ctx context.Context) (records.ClusterMetrics, error) {
	var response yarnpb.GetClusterMetricsResponseProto
	if err := c.rpc.Call(ctx, "getClusterMetrics", &yarnpb.GetClusterMetricsRequestProto{}, &response); err != nil {
		return records.ClusterMetrics{}, fmt.Errorf("read cluster metrics: %w", err)
	}
	return pbconv.ClusterMetrics(response.GetClusterMetrics()), nil
}

// ClusterNodes lists the cluster's nodes in any of the given states; in all
// states when none is given.
func (c *Client) ClusterNodes(ctx context.Context, states ...records.NodeState) ([]records.NodeReport, error) {
	var request yarnpb.GetClusterNodesRequestProto
	for _, s := range states {
		state := pbconv.NodeStateProto(s)
		if state == nil {
			return nil, fmt.Errorf("list cluster nodes: yarn has no node state %q", s)
		}
		request.NodeStates = append(request.NodeStates, *state)
	}
	var response yarnpb.GetClusterNodesResponseProto
	if err := c.rpc.Call(ctx, "getClusterNodes", &request, &response); err != nil {
		return nil, fmt.Errorf("list cluster nodes: %w", err)
	}
	return pbconv.NodeReports(response.GetNodeReports()), nil
}

// QueueDetail says how much QueueInfo tells. The zero value is the queue alone.
type QueueDetail struct {
	Applications bool // those running in it
	Children     bool // the queues directly below
	Recursive    bool // with Children: all queues below
}

// QueueInfo describes a queue by its short name or full path. A queue that does
// not exist is ErrQueueNotFound.
func (c *Client) QueueInfo(ctx context.Context, name string, detail QueueDetail) (records.QueueInfo, error) {
	request := &yarnpb.GetQueueInfoRequestProto{
		QueueName:           proto.String(name),
		IncludeApplications: proto.Bool(detail.Applications),
		IncludeChildQueues:  proto.Bool(detail.Children || detail.Recursive),
		Recursive:           proto.Bool(detail.Recursive),
	}
	var response yarnpb.GetQueueInfoResponseProto
	if err := c.rpc.Call(ctx, "getQueueInfo", request, &response); err != nil {
		return records.QueueInfo{}, fmt.Errorf("read queue %s: %w", name, err)
	}
	// ClientRMService#getQueueInfo logs the scheduler's objection and answers
	// with nothing.
	if response.GetQueueInfo() == nil {
		return records.QueueInfo{}, fmt.Errorf("read queue %s: %w", name, ErrQueueNotFound)
	}
	return pbconv.QueueInfo(response.GetQueueInfo()), nil
}

// QueueUserACLs lists what the client's user may do in each queue.
func (c *Client) QueueUserACLs(ctx context.Context) ([]records.QueueUserACL, error) {
	var response yarnpb.GetQueueUserAclsInfoResponseProto
	if err := c.rpc.Call(ctx, "getQueueUserAcls", &yarnpb.GetQueueUserAclsInfoRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("read rights in queues: %w", err)
	}
	return pbconv.QueueUserACLs(response.GetQueueUserAcls()), nil
}
