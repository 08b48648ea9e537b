// Package amrm is the ApplicationMaster's client of YARN's ResourceManager
// (ApplicationMasterProtocol). It registers, sends the allocate heartbeat with the
// asks and the response id, and unregisters.
//
//	FromContainer, New   the client of this process
//	Register             once, before all else
//	SetAsk, Release      ask for containers, and give them back
//	Heartbeats           a loop over Allocate: new containers, ended containers
//	Finish               once, at the end
//
// SetSchedulingRequest asks for containers by placement constraints. Resize, Promote
// and Demote change running containers. Blacklist excludes hosts. The next Allocate
// sends all of these. Package nmclient starts processes in the containers, with the
// tokens of the responses.
//
// One goroutine owns a Client and calls Allocate as a heartbeat. The state between
// calls is a pure core (core.go, asks.go), which decides the content of the next
// request. The package starts no goroutine of its own. The caller decides when to
// call and which containers to ask for. A caller that waits for nothing else can
// use Heartbeats, which decides when to call.
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

// ErrAttemptGone says that YARN has given up this attempt: it was killed, has
// expired, or was replaced by the next attempt. The attempt owns nothing any more.
// Its process must end without changing anything and without unregistering.
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
	// RPC holds the options of connections. Its Logger also logs token roll-overs and
	// resynchronization. New sets its Protocol and Token.
	RPC yarnrpc.Options
	// Policy bounds the tries of each call. Zero: one try at each ResourceManager,
	// for callers that handle errors and continue the heartbeat themselves.
	Policy yarnrpc.Policy
}

// FromConf reads addresses, retries (yarnrpc.ResourceManagerPolicy) and the options
// of connections from a Hadoop configuration. The caller sets Attempt and Token.
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

// Client is the client of one application attempt. It is not safe for concurrent use.
type Client struct {
	attempt records.ApplicationAttemptID
	rpc     yarnrpc.Connection
	token   *atomic.Pointer[creds.Token] // read by new connections
	log     *slog.Logger
	core    *core

	registration *RegisterRequest // nil until Register; sent again when YARN has forgotten it
	resynced     *Registration    // of a repeated registration, until a response returns it
	nmTokens     map[records.NodeID]*creds.Token
	gone         error // wraps ErrAttemptGone; nil while the attempt is valid
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
	return newClient(o.Attempt, yarnrpc.Connect(o.Addresses, o.RPC, o.Policy), token, log)
}

// oneRound tries each address once, because its MaxWait is shorter than its first wait.
func oneRound() yarnrpc.Policy {
	return yarnrpc.Policy{MaxWait: time.Nanosecond, BaseDelay: time.Second, MaxDelay: time.Second}
}

func newClient(attempt records.ApplicationAttemptID, rpc yarnrpc.Connection, token *atomic.Pointer[creds.Token], log *slog.Logger) *Client {
	return &Client{attempt: attempt, rpc: rpc, token: token, log: log, core: newCore(), nmTokens: make(map[records.NodeID]*creds.Token)}
}

// Close ends the connections. It does not unregister.
func (c *Client) Close() error { return c.rpc.Close() }

// SetAsk replaces the ask of the same key. The next Allocate sends it. Allocate also
// reduces the outstanding number by each container that comes, so call SetAsk only to
// change the ask.
func (c *Client) SetAsk(ask Ask) { c.core.asks.set(ask) }

// SetSchedulingRequest replaces the request of the same key, as SetAsk does for asks.
func (c *Client) SetSchedulingRequest(r SchedulingRequest) { c.core.requests.set(r) }

// Outstanding returns the number of containers still to come under a key.
func (c *Client) Outstanding(key AskKey) int {
	return c.core.asks.outstanding(key) + c.core.requests.outstanding(key)
}

// Resize asks for another size of a running container, with the next Allocate. No
// resource may grow while another shrinks. The result comes in Response.Updated or
// UpdateErrors (AMRMClient#requestContainerUpdate). Errors wrap ErrUpdateOutstanding
// and ErrUpdateUseless.
func (c *Client) Resize(container records.Container, to records.Resource) error {
	update, err := resize(container, to)
	if err != nil {
		return err
	}
	return c.core.updates.add(update)
}

// Promote asks YARN to make an opportunistic container guaranteed. It works like
// Resize.
func (c *Client) Promote(container records.Container) error {
	return c.retype(container, Promote, records.ExecutionGuaranteed)
}

// Demote asks YARN to make a guaranteed container opportunistic. It works like
// Resize.
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

// NMTokens returns the newest tokens of all nodes on which this attempt has had
// containers. YARN sends each token only once (NMTokenCache). The caller owns the
// map.
func (c *Client) NMTokens() map[records.NodeID]*creds.Token { return maps.Clone(c.nmTokens) }

// Release gives back containers with the next Allocate, whether or not they were
// started. They complete with status ExitAborted. If the start of a container is
// under way, also stop it with nmclient's Stop when the start has been answered.
// Otherwise the node may get YARN's order to end the container before it gets the
// start. Then the container runs until the application ends.
func (c *Client) Release(ids ...records.ContainerID) { c.core.release(ids) }

// Blacklist changes the set of hosts that YARN avoids for this application. The next
// Allocate sends it.
func (c *Client) Blacklist(avoid, dontAvoid []string) {
	c.core.avoid(avoid)
	c.core.dontAvoid(dontAvoid)
}

// Changed reports whether asks, releases, updates or the blacklist wait to be sent.
// Then the caller may call Allocate at once instead of at its next beat.
func (c *Client) Changed() bool { return c.core.pending() }

// call makes a call. It remembers the end of the attempt, which is final.
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
