// Package nmclient is an ApplicationMaster's client of YARN's NodeManagers
// (ContainerManagementProtocol, Java's NMClient). It starts, stops, signals and resizes
// containers. It brings further files into running containers, and gives them new launch
// contexts, which can be rolled back.
//
// A Client may be used from any goroutine, and calls to different nodes run in parallel.
// The Client connects to a node at the first call; an idle connection closes itself.
// Methods for containers on many nodes (StartAll, StopAll, StatusesAll) make one call for
// each node, Options.Parallel of them at once. Their goroutines end before they return.
// Their errors are Failures, which name each container. The Client does not keep a list
// of containers and their states: the ResourceManager reports these through amrm.
//
// If the answer of a call is lost, the Client repeats the call if that does no harm. It
// repeats stops and queries, and it repeats a start after a query of the container's
// status. It does not repeat Signal, Update, Localize, Reinitialize, Restart, Rollback
// and Commit; yarnrpc.MaybeSent tells whether such a call may have been executed.
//
// The package has all methods of the protocol but increaseContainersResource. Hadoop has
// replaced that by updateContainer, which is Update.
package nmclient

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Errors of calls, for errors.Is, beside those of package yarnrpc.
var (
	// ErrNoToken says that SetTokens has not received an NM token for the node.
	ErrNoToken = errors.New("no NM token for the node")
	// ErrTokenExpired says that a container was not started in time
	// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms, 10 min). YARN has
	// taken it back or is about to.
	ErrTokenExpired = errors.New("the container's token has expired")
	// ErrNotTold says that a NodeManager's answer leaves out the container: the node does
	// not have it.
	ErrNotTold = errors.New("the NodeManager does not report the container")
	// ErrClosed says that the Client was closed before the call.
	ErrClosed = errors.New("node manager client is closed")
)

// maxIdle is the time after which an unused connection to a node closes. Starts come in
// bursts, and there may be thousands of nodes.
const maxIdle = 5 * time.Second

// Options configure a Client. The zero value is ready to use.
type Options struct {
	// RPC holds the options of connections. New sets Protocol, Token and MaxIdle. An
	// RPCTimeout of 0 means 60 s (yarn.rpc.nm-command-timeout).
	RPC yarnrpc.Options
	// Policy bounds the tries at a NodeManager that is unreachable or not ready. It is
	// not ready after a restart, until it hears from the ResourceManager. Zero means
	// DefaultPolicy.
	Policy yarnrpc.Policy
	// Parallel bounds the nodes that one StartAll, StopAll or StatusesAll calls at
	// once. 0: 50.
	Parallel int
}

// FromConf reads times, retries (yarnrpc.NodeManagerPolicy) and the options of
// connections from a Hadoop configuration. Hadoop's retries are 10 s apart. Set Policy if
// a start should notice sooner that a node is ready again.
func FromConf(conf *hadoopconf.Conf) (Options, error) {
	rpc, err := yarnrpc.OptionsFrom(conf)
	if err != nil {
		return Options{}, err
	}
	o := Options{RPC: rpc}
	if o.RPC.RPCTimeout, err = conf.Duration("yarn.rpc.nm-command-timeout", time.Millisecond); err != nil {
		return Options{}, err
	}
	o.Policy, err = yarnrpc.NodeManagerPolicy(conf)
	return o, err
}

// DefaultPolicy tries for 3 minutes, as yarn.client.nodemanager-connect.max-wait-ms, but
// with shorter waits at first.
func DefaultPolicy() yarnrpc.Policy {
	return yarnrpc.Policy{MaxWait: 3 * time.Minute, BaseDelay: 200 * time.Millisecond, MaxDelay: 10 * time.Second}
}

const (
	defaultCallTimeout = 60 * time.Second
	defaultParallel    = 50
)

// Client calls any number of NodeManagers.
type Client struct {
	connect  func(id records.NodeID) yarnrpc.Connection
	parallel int

	mu     sync.Mutex // guards what follows
	closed bool
	tokens map[records.NodeID]*creds.Token
	nodes  map[records.NodeID]yarnrpc.Connection
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
	if o.Parallel > 0 {
		c.parallel = o.Parallel
	}
	c.connect = func(id records.NodeID) yarnrpc.Connection {
		rpc := o.RPC
		rpc.Token = func(context.Context, string) (*creds.Token, error) { return c.token(id) }
		return yarnrpc.Connect([]string{id.String()}, rpc, o.Policy)
	}
	return c
}

func newClient(connect func(records.NodeID) yarnrpc.Connection) *Client {
	return &Client{
		connect:  connect,
		parallel: defaultParallel,
		tokens:   make(map[records.NodeID]*creds.Token),
		nodes:    make(map[records.NodeID]yarnrpc.Connection),
	}
}

// Close ends all connections. Running calls fail. It may be called twice.
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

// SetTokens adds NM tokens, or replaces those of the same nodes. Registrations and
// allocate responses hold the tokens of their containers' nodes. YARN sends each token
// only once, and a new one after it has rolled the key
// (yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs). After a token is
// replaced, running calls get their answers on the old connection, and the next call
// makes a new connection.
func (c *Client) SetTokens(tokens map[records.NodeID]*creds.Token) {
	for _, n := range c.replace(tokens) {
		n.Reset()
	}
}

// replace returns the connected nodes whose token has changed.
func (c *Client) replace(tokens map[records.NodeID]*creds.Token) []yarnrpc.Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	var stale []yarnrpc.Connection
	for id, token := range tokens {
		old, had := c.tokens[id]
		if had && same(old, token) {
			continue
		}
		c.tokens[id] = token
		if n, connected := c.nodes[id]; had && connected {
			stale = append(stale, n)
		}
	}
	return stale
}

func same(a, b *creds.Token) bool {
	return bytes.Equal(a.Identifier, b.Identifier) && bytes.Equal(a.Password, b.Password)
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

// node returns the caller of a NodeManager and its current token.
func (c *Client) node(id records.NodeID) (yarnrpc.Connection, *creds.Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	token, ok := c.tokens[id]
	if !ok {
		return nil, nil, ErrNoToken
	}
	n, ok := c.nodes[id]
	if !ok {
		n = c.connect(id)
		c.nodes[id] = n
	}
	return n, token, nil
}

// call makes a call of one NodeManager. If the node refuses the login and a newer token
// has come meanwhile, call makes the call again with that token.
func (c *Client) call(ctx context.Context, on records.NodeID, method string, request, response proto.Message) error {
	n, used, err := c.node(on)
	if err != nil {
		return err
	}
	err = n.Call(ctx, method, request, response)
	if !loginRefused(err) {
		return err
	}
	if now, lookup := c.token(on); lookup != nil || now == used {
		return err
	}
	return n.Call(ctx, method, request, response)
}

// loginRefused reports whether the node has refused the token of the connection. A call's
// answer about a container's token does not count.
func loginRefused(err error) bool {
	remote, is := errors.AsType[*yarnrpc.RemoteError](err)
	return is && remote.Method == "" && remote.Is(yarnrpc.ErrInvalidToken)
}
