// Package haservice asks a server of a high-availability pair for its state, and
// changes it (HAServiceProtocol, Java's HAServiceTarget and the commands of `haadmin`).
//
// Each server has its own Client. A NameNode answers at the address for its clients
// (hadoopconf's NameNodes), and a ResourceManager at the address for administrators
// (hadoopconf.ResourceManager's Admin). The answer holds only for the moment. To call
// the active server, give all addresses to a yarnrpc.Proxy, which finds it. This
// package is for programs that show or check the state, and for administrators of
// clusters without a failover controller.
//
// A Client may be used from any goroutine. It starts no goroutines besides those of its
// connection.
package haservice

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// ErrNotPaired says that the server is configured without high availability.
var ErrNotPaired = errors.New("server is not one of a high-availability pair")

// State is the state of a server (HAServiceProtocol.HAServiceState).
type State string

const (
	Initializing State = "INITIALIZING" // it is starting, or stopping
	Active       State = "ACTIVE"
	Standby      State = "STANDBY"
	Observer     State = "OBSERVER" // a NameNode that answers reads
)

// Status is a server's report of its state (HAServiceStatus).
type Status struct {
	// State is empty if this package does not know the state.
	State State
	// Ready is true if a standby could become active now. Otherwise NotReady is the
	// reason.
	Ready    bool
	NotReady string
}

// Client calls one server.
type Client struct {
	rpc   yarnrpc.Caller
	close func() error
	name  string
}

// New makes a Client of the server at address, host:port. It connects with the first
// call. New sets the options' protocol.
func New(address string, o yarnrpc.Options) *Client {
	o.Protocol = yarnrpc.HAServiceProtocol
	proxy := yarnrpc.NewProxy([]string{address}, o, yarnrpc.Policy{})
	return &Client{rpc: proxy, close: proxy.Close, name: address}
}

// Close ends the connection.
func (c *Client) Close() error { return c.close() }

// Status asks once (getServiceStatus). It does not retry: an unreachable server is an
// error at once. The error is ErrNotPaired if the server works without high
// availability, and yarnrpc.ErrAccessControl if it answers only administrators.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var response commonpb.GetServiceStatusResponseProto
	err := c.rpc.Call(ctx, "getServiceStatus", &commonpb.GetServiceStatusRequestProto{}, &response)
	switch {
	case alone(err):
		return Status{}, fmt.Errorf("read state of %s: %w: %w", c.name, ErrNotPaired, err)
	case err != nil:
		return Status{}, fmt.Errorf("read state of %s: %w", c.name, err)
	}
	return statusOf(&response), nil
}

// TransitionToActive makes a standby the active server (transitionToActive). It does
// not check and does not fence the other server: make sure first that the other server
// is dead or standby. A server that is active stays active. The error is
// yarnrpc.ErrAccessControl if the server's failover is automatic or the user is not an
// administrator.
func (c *Client) TransitionToActive(ctx context.Context) error {
	request := &commonpb.TransitionToActiveRequestProto{ReqInfo: byUser()}
	if err := c.rpc.Call(ctx, "transitionToActive", request, new(commonpb.TransitionToActiveResponseProto)); err != nil {
		return fmt.Errorf("make %s active: %w", c.name, err)
	}
	return nil
}

// TransitionToStandby makes the active server a standby (transitionToStandby). Then
// clients have no active server until another becomes active. The errors are those of
// TransitionToActive.
func (c *Client) TransitionToStandby(ctx context.Context) error {
	request := &commonpb.TransitionToStandbyRequestProto{ReqInfo: byUser()}
	if err := c.rpc.Call(ctx, "transitionToStandby", request, new(commonpb.TransitionToStandbyResponseProto)); err != nil {
		return fmt.Errorf("make %s standby: %w", c.name, err)
	}
	return nil
}

func byUser() *commonpb.HAStateChangeRequestInfoProto {
	return &commonpb.HAStateChangeRequestInfoProto{ReqSource: commonpb.HARequestSource_REQUEST_BY_USER.Enum()}
}

// alone reports whether err is the answer of a server without high availability. Such a
// ResourceManager does not speak the protocol. A NameNode has no other reason for this
// exception (NameNode#getServiceStatus).
func alone(err error) bool {
	remote, is := errors.AsType[*yarnrpc.RemoteError](err)
	return is && (remote.Is(yarnrpc.ErrNoSuchProtocol) || remote.Class == "org.apache.hadoop.ha.ServiceFailedException")
}

func statusOf(p *commonpb.GetServiceStatusResponseProto) Status {
	s := Status{Ready: p.GetReadyToBecomeActive(), NotReady: p.GetNotReadyReason()}
	if p != nil && p.State != nil {
		s.State = stateOf(*p.State)
	}
	return s
}

func stateOf(p commonpb.HAServiceStateProto) State {
	switch p {
	case commonpb.HAServiceStateProto_INITIALIZING:
		return Initializing
	case commonpb.HAServiceStateProto_ACTIVE:
		return Active
	case commonpb.HAServiceStateProto_STANDBY:
		return Standby
	case commonpb.HAServiceStateProto_OBSERVER:
		return Observer
	default:
		return ""
	}
}
