package amrm

import (
	"maps"
	"reflect"
	"slices"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// SchedulingRequest asks for containers by a placement constraint instead of by
// hosts (org.apache.hadoop.yarn.api.records.SchedulingRequest). In the cluster,
// yarn.resourcemanager.placement-constraints.handler must be "scheduler" or
// "placement-processor". Otherwise YARN refuses every Allocate that holds such a
// request.
type SchedulingRequest struct {
	// Key must not be the key of an Ask, and must have no execution type. After the
	// first Allocate with a key, only Count may change. With "scheduler", YARN
	// refuses any other change. With "placement-processor", a second Count adds to
	// the first, and a request cannot be reduced.
	Key        AskKey
	Capability records.Resource // of each container
	// Count is the number of containers still to come; 0 cancels the request.
	Count int
	// Tags are the containers' tags, to which constraints refer.
	Tags []string
	// Constraint limits the containers' places. Nil: the constraint registered for
	// Tags, or none.
	Constraint records.PlacementConstraint
}

// TagRule is a constraint for all containers with certain tags
// (RegisterApplicationMasterRequest#setPlacementConstraints).
type TagRule struct {
	Tags       []string
	Constraint records.PlacementConstraint
}

// RejectionReason says why YARN gave up a scheduling request.
type RejectionReason string

const (
	CouldNotPlace    RejectionReason = "COULD_NOT_PLACE_ON_NODE"    // no node satisfies the constraint
	CouldNotSchedule RejectionReason = "COULD_NOT_SCHEDULE_ON_NODE" // the chosen nodes repeatedly had no room
)

// Rejection says that YARN has given up Count containers of a scheduling request
// (RejectedSchedulingRequest). They are no longer outstanding. Only the placement
// processor rejects requests.
type Rejection struct {
	Key    AskKey
	Count  int
	Reason RejectionReason
}

// requestTable does for scheduling requests what askTable does for asks. Here too, the
// ResourceManager lowers the counts itself, and may do so before it sets a new count.
// There are no places.
type requestTable struct {
	keys map[AskKey]*requested
}

type requested struct {
	request     SchedulingRequest // as last set
	outstanding int
	told        bool // the ResourceManager may have a count
	changed     bool // to be sent
	version     int  // grows with each set
}

// requestChanges are the scheduling requests of one allocate.
type requestChanges struct {
	requests []SchedulingRequest // with the outstanding count
	versions map[AskKey]int
	fresh    map[AskKey]bool // those that were in no earlier request
}

func newRequestTable() requestTable { return requestTable{keys: make(map[AskKey]*requested)} }

func (t *requestTable) set(request SchedulingRequest) {
	request.Count = max(request.Count, 0)
	r, ok := t.keys[request.Key]
	if !ok {
		if request.Count == 0 {
			return
		}
		r = &requested{}
		t.keys[request.Key] = r
	}
	same := r.request
	same.Count = request.Count
	if ok && r.outstanding == request.Count && reflect.DeepEqual(same, request) {
		return
	}
	if request.Count == 0 {
		if !r.told { // YARN does not know the key
			delete(t.keys, request.Key)
			return
		}
		request = same // YARN finds the request to cancel by its other fields, so they stay
	}
	r.request, r.outstanding, r.changed = request, request.Count, true
	r.version++
}

func (t *requestTable) outstanding(key AskKey) int {
	if r, ok := t.keys[key]; ok {
		return r.outstanding
	}
	return 0
}

func (t *requestTable) pending() bool {
	for _, r := range t.keys {
		if r.changed {
			return true
		}
	}
	return false
}

// sending returns the requests to send. They may arrive even if the answer is lost, so
// from now on the ResourceManager may have a count.
func (t *requestTable) sending() requestChanges {
	c := requestChanges{versions: make(map[AskKey]int), fresh: make(map[AskKey]bool)}
	for _, key := range slices.SortedFunc(maps.Keys(t.keys), compareKeys) {
		r := t.keys[key]
		if !r.changed {
			continue
		}
		request := r.request
		request.Count = r.outstanding
		c.requests = append(c.requests, request)
		c.versions[key] = r.version
		if !r.told {
			r.told, c.fresh[key] = true, true
		}
	}
	return c
}

// notSent undoes sending, because the request has certainly not been applied.
func (t *requestTable) notSent(c requestChanges) {
	//bobbin:anyorder each request changes by itself
	for key := range c.fresh {
		if r, ok := t.keys[key]; ok {
			r.told = false
			t.drop(key, r)
		}
	}
}

// sent records that the ResourceManager has accepted the requests that sending returned.
func (t *requestTable) sent(c requestChanges) {
	//bobbin:anyorder each request changes by itself
	for key, version := range c.versions {
		if r, ok := t.keys[key]; ok && r.version == version {
			r.changed = false
			t.drop(key, r)
		}
	}
}

// drop forgets a key that has no outstanding container and nothing to send.
func (t *requestTable) drop(key AskKey, r *requested) {
	if r.outstanding == 0 && (!r.changed || !r.told) {
		delete(t.keys, key)
	}
}

// allocated lowers the count for a container. It reports false if nothing was outstanding
// under the key. If the answered request replaced an earlier count of this key, YARN set
// the new count second: see askTable.allocated.
func (t *requestTable) allocated(key AskKey, c requestChanges) bool {
	r, ok := t.keys[key]
	if !ok || r.outstanding == 0 {
		return false
	}
	r.outstanding--
	if _, sent := c.versions[key]; sent && !c.fresh[key] {
		r.version++
		r.changed = true
	}
	t.drop(key, r)
	return true
}

// rejected lowers the count by the containers that the ResourceManager has given up.
func (t *requestTable) rejected(rejection Rejection) {
	if r, ok := t.keys[rejection.Key]; ok {
		r.outstanding = max(0, r.outstanding-rejection.Count)
		t.drop(rejection.Key, r)
	}
}

// forget prepares the table for a ResourceManager that knows none of the requests.
func (t *requestTable) forget() {
	//bobbin:anyorder each request changes by itself
	for key, r := range t.keys {
		r.told, r.changed = false, r.outstanding > 0
		r.version++
		t.drop(key, r)
	}
}
