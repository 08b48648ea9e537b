// Package yarnclient is a client of YARN's ResourceManager. It has a method for each
// method of ApplicationClientProtocol, port 8032.
//
//	applications   NewApplication, Submit, ApplicationReport, Applications, Kill
//	updates        Move, UpdatePriority, UpdateLifetime
//	attempts       Attempt, Attempts, FailAttempt, Container, Containers, SignalContainer
//	cluster        ClusterMetrics, ClusterNodes, QueueInfo, QueueUserACLs
//	labels         NodeLabels, LabelsOfNodes, NodesOfLabels, NodeAttributes, AttributesOfNodes, NodesOfAttributes
//	resources      ResourceTypes, ResourceProfiles, ResourceProfile
//	tokens         DelegationToken, RenewDelegationToken, CancelDelegationToken
//	reservations   NewReservation, SubmitReservation, UpdateReservation, DeleteReservation, Reservations
//
// A Client may be used from any goroutine. It starts no goroutines besides those of
// its connection. After broken connections and fail-overs, it repeats a call for as
// long as Options.Policy allows. For most methods a repetition does no harm. The
// comments of the other methods say when the Client does not repeat the call. Errors
// wrap a *yarnrpc.RemoteError if the ResourceManager refused a call, and a
// *yarnrpc.CallError if it gave no answer. The package never waits until an
// application has done its work: for that, the caller calls ApplicationReport in a
// loop.
package yarnclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// Options configure a Client. FromConf reads them from a Hadoop configuration.
type Options struct {
	// Addresses are the client addresses of all ResourceManagers
	// (yarn.resourcemanager.address, port 8032). The Client finds the active one.
	Addresses []string
	// RPC holds the user and the options of connections. New sets its Protocol.
	RPC yarnrpc.Options
	// Policy bounds the tries of each call; DefaultPolicy when zero.
	Policy yarnrpc.Policy
	// PollInterval is the time between two reports that Submit or Kill asks for
	// while it waits; 0: 200 ms
	// (yarn.client.application-client-protocol.poll-interval-ms).
	PollInterval time.Duration
	// NamedTokens puts the names in Addresses, instead of IP addresses, into the
	// service of delegation tokens (hadoop.security.token.service.use_ip is false).
	NamedTokens bool
}

// DefaultPolicy tries an unreachable ResourceManager for 30 s. Hadoop's own clients
// try for 15 minutes (yarn.resourcemanager.connect.max-wait.ms), which is too long
// for an interactive program.
func DefaultPolicy() yarnrpc.Policy {
	return yarnrpc.Policy{MaxWait: 30 * time.Second, BaseDelay: 500 * time.Millisecond, MaxDelay: 4 * time.Second}
}

// FromConf reads addresses, intervals, retries (yarnrpc.ResourceManagerPolicy) and
// the options of connections from a Hadoop configuration. The default for retries is
// Hadoop's, 15 minutes. An interactive program should set Policy to DefaultPolicy.
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
	rpc.Server = yarnrpc.ServerFrom(conf, yarnrpc.ApplicationClientProtocol)
	o := Options{RPC: rpc}
	for _, rm := range rms {
		o.Addresses = append(o.Addresses, rm.Client)
	}
	if o.Policy, err = yarnrpc.ResourceManagerPolicy(conf); err != nil {
		return Options{}, err
	}
	if o.PollInterval, err = conf.Duration("yarn.client.application-client-protocol.poll-interval-ms", time.Millisecond); err != nil {
		return Options{}, err
	}
	useIP, err := conf.Bool("hadoop.security.token.service.use_ip")
	if err != nil {
		return Options{}, err
	}
	o.NamedTokens = !useIP
	return o, nil
}

const defaultPollInterval = 200 * time.Millisecond

// Client makes calls as one user.
type Client struct {
	rpc         yarnrpc.Caller
	close       func() error
	poll        time.Duration
	addresses   []string // of all ResourceManagers, for the service of delegation tokens
	namedTokens bool
}

// New makes a Client. It connects with the first call.
func New(o Options) *Client {
	if o.Policy == (yarnrpc.Policy{}) {
		o.Policy = DefaultPolicy()
	}
	o.RPC.Protocol = yarnrpc.ApplicationClientProtocol
	proxy := yarnrpc.Connect(o.Addresses, o.RPC, o.Policy)
	c := newClient(resourceManager{proxy}, proxy.Close, o.PollInterval)
	c.addresses, c.namedTokens = slices.Clone(o.Addresses), o.NamedTokens
	return c
}

// resourceManager adds "ResourceManager does not answer" to the error of a call that got
// no answer, unless the error is permanent or the caller's context has ended. It leaves
// other errors unchanged.
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
