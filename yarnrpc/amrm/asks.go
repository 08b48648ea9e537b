package amrm

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// anyPlace is the resource name that every ask has (ResourceRequest#ANY). Its count is the
// number of outstanding containers, whatever the counts of hosts and racks.
const anyPlace = "*"

// AskKey identifies an ask. YARN keeps one capability for each key, so asks of different
// sizes need different keys.
type AskKey struct {
	Priority  records.Priority // YARN serves the lower number first
	RequestID int64            // comes back in Container.AllocationRequestID
	// ExecutionType is guaranteed if empty. YARN gives opportunistic containers at once;
	// they queue on their node if there is no room. The cluster needs
	// yarn.resourcemanager.opportunistic-container-allocation.enabled.
	ExecutionType records.ExecutionType
}

func compareKeys(a, b AskKey) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.RequestID, b.RequestID),
		cmp.Compare(a.ExecutionType, b.ExecutionType))
}

// canonical returns one name for an execution type. Guaranteed has two names: "" and
// records.ExecutionGuaranteed.
func canonical(t records.ExecutionType) records.ExecutionType {
	if t == records.ExecutionGuaranteed {
		return ""
	}
	return t
}

func (k AskKey) canonical() AskKey {
	k.ExecutionType = canonical(k.ExecutionType)
	return k
}

func (k AskKey) opportunistic() bool { return k.ExecutionType == records.ExecutionOpportunistic }

// keyOf returns the key of the ask that a container answers.
func keyOf(c records.Container) AskKey {
	return AskKey{Priority: c.Priority, RequestID: c.AllocationRequestID, ExecutionType: c.ExecutionType}.canonical()
}

// Ask asks for Count more containers of one size under one key. Allocate sends it as
// ResourceRequests, one for each named place and one for any place.
type Ask struct {
	Key        AskKey
	Capability records.Resource
	// Count is the number of containers still to come; 0 cancels the ask.
	Count int
	// Hosts are the preferred hosts; see Spread. Their counts may add up to more than
	// Count, which is the limit. Without hosts the scheduler uses any node, but gives only
	// one container per NodeManager heartbeat.
	Hosts []HostAsk
	// Racks are further preferred racks.
	Racks []RackAsk
	// Strict allows only the named hosts and racks. Without it, YARN uses others after it
	// has missed a number of scheduling opportunities:
	// yarn.scheduler.capacity.node-locality-delay for another host of the rack, and
	// rack-locality-additional-delay for another rack. Under a CapacityScheduler whose
	// node-locality-delay is above 0, as by default, a strict ask with only racks waits for
	// ever, as records.MasterPlace explains. Name the hosts too.
	Strict bool
	// RelaxAfter ends Strict for the containers that are still outstanding after this time.
	// The time begins with the Allocate that first sends the ask, and again when SetAsk
	// changes anything. The first Allocate after it allows other places. 0: the ask stays
	// strict.
	RelaxAfter time.Duration
	// Enforce forbids YARN to change the execution type of the containers by itself
	// (ExecutionTypeRequest#getEnforceExecutionType).
	Enforce bool
	// NodeLabel chooses a partition of the cluster. Empty: the application's partition.
	NodeLabel string
}

// HostAsk is the part of an ask that names a host.
type HostAsk struct {
	Host  string // as in records.NodeID
	Rack  string // as in records.NodeReport; empty: the host's rack is not named
	Count int
}

// RackAsk is the part of an ask that names a rack, with any host in it.
type RackAsk struct {
	Rack  string // as in records.NodeReport
	Count int
}

// resourceRequest is one entry of YARN's table: an absolute count for a place.
type resourceRequest struct {
	key        AskKey
	place      string // host, rack or "*"
	capability records.Resource
	count      int
	relax      bool
	enforce    bool
	label      string // on "*" only
}

// askTable mirrors the ResourceManager's table of this application's asks
// (AppSchedulingInfo): key → place → count. The ResourceManager lowers the counts itself
// with each container that it gives. The mirror does the same and sends nothing for it.
// Sent counts are absolute. If a key has changed, all its entries are sent.
type askTable struct {
	keys map[AskKey]*asked
}

type asked struct {
	ask         Ask // with Count as wanted at the last set
	outstanding int
	hosts       map[string]HostAsk
	racks       map[string]int
	told        map[string]bool  // places that the ResourceManager may have a count for
	accepted    records.Resource // the last capability that the ResourceManager accepted
	version     int              // grows with each set
	changed     bool             // to be sent
	since       time.Time        // of the first request with the ask; zero before it
	relaxed     bool             // RelaxAfter is over
}

func newAskTable() askTable { return askTable{keys: make(map[AskKey]*asked)} }

// set replaces the ask of a key.
func (t *askTable) set(ask Ask) {
	ask.Key = ask.Key.canonical()
	a, ok := t.keys[ask.Key]
	if !ok {
		if ask.Count <= 0 {
			return
		}
		a = &asked{told: make(map[string]bool)}
		t.keys[ask.Key] = a
	}
	next := asked{ask: ask, outstanding: max(ask.Count, 0), hosts: make(map[string]HostAsk), racks: make(map[string]int)}
	if next.outstanding > 0 {
		for _, h := range ask.Hosts {
			h.Count = min(h.Count, next.outstanding)
			if h.Count > 0 {
				next.hosts[h.Host] = h
			}
		}
		for _, h := range next.hosts {
			if h.Rack != "" {
				next.racks[h.Rack] = min(next.racks[h.Rack]+h.Count, next.outstanding)
			}
		}
		for _, r := range ask.Racks {
			if r.Count > 0 {
				next.racks[r.Rack] = min(next.racks[r.Rack]+min(r.Count, next.outstanding), next.outstanding)
			}
		}
	}
	if ok && a.same(next) {
		return
	}
	if next.outstanding == 0 && len(a.told) == 0 { // YARN does not know the key
		delete(t.keys, ask.Key)
		return
	}
	a.ask, a.outstanding, a.hosts, a.racks = next.ask, next.outstanding, next.hosts, next.racks
	a.since, a.relaxed = time.Time{}, false
	a.version++
	a.changed = true
}

func (a *asked) same(b asked) bool {
	return a.outstanding == b.outstanding && a.ask.Capability == b.ask.Capability &&
		a.ask.Strict == b.ask.Strict && a.ask.RelaxAfter == b.ask.RelaxAfter && a.ask.Enforce == b.ask.Enforce && a.ask.NodeLabel == b.ask.NodeLabel &&
		slices.Equal(a.ask.Racks, b.ask.Racks) && maps.Equal(a.hosts, b.hosts) && maps.Equal(a.racks, b.racks)
}

// strict reports whether the ask now allows only its named places.
func (a *asked) strict() bool { return a.ask.Strict && !a.relaxed }

// relax ends Strict for the asks whose RelaxAfter is over. Call it before each request.
func (t *askTable) relax(now time.Time) {
	//bobbin:anyorder each ask changes by itself
	for _, a := range t.keys {
		switch {
		case !a.strict() || a.ask.RelaxAfter <= 0 || a.outstanding == 0:
		case a.since.IsZero():
			a.since = now
		case now.Sub(a.since) >= a.ask.RelaxAfter:
			a.relaxed, a.changed = true, true
			a.version++
		}
	}
}

func (t *askTable) outstanding(key AskKey) int {
	if a, ok := t.keys[key.canonical()]; ok {
		return a.outstanding
	}
	return 0
}

func (t *askTable) pending() bool {
	for _, a := range t.keys {
		if a.changed {
			return true
		}
	}
	return false
}

// changes lists the entries to send, and the version of each key in them. A place that is
// no longer wanted is sent with count 0.
func (t *askTable) changes() (entries []resourceRequest, versions map[AskKey]int) {
	versions = make(map[AskKey]int)
	for _, key := range slices.SortedFunc(maps.Keys(t.keys), compareKeys) {
		if a := t.keys[key]; a.changed {
			entries = append(entries, a.entries()...)
			versions[key] = a.version
		}
	}
	return entries, versions
}

// size returns the capability of an entry. YARN checks it even if the count is 0, and
// refuses the whole request if it is above the maximum
// (SchedulerUtils#validateResourceRequest). The maximum may have fallen since YARN accepted
// the ask. So an entry that cancels has no size; YARN subtracts the size that it accepted
// (AppSchedulingInfo#updatePendingResources). YARN distinguishes opportunistic asks by
// their size, and does not refuse them for it (OpportunisticContainerAllocatorAMService).
func (a *asked) size(count int) records.Resource {
	switch {
	case count > 0:
		return a.ask.Capability
	case !a.ask.Key.opportunistic():
		return records.Resource{}
	case a.accepted != (records.Resource{}):
		return a.accepted
	default:
		return a.ask.Capability
	}
}

func (a *asked) entries() []resourceRequest {
	entry := func(place string, count int) resourceRequest {
		return resourceRequest{key: a.ask.Key, place: place, capability: a.size(count), count: count, relax: true, enforce: a.ask.Enforce}
	}
	whole := entry(anyPlace, a.outstanding)
	whole.relax, whole.label = !a.strict(), a.ask.NodeLabel
	var entries []resourceRequest
	if a.ask.Key.opportunistic() && a.accepted != (records.Resource{}) && a.accepted != whole.capability {
		// YARN also distinguishes opportunistic asks by their size
		// (OpportunisticContainerContext#addToOutstandingReqs).
		former := entry(anyPlace, 0)
		former.label = a.ask.NodeLabel
		entries = append(entries, former)
	}
	entries = append(entries, whole)
	for _, rack := range slices.Sorted(maps.Keys(a.racks)) {
		e := entry(rack, a.racks[rack])
		named := slices.ContainsFunc(a.ask.Racks, func(r RackAsk) bool { return r.Rack == rack })
		e.relax = named || !a.strict()
		entries = append(entries, e)
	}
	for _, host := range slices.Sorted(maps.Keys(a.hosts)) {
		entries = append(entries, entry(host, a.hosts[host].Count))
	}
	for _, place := range slices.Sorted(maps.Keys(a.told)) {
		_, isHost := a.hosts[place]
		_, isRack := a.racks[place]
		if place != anyPlace && !isHost && !isRack {
			entries = append(entries, entry(place, 0))
		}
	}
	return entries
}

// sent records that the ResourceManager has accepted entries that changes returned with
// these versions. A key that was set again meanwhile must still be sent.
func (t *askTable) sent(entries []resourceRequest, versions map[AskKey]int) {
	for _, e := range entries {
		a, ok := t.keys[e.key]
		switch {
		case !ok:
		case e.count == 0:
			delete(a.told, e.place)
		default:
			a.told[e.place] = true // an entry that cancels a former size also names the place
			a.accepted = e.capability
		}
	}
	for key, version := range versions {
		a, ok := t.keys[key]
		if !ok || a.version != version {
			continue
		}
		a.changed = false
		if a.outstanding == 0 && len(a.told) == 0 {
			delete(t.keys, key)
		}
	}
}

// sending records that a request with these entries is about to be sent. The request may
// arrive even if its answer is lost, so from now on the places in it must be cancelled by
// name. sending returns the entries whose places were in no earlier request.
func (t *askTable) sending(entries []resourceRequest) (fresh []resourceRequest) {
	for _, e := range entries {
		if a, ok := t.keys[e.key]; ok && e.count > 0 && !a.told[e.place] {
			a.told[e.place] = true
			fresh = append(fresh, e)
		}
	}
	return fresh
}

// notSent undoes sending, because the request has certainly not been applied.
func (t *askTable) notSent(fresh []resourceRequest) {
	for _, e := range fresh {
		if a, ok := t.keys[e.key]; ok {
			delete(a.told, e.place)
		}
	}
}

// forget prepares the table for a ResourceManager that knows none of the asks: all of them
// must be sent again.
func (t *askTable) forget() {
	//bobbin:anyorder each ask changes by itself
	for key, a := range t.keys {
		clear(a.told)
		a.changed = a.outstanding > 0
		a.version++
		if a.outstanding == 0 {
			delete(t.keys, key)
		}
	}
}

// allocated lowers the counts for a container, as the ResourceManager has done
// (LocalityAppPlacementAllocator#allocate): host, rack and "*" if the ask names the host,
// rack and "*" if it names the rack, otherwise only "*". It reports false if nothing was
// outstanding under the key.
//
// If the ask does not name the container's host, the ResourceManager may have lowered the
// count of the rack. Then the counts of racks differ until the key is sent again. That does
// no harm, because "*" is the limit.
//
// If the answered request held this key, YARN first lowered the old count and then set the
// new one. The new count still includes this container, so the key is sent again.
// Opportunistic containers are given within the request that asks for them, after YARN has
// set the counts, so they need no repetition.
func (t *askTable) allocated(c records.Container, request map[AskKey]int) bool {
	key := keyOf(c)
	a, ok := t.keys[key]
	if !ok || a.outstanding == 0 {
		return false
	}
	a.outstanding--
	if _, crossed := request[key]; crossed && !key.opportunistic() {
		a.version++
		a.changed = true
	}
	if h, ok := a.hosts[c.Node.Host]; ok {
		if h.Count--; h.Count > 0 {
			a.hosts[h.Host] = h
		} else {
			delete(a.hosts, h.Host)
		}
		if a.racks[h.Rack]--; a.racks[h.Rack] <= 0 {
			delete(a.racks, h.Rack)
		}
	}
	return true
}
