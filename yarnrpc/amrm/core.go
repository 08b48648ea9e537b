package amrm

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// core is the ApplicationMaster's side of the allocate protocol. It holds what is to be
// sent, what was sent without an answer, and what a restarted ResourceManager must get
// again. It does no I/O.
//
// It keeps these rules (ApplicationMasterService#allocate):
//   - A request carries the id of the last response. With the id of the response before
//     that, the ResourceManager repeats its last response and ignores the request's
//     content. It refuses any other id. So only one request is in flight at a time. If
//     its answer is lost, the same request is sent again, unchanged.
//   - If the ResourceManager refuses a request for its content, neither this try nor an
//     earlier one has changed anything, because it compares ids first.
//   - The scheduler ignores scheduling requests in a request whose asks change anything
//     (CapacityScheduler#allocate). So the two are sent in turns.
//   - An update of a container is sent once. It stays outstanding until it is carried out
//     or refused, or the container has completed.
//   - A request acknowledges the completed containers of the response before it.
//   - After its restart the ResourceManager needs a registration, the id 0, and all
//     content again.
//
//bobbin:pure
type core struct {
	asks       askTable
	requests   requestTable
	updates    updateTable
	responseID int32
	unanswered *allocation // sent, and perhaps executed

	releases  map[records.ContainerID]bool // until YARN says they have completed; true: YARN has been told
	blacklist map[string]bool              // hosts to avoid; true: YARN has been told
	cleared   map[string]bool              // hosts to avoid no longer; not sent yet

	trackingURL  string // a new one, not sent yet
	requestsLast bool   // the last request had scheduling requests
}

// allocation is one allocate request.
type allocation struct {
	responseID       int32
	progress         float32
	asks             []resourceRequest
	versions         map[AskKey]int    // of the keys in asks
	fresh            []resourceRequest // of asks: places that were in no earlier request
	requests         requestChanges
	updates          []ContainerUpdate
	trackingURL      string
	release          []records.ContainerID
	avoid, dontAvoid []string
	maybeApplied     bool // a try of it had no answer
}

func newCore() *core {
	return &core{
		asks:      newAskTable(),
		requests:  newRequestTable(),
		updates:   make(updateTable),
		releases:  make(map[records.ContainerID]bool),
		blacklist: make(map[string]bool),
		cleared:   make(map[string]bool),
	}
}

// release is sent again if it is asked for again. YARN drops the release of a container that it does not know yet,
// because its NodeManager is away, and ignores that of one that has completed.
func (c *core) release(ids []records.ContainerID) {
	for _, id := range ids {
		c.releases[id] = false
	}
}

func (c *core) avoid(hosts []string) {
	for _, host := range hosts {
		delete(c.cleared, host)
		if _, ok := c.blacklist[host]; !ok {
			c.blacklist[host] = false
		}
	}
}

func (c *core) dontAvoid(hosts []string) {
	for _, host := range hosts {
		if _, ok := c.blacklist[host]; ok {
			delete(c.blacklist, host)
			c.cleared[host] = true
		}
	}
}

// pending reports whether the next request has content beyond the heartbeat.
func (c *core) pending() bool {
	return c.unanswered != nil || c.asks.pending() || c.requests.pending() || len(c.updates.untold()) > 0 ||
		c.trackingURL != "" || len(c.cleared) > 0 ||
		len(untold(c.releases)) > 0 || len(untold(c.blacklist)) > 0
}

func untold[K comparable](told map[K]bool) []K {
	var keys []K
	//bobbin:anyorder the callers sort or count them
	for key, done := range told {
		if !done {
			keys = append(keys, key)
		}
	}
	return keys
}

// next returns the request to send: the unanswered one, or a new one.
func (c *core) next(now time.Time, progress float32) *allocation {
	if c.unanswered != nil {
		return c.unanswered
	}
	c.asks.relax(now)
	a := &allocation{responseID: c.responseID, progress: progress}
	a.release = slices.SortedFunc(slices.Values(untold(c.releases)), compareContainers)
	a.avoid = slices.Sorted(slices.Values(untold(c.blacklist)))
	a.dontAvoid = slices.Sorted(maps.Keys(c.cleared))
	if c.requests.pending() && !(c.requestsLast && c.asks.pending()) {
		a.requests = c.requests.sending()
	} else {
		a.asks, a.versions = c.asks.changes()
		a.fresh = c.asks.sending(a.asks)
	}
	c.requestsLast = len(a.requests.requests) > 0
	a.updates = c.updates.untold()
	a.trackingURL = c.trackingURL
	c.unanswered = a
	return a
}

// answer is the part of a response that the core needs.
type answer struct {
	responseID int32
	allocated  []records.Container
	completed  []records.ContainerStatus
	updated    []UpdatedContainer
	refused    []*UpdateError
	rejected   []Rejection
}

// answered handles the response to the unanswered request. It divides the new containers
// into those that were outstanding and the surplus.
func (c *core) answered(r answer) (wanted, surplus []records.Container) {
	a := c.unanswered
	c.unanswered = nil
	c.responseID = r.responseID
	c.asks.sent(a.asks, a.versions)
	c.requests.sent(a.requests)
	c.updates.sent(a.updates)
	if c.trackingURL == a.trackingURL {
		c.trackingURL = ""
	}
	for _, id := range a.release {
		c.releases[id] = true
	}
	for _, host := range a.avoid {
		if _, ok := c.blacklist[host]; ok {
			c.blacklist[host] = true
		} else { // taken back while the request was on its way
			c.cleared[host] = true
		}
	}
	for _, host := range a.dontAvoid {
		delete(c.cleared, host)
		if _, ok := c.blacklist[host]; ok {
			c.blacklist[host] = false
		}
	}
	for _, status := range r.completed {
		delete(c.releases, status.ID)
		delete(c.updates, status.ID)
	}
	for _, updated := range r.updated {
		delete(c.updates, updated.Container.ID)
	}
	for _, refused := range r.refused {
		delete(c.updates, refused.Update.Container)
	}
	for _, rejection := range r.rejected {
		c.requests.rejected(rejection)
	}
	for _, container := range r.allocated {
		if c.asks.allocated(container, a.versions) || c.requests.allocated(keyOf(container), a.requests) {
			wanted = append(wanted, container)
		} else {
			surplus = append(surplus, container)
		}
	}
	return wanted, surplus
}

// failure says whether a failed try of a request may have been applied.
type failure int

const (
	failureLost    failure = iota + 1 // it may have been applied
	failureUnsent                     // this try has not been applied; an earlier one may have been
	failureRefused                    // YARN refused it: no try has been applied
)

// failed handles a failed try of the unanswered request. If no try can have been applied,
// it drops the request, and a new one sends the content again.
func (c *core) failed(f failure) {
	a := c.unanswered
	a.maybeApplied = a.maybeApplied || f == failureLost
	if a.maybeApplied && f != failureRefused {
		return
	}
	c.asks.notSent(a.fresh)
	c.requests.notSent(a.requests)
	c.unanswered = nil
}

// dropForeignReleases forgets the releases of other attempts' containers. YARN refuses
// every request that names such a container.
func (c *core) dropForeignReleases(own records.ApplicationAttemptID) {
	maps.DeleteFunc(c.releases, func(id records.ContainerID, told bool) bool {
		return !told && id.Attempt != own
	})
}

// expect sets the response id that the ResourceManager expects. The core does not know
// which requests the ResourceManager has missed, so it sends all content again.
func (c *core) expect(responseID int32) {
	c.forgotten()
	c.responseID = responseID
}

// forgotten prepares the core for a ResourceManager that knows only the application's
// registration.
func (c *core) forgotten() {
	c.unanswered = nil
	c.responseID = 0
	c.asks.forget()
	c.requests.forget()
	c.updates.forget()
	for id := range c.releases {
		c.releases[id] = false
	}
	for host := range c.blacklist {
		c.blacklist[host] = false
	}
	clear(c.cleared)
}

func compareContainers(a, b records.ContainerID) int { return a.Compare(b) }
