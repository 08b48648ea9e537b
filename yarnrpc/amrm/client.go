// Package amrm is the ApplicationMaster's client of YARN's ResourceManager
// (ApplicationMasterProtocol): registration, the allocate heartbeat with its
// table of asks and its response ids, and unregistration.
//
//	FromContainer, New   the client of this process
//	Register             once, before all else
//	SetAsk, Release      what is wanted, and what is given back
//	Heartbeats           a loop over Allocate: what has come, and what has ended
//	Finish               once, at the end
//
// SetSchedulingRequest wants containers by constraints on their places, Resize,
// Promote and Demote change running ones, Blacklist keeps hosts away. All of it
// is sent with the next Allocate. Processes are started in the containers by
// package nmclient, with the tokens that responses bring.
//
// A Client is owned by one goroutine, which calls Allocate as a heartbeat; the
// state between calls is a pure core (core.go, asks.go) that decides what the
// next request says. The package starts no goroutine of its own. When to call, and
// what to want, is the caller's to decide; Heartbeats has a pace for those who have
// nothing else to wait for.
package amrm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrAttemptGone says that YARN has given this attempt up: it was killed, has
// expired or was replaced by the next one. Nothing that it holds is its own any
// more; it must end without touching anything, and without unregistering.
var ErrAttemptGone = errors.New("yarn does not know this application attempt any more")

// Options configure a Client.
type Options struct {
	// Addresses are the scheduler addresses of all ResourceManagers
	// (yarn.resourcemanager.scheduler.address, port 8030).
	Addresses []string
	// Attempt is the attempt this process runs, from its container id.
	Attempt records.ApplicationAttemptID
	// Token is the AMRM token that YARN put into the container's credentials.
	Token *creds.Token
	// RPC says how connections behave; its logger hears of token roll-over and of
	// resynchronization, too. New sets the protocol and the token.
	RPC yarnrpc.Options
	// Policy bounds the tries of each call. Zero: one at each ResourceManager, for
	// callers whose heartbeat goes on after an error, and who want to hear of it.
	Policy yarnrpc.Policy
}

// FromConf takes addresses, retries (yarnrpc.ResourceManagerPolicy) and the behaviour
// of connections from a Hadoop configuration. Attempt and Token are the caller's to
// fill in.
func FromConf(conf *hadoopconf.Conf) (Options, error) {
	rms, err := conf.ResourceManagers()
	if err != nil {
		return Options{}, err
	}
	var o Options
	for _, rm := range rms {
		o.Addresses = append(o.Addresses, rm.Scheduler)
	}
	if o.Policy, err = yarnrpc.ResourceManagerPolicy(conf); err != nil {
		return Options{}, err
	}
	o.RPC, err = yarnrpc.OptionsFrom(conf)
	return o, err
}

// connection is the part of *yarnrpc.Proxy that is used.
type connection interface {
	yarnrpc.Caller
	Reset()
	Close() error
}

// Client speaks for one application attempt. It is not safe for concurrent use.
type Client struct {
	attempt records.ApplicationAttemptID
	rpc     connection
	token   *atomic.Pointer[creds.Token] // read by new connections
	log     *slog.Logger
	now     func() time.Time
	core    *core

	registration *RegisterRequest // nil until Register; sent again when YARN has forgotten it
	resynced     *Registration    // of a repeated registration, until a response carries it out
	nmTokens     map[records.NodeID]*creds.Token
	gone         error // wraps ErrAttemptGone: the last word on this attempt
}

// New makes a Client. It connects with the first call.
func New(o Options) *Client {
	log := o.RPC.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	token := new(atomic.Pointer[creds.Token])
	token.Store(o.Token)
	if o.Policy == (yarnrpc.Policy{}) {
		o.Policy = oneRound()
	}
	o.RPC.Protocol = yarnrpc.ApplicationMasterProtocol
	o.RPC.Token = func(context.Context, string) (*creds.Token, error) { return token.Load(), nil }
	return newClient(o.Attempt, yarnrpc.NewProxy(o.Addresses, o.RPC, o.Policy), token, log)
}

// oneRound tries each address once: its first wait would already end too late.
func oneRound() yarnrpc.Policy {
	return yarnrpc.Policy{MaxWait: time.Nanosecond, BaseDelay: time.Second, MaxDelay: time.Second}
}

func newClient(attempt records.ApplicationAttemptID, rpc connection, token *atomic.Pointer[creds.Token], log *slog.Logger) *Client {
	return &Client{attempt: attempt, rpc: rpc, token: token, log: log, now: time.Now, core: newCore(), nmTokens: make(map[records.NodeID]*creds.Token)}
}

// Close ends the connections. It does not unregister.
func (c *Client) Close() error { return c.rpc.Close() }

// SetAsk replaces all that is wanted under the ask's key. It is sent with the
// next Allocate, which also counts down what is outstanding for each container
// that comes: SetAsk is for changes of mind.
func (c *Client) SetAsk(ask Ask) { c.core.asks.set(ask) }

// SetSchedulingRequest replaces all that is wanted under the request's key, as
// SetAsk does for asks.
func (c *Client) SetSchedulingRequest(r SchedulingRequest) { c.core.requests.set(r) }

// Outstanding is how many containers are still to come under a key.
func (c *Client) Outstanding(key AskKey) int {
	return c.core.asks.outstanding(key) + c.core.requests.outstanding(key)
}

// Resize asks for another size of a running container, with the next Allocate:
// more of each resource, or less. The result comes in Response.Updated or
// UpdateErrors (AMRMClient#requestContainerUpdate). Errors wrap
// ErrUpdateOutstanding and ErrUpdateUseless.
func (c *Client) Resize(container records.Container, to records.Resource) error {
	update, err := resize(container, to)
	if err != nil {
		return err
	}
	return c.core.updates.add(update)
}

// Promote asks to make an opportunistic container a guaranteed one, as Resize
// does for its size.
func (c *Client) Promote(container records.Container) error {
	return c.retype(container, Promote, records.ExecutionGuaranteed)
}

// Demote asks to make a guaranteed container an opportunistic one, as Resize does
// for its size.
func (c *Client) Demote(container records.Container) error {
	return c.retype(container, Demote, records.ExecutionOpportunistic)
}

func (c *Client) retype(container records.Container, kind UpdateType, to records.ExecutionType) error {
	update, err := retype(container, kind, to)
	if err != nil {
		return err
	}
	return c.core.updates.add(update)
}

// NMTokens are the newest tokens of all nodes that this attempt has had containers
// on; each is told by YARN once (NMTokenCache). The map is the caller's.
func (c *Client) NMTokens() map[records.NodeID]*creds.Token { return maps.Clone(c.nmTokens) }

// Release gives containers back with the next Allocate, started or not. Their
// completion comes with status ExitAborted. One that is still being started has to be
// stopped at its node, too, when its start has been answered (nmclient's Stop): YARN
// tells the node to end what it does not know yet, and the node runs it until the
// application ends.
func (c *Client) Release(ids ...records.ContainerID) { c.core.release(ids) }

// Blacklist changes the hosts that YARN is to avoid for this application, with
// the next Allocate.
func (c *Client) Blacklist(avoid, dontAvoid []string) {
	c.core.avoid(avoid)
	c.core.dontAvoid(dontAvoid)
}

// Changed reports whether asks, releases, updates or the blacklist wait to be
// sent: the caller may call Allocate at once rather than at its next beat.
func (c *Client) Changed() bool { return c.core.pending() }

// call makes a call and recognizes the end of the attempt, which is final.
func (c *Client) call(ctx context.Context, method string, request, response proto.Message) error {
	if c.gone != nil {
		return c.gone
	}
	err := c.rpc.Call(ctx, method, request, response)
	if errors.Is(err, yarnrpc.ErrApplicationAttemptNotFound) || errors.Is(err, yarnrpc.ErrInvalidToken) {
		c.gone = fmt.Errorf("%w: %w", ErrAttemptGone, err)
		return c.gone
	}
	return err
}
