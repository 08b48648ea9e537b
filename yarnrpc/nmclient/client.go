// Package nmclient starts, stops and looks at containers on YARN's NodeManagers
// (ContainerManagementProtocol) for an ApplicationMaster.
//
// A Client may be used from any goroutine, and calls to different nodes run side
// by side; it starts no goroutine besides those of its connections. A connection
// is made when a node is first called and closes itself when it has been idle.
// Which containers there are, and what becomes of them, is not kept here: the
// ResourceManager tells that through amrm.
package nmclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Errors of calls, for errors.Is, beside those of package yarnrpc.
var (
	// ErrNoToken says that no NM token for the node was given to SetTokens.
	ErrNoToken = errors.New("there is no NM token for the node")
	// ErrTokenExpired says that a container was not started in time
	// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms, 10 min):
	// YARN has taken it back, or is about to.
	ErrTokenExpired = errors.New("the container's token has expired")
	// ErrClosed is a call after Close.
	ErrClosed = errors.New("node manager client is closed")
)

// maxIdle closes the connection to a node that nothing was asked of for so
// long. Starts come in bursts, and there may be thousands of nodes.
const maxIdle = 5 * time.Second

// Options configure a Client. The zero value is ready to use.
type Options struct {
	// RPC says how connections behave. New sets the protocol, the tokens and how long
	// an idle connection lives; an RPCTimeout of 0 is 60 s (yarn.rpc.nm-command-timeout).
	RPC yarnrpc.Options
	// Policy bounds the tries at a NodeManager that cannot be reached or is not
	// ready (it has restarted and not heard from the ResourceManager yet);
	// DefaultPolicy when zero.
	Policy yarnrpc.Policy
}

// FromConf takes times and the behaviour of connections from a Hadoop
// configuration.
func FromConf(conf *hadoopconf.Conf) (Options, error) {
	rpc, err := yarnrpc.OptionsFrom(conf)
	if err != nil {
		return Options{}, err
	}
	o := Options{RPC: rpc, Policy: DefaultPolicy()}
	if o.RPC.RPCTimeout, err = conf.Duration("yarn.rpc.nm-command-timeout", time.Millisecond); err != nil {
		return Options{}, err
	}
	o.Policy.MaxWait, err = conf.Duration("yarn.client.nodemanager-connect.max-wait-ms", time.Millisecond)
	return o, err
}

// DefaultPolicy tries for 3 minutes, as
// yarn.client.nodemanager-connect.max-wait-ms, but sooner at first.
func DefaultPolicy() yarnrpc.Policy {
	return yarnrpc.Policy{MaxWait: 3 * time.Minute, BaseDelay: 200 * time.Millisecond, MaxDelay: 10 * time.Second}
}

const defaultCallTimeout = 60 * time.Second

// startPause is the wait before a start whose answer was lost is made again.
const startPause = time.Second

// node is a caller of one NodeManager; *yarnrpc.Proxy in earnest.
type node interface {
	yarnrpc.Caller
	Close() error
}

// Client speaks to any number of NodeManagers.
type Client struct {
	connect func(id records.NodeID) node

	mu     sync.Mutex // guards what follows
	closed bool
	tokens map[records.NodeID]*creds.Token
	nodes  map[records.NodeID]node
}

// New makes a Client without connections and tokens.
func New(o Options) *Client {
	if o.Policy == (yarnrpc.Policy{}) {
		o.Policy = DefaultPolicy()
	}
	if o.RPC.RPCTimeout == 0 {
		o.RPC.RPCTimeout = defaultCallTimeout
	}
	o.RPC.Protocol, o.RPC.MaxIdle = yarnrpc.ContainerManagementProtocol, maxIdle
	c := newClient(nil)
	c.connect = func(id records.NodeID) node {
		rpc := o.RPC
		rpc.Token = func(string) (*creds.Token, error) { return c.token(id) }
		return yarnrpc.NewProxy([]string{id.String()}, rpc, o.Policy)
	}
	return c
}

func newClient(connect func(records.NodeID) node) *Client {
	return &Client{
		connect: connect,
		tokens:  make(map[records.NodeID]*creds.Token),
		nodes:   make(map[records.NodeID]node),
	}
}

// Close ends all connections. Calls that run fail. It may be called twice.
func (c *Client) Close() error {
	c.mu.Lock()
	nodes := c.nodes
	c.nodes, c.closed = nil, true
	c.mu.Unlock()
	var failures []error
	for _, n := range nodes {
		failures = append(failures, n.Close())
	}
	return errors.Join(failures...)
}

// SetTokens adds NM tokens, or replaces those of the same nodes for new
// connections. Every registration and every allocate response brings the tokens
// of its containers' nodes; YARN sends each only once.
func (c *Client) SetTokens(tokens map[records.NodeID]*creds.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.tokens, tokens)
}

func (c *Client) token(id records.NodeID) (*creds.Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	token, ok := c.tokens[id]
	if !ok {
		return nil, ErrNoToken
	}
	return token, nil
}

func (c *Client) node(id records.NodeID) (node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if _, ok := c.tokens[id]; !ok {
		return nil, ErrNoToken
	}
	n, ok := c.nodes[id]
	if !ok {
		n = c.connect(id)
		c.nodes[id] = n
	}
	return n, nil
}

// Start starts a container. Success means that the NodeManager has taken it
// over: localization and the process may still fail, which shows as the
// container's completion. A start that may or may not have been executed is
// looked up before it is tried again; tries end with the context or the policy,
// and where they end in doubt yarnrpc.MaybeSent says so.
//
// Otherwise the error is ErrTokenExpired, ErrNoToken, or a *yarnrpc.RemoteError
// where the NodeManager refused. After any error the container is to be released.
func (c *Client) Start(ctx context.Context, container records.Container, launch records.ContainerLaunchContext) error {
	if err := c.start(ctx, container, launch); err != nil {
		return fmt.Errorf("start %s on %s: %w", container.ID, container.Node, err)
	}
	return nil
}

func (c *Client) start(ctx context.Context, container records.Container, launch records.ContainerLaunchContext) error {
	n, err := c.node(container.Node)
	if err != nil {
		return err
	}
	request := &yarnpb.StartContainersRequestProto{StartContainerRequest: []*yarnpb.StartContainerRequestProto{{
		ContainerLaunchContext: pbconv.ContainerLaunchContextProto(launch),
		ContainerToken:         pbconv.TokenProto(container.Token),
	}}}
	var lost error // of the last try that may have started it
	for {
		var response yarnpb.StartContainersResponseProto
		err := n.Call(ctx, "startContainers", request, &response)
		if err == nil {
			err = failure("startContainers", container.Node, response.GetFailedRequests())
		}
		if yarnrpc.MaybeSent(err) {
			lost = err
		}
		if err == nil || lost == nil || ctx.Err() != nil {
			return explainExpiry(err, container)
		}
		// A try whose answer was lost may have started it, even between the last
		// look and the refusal of this one.
		started, lookup := c.known(ctx, n, container.ID)
		switch {
		case lookup != nil:
			return fmt.Errorf("%w; looking for it: %w", lost, lookup)
		case started:
			return nil
		case !yarnrpc.MaybeSent(err):
			return explainExpiry(err, container)
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("%w, after: %w", err, lost)
		}
	}
}

func pause(ctx context.Context) error {
	timer := time.NewTimer(startPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// known reports whether the NodeManager has a container.
func (c *Client) known(ctx context.Context, n node, id records.ContainerID) (bool, error) {
	response, err := statuses(ctx, n, id)
	return err == nil && len(response.GetStatus()) > 0, err
}

// explainExpiry names the likely reason of a refusal, which the NodeManager
// tells in words only.
func explainExpiry(err error, container records.Container) error {
	if err == nil || container.Token == nil {
		return err
	}
	id, decodeError := identifier.DecodeContainer(container.Token)
	if decodeError == nil && !id.Expires.IsZero() && time.Now().After(id.Expires) {
		return fmt.Errorf("%w: %w", ErrTokenExpired, err)
	}
	return err
}

// Stop ends a container: its process group gets SIGTERM, and SIGKILL a little
// later (yarn.nodemanager.sleep-delay-before-sigkill.ms, 250 ms). It returns when
// the NodeManager has taken the order; the container completes with
// ExitKilledByAppMaster. A container that has ended shortly before is no error.
func (c *Client) Stop(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	err := c.stop(ctx, on, id)
	if err != nil {
		return fmt.Errorf("stop %s on %s: %w", id, on, err)
	}
	return nil
}

func (c *Client) stop(ctx context.Context, on records.NodeID, id records.ContainerID) error {
	n, err := c.node(on)
	if err != nil {
		return err
	}
	request := &yarnpb.StopContainersRequestProto{ContainerId: pbconv.ContainerIDProtos([]records.ContainerID{id})}
	var response yarnpb.StopContainersResponseProto
	if err := n.Call(ctx, "stopContainers", request, &response); err != nil {
		return err
	}
	return failure("stopContainers", on, response.GetFailedRequests())
}

// Statuses looks at containers on one node. Those that the NodeManager cannot
// tell of are in the error, with the statuses of the others.
func (c *Client) Statuses(ctx context.Context, on records.NodeID, ids ...records.ContainerID) ([]records.ContainerStatus, error) {
	n, err := c.node(on)
	if err != nil {
		return nil, fmt.Errorf("read container statuses on %s: %w", on, err)
	}
	response, err := statuses(ctx, n, ids...)
	if err == nil {
		err = failure("getContainerStatuses", on, response.GetFailedRequests())
	}
	if err != nil {
		err = fmt.Errorf("read container statuses on %s: %w", on, err)
	}
	return pbconv.ContainerStatuses(response.GetStatus()), err
}

func statuses(ctx context.Context, n node, ids ...records.ContainerID) (*yarnpb.GetContainerStatusesResponseProto, error) {
	request := &yarnpb.GetContainerStatusesRequestProto{ContainerId: pbconv.ContainerIDProtos(ids)}
	response := new(yarnpb.GetContainerStatusesResponseProto)
	err := n.Call(ctx, "getContainerStatuses", request, response)
	return response, err
}

// failure joins the exceptions that a NodeManager has for single containers.
func failure(method string, on records.NodeID, failed []*yarnpb.ContainerExceptionMapProto) error {
	var failures []error
	for _, f := range failed {
		message, _, _ := strings.Cut(f.GetException().GetMessage(), "\n")
		failures = append(failures, fmt.Errorf("%s: %w", pbconv.ContainerID(f.GetContainerId()), &yarnrpc.RemoteError{
			Address: on.String(), Method: method, Class: f.GetException().GetClassName(), Message: message,
		}))
	}
	return errors.Join(failures...)
}
