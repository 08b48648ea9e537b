// Package haservice asks a server of a high-availability pair whether it is the active
// one, and changes that (HAServiceProtocol, Java's HAServiceTarget and the commands of
// `haadmin`).
//
// Each server is asked by itself, at an address of its own: a NameNode where its
// clients find it (hadoopconf's NameNodes), a ResourceManager where administrators do
// (hadoopconf.ResourceManager's Admin). The answer is of the moment. Whoever wants a
// call to reach the active server gives all addresses to a yarnrpc.Proxy, which finds
// it; this package is for those who show or check the state, and for administrators
// where no failover controller changes it.
//
// A Client may be used from any goroutine and starts none besides those of its
// connection.
package haservice

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// ErrNotPaired is a server that works alone: it is configured without high
// availability.
var ErrNotPaired = errors.New("server is not one of a high-availability pair")

// State is the part that a server plays (HAServiceProtocol.HAServiceState).
type State string

const (
	Initializing State = "INITIALIZING" // it is starting, or stopping
	Active       State = "ACTIVE"
	Standby      State = "STANDBY"
	Observer     State = "OBSERVER" // a NameNode that answers reads
)

// Status is what a server says of itself (HAServiceStatus).
type Status struct {
	// State is empty for one that Hadoop got later than this package.
	State State
	// Ready says that a standby could become active now, and NotReady why it could not.
	Ready    bool
	NotReady string
}

// Client speaks to one server.
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

// Status asks once (getServiceStatus): a server that cannot be reached is an error at
// once, which is what one wants to know. One that works alone is ErrNotPaired, one
// that tells administrators only yarnrpc.ErrAccessControl.
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

// TransitionToActive makes a standby the active server (transitionToActive). It asks
// nobody and fences nobody: that the other server is dead, or standby, is the caller's
// to know. A server that is active already stays so. One whose failover is automatic
// refuses with yarnrpc.ErrAccessControl, as it does users who are not administrators.
func (c *Client) TransitionToActive(ctx context.Context) error {
	request := &commonpb.TransitionToActiveRequestProto{ReqInfo: byUser()}
	if err := c.rpc.Call(ctx, "transitionToActive", request, new(commonpb.TransitionToActiveResponseProto)); err != nil {
		return fmt.Errorf("make %s active: %w", c.name, err)
	}
	return nil
}

// TransitionToStandby makes the active server a standby (transitionToStandby), from
// when on its clients have none until another is made active. Errors are those of
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

// alone reports whether err is what servers without high availability answer: a
// ResourceManager does not speak the protocol, and a NameNode
// (NameNode#getServiceStatus) has no other reason for this exception.
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
