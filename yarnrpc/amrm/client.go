// Package amrm is the ApplicationMaster's client of YARN's ResourceManager
// (ApplicationMasterProtocol): registration, the allocate heartbeat with its
// table of asks and its response ids, and unregistration.
//
// A Client is owned by one goroutine, which calls Allocate as a heartbeat; the
// state between calls is a pure core (core.go, asks.go) that decides what the
// next request says. The package starts no goroutine of its own and never
// decides when to call: that, and what to want, is the caller's.
package amrm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
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
	log     logrus.FieldLogger
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
		log = silentLogger()
	}
	token := new(atomic.Pointer[creds.Token])
	token.Store(o.Token)
	if o.Policy == (yarnrpc.Policy{}) {
		o.Policy = oneRound()
	}
	o.RPC.Protocol = yarnrpc.ApplicationMasterProtocol
	o.RPC.Token = func(string) (*creds.Token, error) { return token.Load(), nil }
	return newClient(o.Attempt, yarnrpc.NewProxy(o.Addresses, o.RPC, o.Policy), token, log)
}

// oneRound tries each address once: its first wait would already end too late.
func oneRound() yarnrpc.Policy {
	return yarnrpc.Policy{MaxWait: time.Nanosecond, BaseDelay: time.Second, MaxDelay: time.Second}
}

func newClient(attempt records.ApplicationAttemptID, rpc connection, token *atomic.Pointer[creds.Token], log logrus.FieldLogger) *Client {
	return &Client{attempt: attempt, rpc: rpc, token: token, log: log, core: newCore(), nmTokens: make(map[records.NodeID]*creds.Token)}
}

// Close ends the connections. It does not unregister.
func (c *Client) Close() error { return c.rpc.Close() }

// RegisterRequest is where the ApplicationMaster can be found.
type RegisterRequest struct {
	Host        string // shown in application reports
	RPCPort     int    // likewise; -1 where there is none
	TrackingURL string // that YARN's proxy leads to; host:port alone is taken as http
	// Rules are constraints that hold for all containers with certain tags; they
	// need what SchedulingRequest needs.
	Rules []TagRule
}

// Registration is what YARN answers to Register.
type Registration struct {
	// Maximum is the largest container the application's queue gives. Zero when
	// the answer of an earlier try was lost.
	Maximum records.Resource
	Queue   string // full path, such as root.default
	ACLs    map[records.ApplicationAccess]string
	// CPUScheduled says that the scheduler looks at cores as well as memory.
	CPUScheduled bool
	// PreviousContainers still run, left by earlier attempts; only for
	// applications that keep containers across attempts.
	PreviousContainers []records.Container
	NMTokens           map[records.NodeID]*creds.Token // of their nodes
	// ResourceTypes are those that the cluster knows, memory and cores included.
	ResourceTypes []records.ResourceType
	// Profiles are named sizes of containers; nil where the cluster has none.
	Profiles []records.ResourceProfile
	// ClientToAMKey verifies the tokens of clients; secure clusters only. Secret.
	ClientToAMKey []byte
}

// Register announces the ApplicationMaster; once, before the first Allocate.
// After an error other than ErrAttemptGone it may be called again. Should an
// earlier try have registered without our hearing, YARN refuses the second and
// the Registration is empty.
func (c *Client) Register(ctx context.Context, r RegisterRequest) (Registration, error) {
	c.registration = &r
	registration, err := c.register(ctx)
	if err != nil {
		return Registration{}, fmt.Errorf("register %s: %w", c.attempt, err)
	}
	return registration, nil
}

func (c *Client) register(ctx context.Context) (Registration, error) {
	var response yarnpb.RegisterApplicationMasterResponseProto
	err := c.call(ctx, "registerApplicationMaster", registerProto(*c.registration), &response)
	if errors.Is(err, yarnrpc.ErrInvalidApplicationMasterRequest) {
		// It is registered already, or unknown: the next Allocate tells which.
		return Registration{}, nil
	}
	if err != nil {
		return Registration{}, err
	}
	registration := registrationOf(&response)
	maps.Copy(c.nmTokens, registration.NMTokens)
	return registration, nil
}

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

// SetTrackingURL replaces the registered URL with the next Allocate, on clusters
// of Hadoop 3.1 or later (AMRMClient#updateTrackingUrl). Call it after Register.
func (c *Client) SetTrackingURL(url string) {
	c.core.trackingURL = url
	if c.registration != nil {
		registration := *c.registration
		registration.TrackingURL = url
		c.registration = &registration
	}
}

// NMTokens are the newest tokens of all nodes that this attempt has had containers
// on; each is told by YARN once (NMTokenCache). The map is the caller's.
func (c *Client) NMTokens() map[records.NodeID]*creds.Token { return maps.Clone(c.nmTokens) }

// Release gives containers back with the next Allocate, started or not. Their
// completion comes with status ExitAborted.
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

// Response is what an Allocate brought. Every container and status is told once.
type Response struct {
	// Allocated are new containers, to be started within 10 minutes
	// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
	Allocated []records.Container
	// Surplus are new containers that nothing was outstanding for, as when an ask
	// was lowered while they were on their way: use them or Release them.
	Surplus []records.Container
	// Completed are containers that have ended, also those never started. The
	// next Allocate tells YARN that they have been taken note of.
	Completed []records.ContainerStatus
	// Updated are containers that Resize, Promote or Demote has changed, and those
	// that YARN has promoted by itself.
	Updated []UpdatedContainer
	// UpdateErrors are refused updates.
	UpdateErrors []*UpdateError
	// Rejected are scheduling requests that YARN has given up.
	Rejected []Rejection
	// UpdatedNodes have changed: come, gone, or been reconfigured.
	UpdatedNodes []records.NodeReport
	// PreviousContainers are of earlier attempts and still run.
	PreviousContainers []records.Container
	// NMTokens are for nodes used for the first time, or replace older ones.
	NMTokens map[records.NodeID]*creds.Token
	// Headroom is what the application's queue still has room for.
	Headroom records.Resource
	// Enhanced is told on clusters with opportunistic containers only; else zero.
	Enhanced     EnhancedHeadroom
	ClusterNodes int
	// Priority is the application's; higher goes first.
	Priority   records.Priority
	Preemption Preemption
	// Collector takes this application's events for the timeline service, version
	// 2; nil when YARN has not told it with this response.
	Collector *Collector
	// Resynced says that the ResourceManager had restarted: registration, asks
	// and releases have been sent again.
	Resynced bool
}

// Preemption names containers that YARN is about to take back.
type Preemption struct {
	Strict     []records.ContainerID // will be killed
	Negotiable []records.ContainerID // will be killed unless as much is released elsewhere
	// Wanted is how much "as much" is: containers of any choice that cover it may
	// be released in place of Negotiable.
	Wanted []WantedBack
}

// WantedBack is an amount that YARN wants back, as containers of a size on a place.
type WantedBack struct {
	Priority   records.Priority
	Place      string // host, rack or "*"
	Capability records.Resource
	Count      int
}

// EnhancedHeadroom is a measure for how many opportunistic containers to ask for
// (org.apache.hadoop.yarn.api.records.EnhancedHeadroom).
type EnhancedHeadroom struct {
	Pending     int // containers that wait in the queues of all NodeManagers
	ActiveCores int // of the cluster
}

// Collector is a timeline collector.
type Collector struct {
	Address string       // host:port
	Token   *creds.Token // nil without security
}

// maxResyncs bounds the repairs within one Allocate.
const maxResyncs = 3

// Allocate is the heartbeat: it sends what has changed and brings what YARN has
// for the application. It must be called at least every
// yarn.am.liveness-monitor.expiry-interval-ms (15 min by default); asks are
// answered at the beats after NodeManagers have reported. progress is 0 to 1.
//
// It tries for as long as Options.Policy allows. After an error nothing is lost and
// Allocate is to be called again, but for these:
//   - ErrAttemptGone: end, touching nothing;
//   - yarnrpc.ErrInvalidResourceRequest, yarnrpc.ErrInvalidBlacklistRequest: the
//     same is refused again until the caller has changed it.
func (c *Client) Allocate(ctx context.Context, progress float32) (Response, error) {
	var err error
	for range maxResyncs {
		var response Response
		if response, err = c.allocate(ctx, progress); err == nil {
			return response, nil
		}
		again, repairError := c.repair(ctx, err)
		if repairError != nil {
			err = repairError
		}
		if !again || repairError != nil {
			break
		}
	}
	return Response{}, fmt.Errorf("allocate for %s: %w", c.attempt, err)
}

func (c *Client) allocate(ctx context.Context, progress float32) (Response, error) {
	request := c.core.next(progress)
	var response yarnpb.AllocateResponseProto
	if err := c.call(ctx, "allocate", allocateProto(request), &response); err != nil {
		c.core.failed(fateOf(err))
		return Response{}, err
	}
	r := responseOf(&response)
	r.Allocated, r.Surplus = c.core.answered(answer{
		responseID: response.GetResponseId(),
		allocated:  r.Allocated,
		completed:  r.Completed,
		updated:    r.Updated,
		refused:    r.UpdateErrors,
		rejected:   r.Rejected,
	})
	maps.Copy(c.nmTokens, r.NMTokens)
	if token := pbconv.Token(response.GetAmRmToken()); token != nil {
		// Only connections made from now on use the new key, and YARN repeats the
		// token until it sees one.
		c.log.WithField("attempt", c.attempt).Info("AMRM token was rolled over")
		c.token.Store(token)
		c.rpc.Reset()
	}
	if c.resynced != nil {
		r.Resynced = true
		r.PreviousContainers = append(r.PreviousContainers, c.resynced.PreviousContainers...)
		for node, token := range c.resynced.NMTokens {
			if _, newer := r.NMTokens[node]; !newer {
				r.NMTokens[node] = token
			}
		}
		c.resynced = nil
	}
	return r, nil
}

// fateOf says what an error of an allocate means for its request. YARN's own
// exceptions come from the allocate itself, others from the way there: a standby,
// an overloaded server, a failed authentication.
func fateOf(err error) failure {
	switch {
	case yarnrpc.MaybeSent(err):
		return failureLost
	case errors.Is(err, yarnrpc.ErrYarn):
		return failureRefused
	default:
		return failureUnsent
	}
}

// repair mends what an error of allocate says is out of step, and reports
// whether allocate is worth another call at once.
func (c *Client) repair(ctx context.Context, err error) (again bool, repairError error) {
	switch {
	case errors.Is(err, yarnrpc.ErrApplicationMasterNotRegistered):
		if c.registration == nil {
			return false, nil
		}
		c.log.WithField("attempt", c.attempt).Warn("yarn has forgotten the registration: registering again")
		c.core.forgotten()
		c.resynced = &Registration{} // all that is known should the answer get lost
		registration, err := c.register(ctx)
		if err != nil {
			return false, err
		}
		c.resynced = &registration
		return true, nil
	case errors.Is(err, yarnrpc.ErrInvalidApplicationMasterRequest):
		id, ok := expectedResponseID(err)
		if ok {
			c.log.WithField("attempt", c.attempt).WithField("response_id", id).Warn("response ids differ: taking over yarn's")
			c.core.expect(id)
		}
		return ok, nil
	case errors.Is(err, yarnrpc.ErrInvalidContainerRelease):
		c.core.dropForeignReleases(c.attempt)
		return false, nil
	default:
		return false, nil
	}
}

// expectedResponseID finds the id that the ResourceManager wants in its refusal.
// It tells it in words only (AMRMClientUtils#assembleInvalidResponseIdExceptionMessage).
func expectedResponseID(err error) (int32, bool) {
	var remote *yarnrpc.RemoteError
	if !errors.As(err, &remote) {
		return 0, false
	}
	_, rest, ok := strings.Cut(remote.Message, "expect responseId to be ")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, ",")
	digits, _, _ = strings.Cut(digits, " ")
	id, err := strconv.ParseInt(digits, 10, 32)
	return int32(id), err == nil && id >= 0
}

// Waits of Finish between two tries.
const (
	unregisterPoll    = 100 * time.Millisecond // as AMRMClientImpl has it
	maxUnregisterWait = 2 * time.Second
)

// Finish unregisters with the application's final status. It returns when YARN
// has recorded it, which outlives this process; broken connections and
// restarts of the ResourceManager are retried until the context ends.
// trackingURL replaces the registered one, unless empty. No Allocate may follow.
func (c *Client) Finish(ctx context.Context, status records.FinalApplicationStatus, diagnostics, trackingURL string) error {
	request := finishProto(status, diagnostics, trackingURL)
	reached := false // a try may have been executed
	for wait := unregisterPoll; ; {
		var response yarnpb.FinishApplicationMasterResponseProto
		err := c.call(ctx, "finishApplicationMaster", request, &response)
		switch {
		case err == nil && response.GetIsUnregistered():
			return nil
		case err == nil: // accepted, and being recorded
			reached, wait = true, unregisterPoll
		case errors.Is(err, ErrAttemptGone) && reached:
			return nil
		case errors.Is(err, yarnrpc.ErrApplicationMasterNotRegistered) && c.registration != nil:
			if _, err := c.register(ctx); err != nil && yarnrpc.Classify(err) == yarnrpc.Permanent {
				return fmt.Errorf("finish %s: %w", c.attempt, err)
			}
		case yarnrpc.Classify(err) == yarnrpc.FailOver || yarnrpc.Classify(err) == yarnrpc.RetrySame:
			reached = reached || yarnrpc.MaybeSent(err)
			wait = min(2*wait, maxUnregisterWait)
		default:
			return fmt.Errorf("finish %s: %w", c.attempt, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if err == nil {
				return fmt.Errorf("finish %s: %w while yarn recorded it", c.attempt, context.Cause(ctx))
			}
			return fmt.Errorf("finish %s: %w, after: %w", c.attempt, context.Cause(ctx), err)
		}
	}
}

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
