package amrm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var testAttempt = records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}

// rmModel is the simplest ResourceManager: its table of asks, its response ids, and no
// scheduler: the test grants containers.
type rmModel struct {
	t          *rapid.T
	registered bool
	lastID     int32
	last       *yarnpb.AllocateResponseProto
	table      map[AskKey]map[string]int
	strict     map[AskKey]bool           // of keys in the table: only the places in it are allowed
	granted    []records.Container       // to be told
	completed  []records.ContainerStatus // to be told
	told       []records.Container       // told with the last response
	live       map[records.ContainerID]bool
	released   map[records.ContainerID]bool
	sequence   int64
	maximum    int64 // of a container's memory: that of the largest node

	requests map[AskKey]int // of scheduling requests
	// eager is the number of opportunistic containers that the next allocate gives at
	// once.
	eager    int
	versions map[records.ContainerID]int
	updating map[records.ContainerID]*yarnpb.UpdateContainerRequestProto
	updated  []*yarnpb.UpdatedContainerProto // to be told
	news     []records.ContainerID           // of updated in the last response

	// The fate of the next call.
	loseRequest, loseResponse bool
	unreachable               error
}

func newModel(t *rapid.T) *rmModel {
	return &rmModel{
		t: t, maximum: large.MemoryMB, table: map[AskKey]map[string]int{}, strict: map[AskKey]bool{}, live: map[records.ContainerID]bool{}, released: map[records.ContainerID]bool{},
		requests: map[AskKey]int{}, versions: map[records.ContainerID]int{}, updating: map[records.ContainerID]*yarnpb.UpdateContainerRequestProto{},
	}
}

func (m *rmModel) Reset()       {}
func (m *rmModel) Close() error { return nil }

func (m *rmModel) Call(_ context.Context, method string, request, response proto.Message) error {
	lost := &yarnrpc.CallError{Address: "rm:8030", Method: method, MaybeSent: true, Err: io.ErrUnexpectedEOF}
	if m.loseRequest {
		m.loseRequest = false
		return lost
	}
	if err := m.unreachable; err != nil {
		m.unreachable = nil
		return err
	}
	var err error
	switch r := request.(type) {
	case *yarnpb.RegisterApplicationMasterRequestProto:
		err = m.register()
	case *yarnpb.AllocateRequestProto:
		err = m.allocate(r, response)
	default:
		m.t.Fatalf("unexpected call %s", method)
	}
	if m.loseResponse {
		m.loseResponse = false
		return lost
	}
	return err
}

func exception(class, message string) error {
	return &yarnrpc.RemoteError{Address: "rm:8030", Class: "org.apache.hadoop.yarn.exceptions." + class, Message: message}
}

func (m *rmModel) register() error {
	if m.registered {
		return exception("InvalidApplicationMasterRequestException", "Application Master is already registered : "+testAttempt.Application.String())
	}
	m.registered, m.lastID, m.last = true, 0, nil
	return nil
}

func (m *rmModel) allocate(r *yarnpb.AllocateRequestProto, response proto.Message) error {
	if !m.registered {
		return exception("ApplicationMasterNotRegisteredException", "AM is not registered")
	}
	switch id := r.GetResponseId(); {
	case id == m.lastID-1 && m.last != nil:
		proto.Merge(response, m.last)
		return nil
	case id != m.lastID:
		return exception("InvalidApplicationMasterRequestException", fmt.Sprintf(
			"Invalid responseId in AllocateRequest from application attempt: %s, expect responseId to be %d, but get %d",
			testAttempt, m.lastID, id))
	}
	for _, ask := range r.GetAsk() { // whatever their counts, and before any of them is taken
		opportunistic := ask.GetExecutionTypeRequest().GetExecutionType() == yarnpb.ExecutionTypeProto_OPPORTUNISTIC
		if size := ask.GetCapability().GetMemory(); size > m.maximum && !opportunistic {
			return exception("InvalidResourceRequestException", fmt.Sprintf("%d MB are more than %d", size, m.maximum))
		}
	}
	given := m.granted // before the request's content counts
	m.granted = nil
	for _, ask := range r.GetAsk() {
		key := AskKey{Priority: pbconv.Priority(ask.GetPriority()), RequestID: ask.GetAllocationRequestId()}
		if request := ask.GetExecutionTypeRequest(); request != nil {
			key.ExecutionType = canonical(pbconv.ExecutionType(request.ExecutionType))
		}
		if ask.GetNumContainers() < 0 {
			m.t.Fatalf("negative ask %v", ask)
		}
		if m.table[key] == nil {
			m.table[key] = map[string]int{}
		}
		m.table[key][ask.GetResourceName()] = int(ask.GetNumContainers())
		if ask.GetResourceName() == anyPlace {
			m.strict[key] = !ask.GetRelaxLocality()
		}
	}
	if len(r.GetAsk()) > 0 && len(r.GetSchedulingRequests()) > 0 {
		m.t.Fatal("scheduling requests beside asks are overlooked")
	}
	for _, request := range r.GetSchedulingRequests() {
		key := AskKey{Priority: pbconv.Priority(request.GetPriority()), RequestID: request.GetAllocationRequestId()}
		m.requests[key] = int(request.GetResourceSizing().GetNumAllocations())
	}
	errors := m.takeUpdates(r.GetUpdateRequests())
	for ; m.eager > 0; m.eager-- {
		m.grant(opportunistic, "h1a")
	}
	m.granted = slices.Concat(given, m.granted)
	for _, p := range r.GetRelease() {
		if id := pbconv.ContainerID(p); m.live[id] {
			m.complete(id, records.ExitAborted)
			m.released[id] = true
		}
	}
	m.lastID++
	m.last = &yarnpb.AllocateResponseProto{ResponseId: proto.Int32(m.lastID), UpdateErrors: errors, UpdatedContainers: m.updated}
	m.news = nil
	for _, u := range m.updated {
		m.news = append(m.news, pbconv.ContainerID(u.GetContainer().GetId()))
	}
	m.updated = nil
	for _, c := range m.granted {
		m.last.AllocatedContainers = append(m.last.AllocatedContainers, pbconv.ContainerProto(c))
	}
	for _, s := range m.completed {
		m.last.CompletedContainerStatuses = append(m.last.CompletedContainerStatuses, pbconv.ContainerStatusProto(s))
	}
	m.told, m.granted, m.completed = m.granted, nil, nil
	proto.Merge(response, m.last)
	return nil
}

// takeUpdates keeps updates that can be made, and refuses the others.
func (m *rmModel) takeUpdates(requests []*yarnpb.UpdateContainerRequestProto) (refused []*yarnpb.UpdateContainerErrorProto) {
	for _, u := range requests {
		id := pbconv.ContainerID(u.GetContainerId())
		reason := ""
		switch {
		case m.updating[id] != nil:
			m.t.Fatalf("an update of %s is sent twice", id)
		case !m.live[id]:
			reason = ReasonContainer
		case int(u.GetContainerVersion()) != m.versions[id]:
			reason = ReasonVersion
		default:
			m.updating[id] = u
			continue
		}
		refused = append(refused, &yarnpb.UpdateContainerErrorProto{
			Reason: proto.String(reason), UpdateRequest: u, CurrentContainerVersion: proto.Int32(int32(m.versions[id])),
		})
	}
	return refused
}

// carryOut changes a container as asked.
func (m *rmModel) carryOut(id records.ContainerID) {
	u := m.updating[id]
	delete(m.updating, id)
	m.versions[id]++
	m.updated = append(m.updated, &yarnpb.UpdatedContainerProto{
		UpdateType: u.GetUpdateType().Enum(),
		Container:  pbconv.ContainerProto(records.Container{ID: id, Version: m.versions[id], Resource: pbconv.Resource(u.GetCapability())}),
	})
}

// grantRequested grants one container of a scheduling request.
func (m *rmModel) grantRequested(key AskKey) {
	if m.requests[key] > 0 {
		m.requests[key]--
		m.give(key, "h2a")
	}
}

// grant grants one outstanding container on a host, and lowers the counts.
func (m *rmModel) grant(key AskKey, host string) {
	places := m.table[key]
	if places["*"] == 0 || m.strict[key] && places[host] == 0 {
		return
	}
	places["*"]--
	if places[host] > 0 {
		places[host]--
		places[rackOf(host)] = max(0, places[rackOf(host)]-1)
	} else if places[rackOf(host)] > 0 {
		places[rackOf(host)]--
	}
	m.give(key, host)
}

func (m *rmModel) give(key AskKey, host string) {
	m.sequence++
	c := records.Container{
		ID:       records.ContainerID{Attempt: testAttempt, ID: m.sequence},
		Node:     records.NodeID{Host: host, Port: 1},
		Priority: key.Priority, AllocationRequestID: key.RequestID, ExecutionType: key.ExecutionType, Resource: records.Resource{MemoryMB: 1, VCores: 1},
		Token: &creds.Token{Kind: creds.KindContainer},
	}
	m.granted = append(m.granted, c)
	m.live[c.ID] = true
}

func (m *rmModel) complete(id records.ContainerID, status records.ExitStatus) {
	delete(m.live, id)
	delete(m.updating, id)
	m.updated = slices.DeleteFunc(m.updated, func(u *yarnpb.UpdatedContainerProto) bool {
		return pbconv.ContainerID(u.GetContainer().GetId()) == id
	})
	m.completed = append(m.completed, records.ContainerStatus{ID: id, State: records.ContainerComplete, ExitStatus: status})
}

// restart forgets everything except running containers. These were reported to the
// application, and it has had time to start them.
func (m *rmModel) restart() {
	m.registered, m.last, m.lastID = false, nil, 0
	for _, c := range slices.Concat(m.granted, m.told) {
		delete(m.live, c.ID)
	}
	m.table, m.granted, m.completed, m.told = map[AskKey]map[string]int{}, nil, nil, nil
	clear(m.strict)
	// An update that no NodeManager has received yet is undone.
	for _, u := range m.updated {
		m.versions[pbconv.ContainerID(u.GetContainer().GetId())]--
	}
	for _, id := range m.news {
		m.versions[id]--
	}
	m.updated, m.news = nil, nil
	clear(m.updating)
	clear(m.requests)
}

// one and large are the sizes of asks. Sometimes all nodes are smaller than large.
var one, large = records.Resource{MemoryMB: 1, VCores: 1}, records.Resource{MemoryMB: 8, VCores: 1}

// opportunistic is the key of asks that are met at once, constrained the key of
// scheduling requests.
var (
	opportunistic = AskKey{Priority: 1, ExecutionType: records.ExecutionOpportunistic}
	constrained   = AskKey{Priority: 3, RequestID: 1}
)

// longest is the longest time after which callers in the model relax an ask.
const longest = 5 * time.Second

func rackOf(host string) string { return "/rack" + host[1:2] }

// modelClock is the time of the model.
type modelClock struct{ now *time.Time }

func (c modelClock) Now() time.Time { return *c.now }

func (modelClock) Sleep(context.Context, time.Duration) error { return nil }

// A client's asks are met exactly, whatever is lost and whenever the ResourceManager
// restarts. Nothing is asked for twice, no container is missed or reported twice, and
// every release arrives. An ask that YARN refuses because its nodes have become too small
// blocks no other ask after it is cancelled.
func TestClientAgainstAModelOfTheResourceManager(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rm := newModel(t)
		c := newClient(testAttempt, rm, new(atomic.Pointer[creds.Token]), slog.New(slog.DiscardHandler))
		if _, err := c.Register(t.Context(), RegisterRequest{Host: "h", RPCPort: -1}); err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		ctx := yarnrpc.WithClock(t.Context(), modelClock{&now})
		need := map[AskKey]int{}            // what the caller still wants
		strict := map[AskKey]bool{}         // only at the places that the caller has named
		relax := map[AskKey]time.Duration{} // after this; 0: never
		asked := map[AskKey]time.Time{}     // when strict and relax became what they are
		sizes := map[AskKey]records.Resource{}
		held := map[records.ContainerID]bool{}
		newest := map[records.ContainerID]records.Container{}
		seen := map[records.ContainerID]bool{}
		given := map[records.ContainerID]bool{} // released by the caller
		hosts := []string{"h1a", "h1b", "h2a"}
		keys := rapid.SampledFrom([]AskKey{{Priority: 1}, {Priority: 1, RequestID: 7}, {Priority: 2}, opportunistic})
		queued := keys.Filter(func(key AskKey) bool { return key != opportunistic }) // served when NodeManagers report

		allocate := func(t *rapid.T) error {
			r, err := c.Allocate(ctx, 0.5)
			for _, container := range slices.Concat(r.Allocated, r.Surplus) {
				if seen[container.ID] {
					t.Fatalf("%s is told twice", container.ID)
				}
				seen[container.ID], held[container.ID] = true, true
				newest[container.ID] = container
			}
			for _, u := range r.Updated {
				newest[u.Container.ID] = u.Container
			}
			for _, container := range r.Allocated {
				key := keyOf(container)
				if need[key]--; need[key] < 0 {
					t.Fatalf("%s was not wanted", container.ID)
				}
			}
			for _, status := range r.Completed {
				delete(held, status.ID)
			}
			return err
		}

		takeBack := func() { // cancel what YARN refuses
			for key, size := range sizes {
				if size.MemoryMB > rm.maximum && key != opportunistic {
					c.SetAsk(Ask{Key: key, Capability: size})
					need[key] = 0
				}
			}
		}

		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				key, n := keys.Draw(t, "key"), rapid.IntRange(0, 5).Draw(t, "count")
				var asks []HostAsk
				for _, h := range rapid.SliceOfDistinct(rapid.SampledFrom(hosts), rapid.ID).Draw(t, "hosts") {
					asks = append(asks, HostAsk{Host: h, Rack: rackOf(h), Count: rapid.IntRange(0, 3).Draw(t, "on host")})
				}
				ask := Ask{
					Key: key, Count: n, Hosts: asks, Capability: rapid.SampledFrom([]records.Resource{one, large}).Draw(t, "size"),
					Strict: rapid.Bool().Draw(t, "strict"), RelaxAfter: rapid.SampledFrom([]time.Duration{0, time.Second, longest}).Draw(t, "relax after"),
				}
				c.SetAsk(ask)
				if need[key] == 0 || strict[key] != ask.Strict || relax[key] != ask.RelaxAfter {
					asked[key] = now
				}
				need[key], strict[key], relax[key], sizes[key] = n, ask.Strict, ask.RelaxAfter, ask.Capability
			},
			"nodes change": func(t *rapid.T) {
				rm.maximum = rapid.SampledFrom([]int64{one.MemoryMB, large.MemoryMB}).Draw(t, "largest")
			},
			"time passes": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "milliseconds")) * time.Millisecond)
			},
			"request": func(t *rapid.T) {
				n := rapid.IntRange(0, 5).Draw(t, "count")
				c.SetSchedulingRequest(SchedulingRequest{
					Key: constrained, Capability: records.Resource{MemoryMB: 1, VCores: 1}, Count: n,
					Tags: []string{"a"}, Constraint: records.Apart(records.ScopeNode, records.OwnTags("a")...),
				})
				need[constrained] = n
			},
			"update": func(t *rapid.T) {
				for _, id := range slices.SortedFunc(maps.Keys(held), compareContainers) {
					if rapid.Bool().Draw(t, "more") {
						container := newest[id]
						more := container.Resource
						more.MemoryMB++
						if err := c.Resize(container, more); err != nil && !errors.Is(err, ErrUpdateOutstanding) {
							t.Fatal(err)
						}
					}
				}
			},
			"carry out": func(t *rapid.T) {
				for _, id := range slices.SortedFunc(maps.Keys(rm.updating), compareContainers) {
					if rapid.Bool().Draw(t, "now") {
						rm.carryOut(id)
					}
				}
			},
			"grant at once":         func(t *rapid.T) { rm.eager = rapid.IntRange(0, 3).Draw(t, "eager") },
			"grant by a constraint": func(*rapid.T) { rm.grantRequested(constrained) },
			"release": func(t *rapid.T) {
				for _, id := range slices.SortedFunc(maps.Keys(held), compareContainers) {
					if rapid.Bool().Draw(t, "give back") {
						c.Release(id)
						given[id] = true
					}
				}
			},
			"grant": func(t *rapid.T) {
				rm.grant(queued.Draw(t, "key"), rapid.SampledFrom(hosts).Draw(t, "host"))
			},
			"complete": func(t *rapid.T) {
				for _, id := range slices.SortedFunc(maps.Keys(rm.live), compareContainers) {
					if seen[id] && rapid.Bool().Draw(t, "ends") {
						rm.complete(id, 0)
					}
				}
			},
			"allocate": func(t *rapid.T) {
				err := allocate(t)
				if errors.Is(err, yarnrpc.ErrInvalidResourceRequest) && rm.maximum < large.MemoryMB {
					takeBack()
					err = allocate(t)
				}
				if err != nil {
					t.Fatalf("allocate without a fault: %v", err)
				}
			},
			"lost request": func(t *rapid.T) {
				rm.loseRequest = true
				if err := allocate(t); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("error is %v", err)
				}
			},
			"lost response": func(t *rapid.T) {
				rm.loseResponse = true
				if err := allocate(t); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("error is %v", err)
				}
			},
			"unreachable": func(t *rapid.T) {
				rm.unreachable = rapid.SampledFrom([]error{
					&yarnrpc.CallError{Err: syscall.ECONNREFUSED},
					&yarnrpc.RemoteError{Class: "org.apache.hadoop.ipc.StandbyException"},
				}).Draw(t, "how")
				if err := allocate(t); err == nil {
					t.Fatal("no error")
				}
			},
			"restart": func(*rapid.T) { rm.restart() },
			"": func(t *rapid.T) {
				for key, n := range need {
					if got := c.Outstanding(key); got != n {
						t.Fatalf("outstanding %v is %d, the caller wants %d", key, got, n)
					}
				}
				for key, isStrict := range rm.strict {
					if a := c.core.asks.keys[key]; a == nil || a.changed || need[key] == 0 {
						continue // YARN has the ask before
					}
					if mayRelax := relax[key] > 0 && now.Sub(asked[key]) >= relax[key]; strict[key] && !isStrict && !mayRelax {
						t.Fatalf("%v is relaxed %v after it was asked for, want %v", key, now.Sub(asked[key]), relax[key])
					}
				}
			},
		})

		// Without further faults, both sides agree after five exchanges. One repeats the
		// lost request, which may be refused. Two send the remaining changes, and two the
		// changes that crossed with those. Then two more send what the time has relaxed.
		takeBack()
		for i := range 7 {
			if i == 5 {
				now = now.Add(longest)
			}
			err := allocate(t)
			if repeated := i == 0 && errors.Is(err, yarnrpc.ErrInvalidResourceRequest); err != nil && !repeated {
				t.Fatal(err)
			}
		}
		for key, n := range need {
			want := strict[key] && relax[key] == 0
			if got, told := rm.strict[key]; n > 0 && key != constrained && (got != want || !told) {
				t.Errorf("%v is strict: %v, want %v", key, got, want)
			}
		}
		if c.Changed() {
			t.Fatal("something still waits to be sent")
		}
		for key, n := range need {
			if got := rm.table[key]["*"] + rm.requests[key]; got != n {
				t.Errorf("YARN has %d outstanding for %v, the caller wants %d", got, key, n)
			}
		}
		for id := range c.core.updates {
			if rm.updating[id] == nil {
				t.Errorf("an update of %s is waited for, and YARN does not know of it", id)
			}
		}
		for id := range rm.updating {
			if c.core.updates[id] == nil {
				t.Errorf("YARN has an update of %s that nobody waits for", id)
			}
		}
		for id := range given {
			if rm.live[id] {
				t.Errorf("%s was released and lives", id)
			}
		}
	})
}

func TestExpectedResponseID(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		want int32
		ok   bool
	}{
		"Hadoop's words": {exception("X", "Invalid responseId in AllocateRequest from application attempt: "+
			"appattempt_1_0001_000001, expect responseId to be 12, but get 9"), 12, true},
		"no number":   {exception("X", "expect responseId to be twelve, but"), 0, false},
		"other words": {exception("X", "Application Master is already registered"), 0, false},
		"too large":   {exception("X", "expect responseId to be 99999999999, but get 0"), 0, false},
		"no answer":   {io.EOF, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := expectedResponseID(test.err)
			if ok != test.ok || ok && got != test.want {
				t.Errorf("expectedResponseID = %d, %v", got, ok)
			}
		})
	}
}
