package amrm

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var small = records.Resource{MemoryMB: 128, VCores: 1}

func registers() exchange {
	return exchange{method: "registerApplicationMaster", response: &yarnpb.RegisterApplicationMasterResponseProto{}}
}

// entry is the part of an ask that a test checks.
type entry struct {
	Place    string
	Count    int32
	Relax    bool
	MemoryMB int64
}

func wantEntries(want ...entry) func(*testing.T, proto.Message) {
	return func(t *testing.T, request proto.Message) {
		t.Helper()
		var got []entry
		for _, r := range request.(*yarnpb.AllocateRequestProto).GetAsk() {
			got = append(got, entry{r.GetResourceName(), r.GetNumContainers(), r.GetRelaxLocality(), r.GetCapability().GetMemory()})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asks (-want +got):\n%s", diff)
		}
	}
}

func allocates(t *testing.T, c *Client) Response {
	t.Helper()
	r, err := c.Allocate(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A named rack stays open when the ask is strict. A rack that only follows from a host
// does not (AMRMClientImpl#addContainerRequest). Both open when the caller relaxes the
// ask.
func TestStrictLocalityIsRelaxedByAskingAgain(t *testing.T) {
	t.Parallel()
	c, _ := scriptedClient(t,
		exchange{method: "allocate", response: responseID(1), check: wantEntries(
			entry{"*", 3, false, 128}, entry{"/r1", 1, false, 128}, entry{"/r2", 2, true, 128}, entry{"h1", 1, true, 128})},
		exchange{method: "allocate", response: responseID(2), check: wantEntries(
			entry{"*", 3, true, 128}, entry{"/r1", 1, true, 128}, entry{"/r2", 2, true, 128}, entry{"h1", 1, true, 128})},
	)
	ask := Ask{
		Key: AskKey{Priority: 1}, Capability: small, Count: 3, Strict: true,
		Hosts: []HostAsk{{Host: "h1", Rack: "/r1", Count: 1}}, Racks: []RackAsk{{Rack: "/r2", Count: 2}},
	}
	c.SetAsk(ask)
	allocates(t, c)
	ask.Strict = false
	c.SetAsk(ask)
	allocates(t, c)
}

// YARN distinguishes opportunistic asks by their size, so the former ask would stay.
func TestAnOpportunisticAskOfAnotherSizeCancelsTheFormer(t *testing.T) {
	t.Parallel()
	c, _ := scriptedClient(t,
		exchange{method: "allocate", response: responseID(1), check: func(t *testing.T, request proto.Message) {
			want := &yarnpb.ExecutionTypeRequestProto{ExecutionType: yarnpb.ExecutionTypeProto_OPPORTUNISTIC.Enum(), EnforceExecutionType: proto.Bool(true)}
			got := request.(*yarnpb.AllocateRequestProto).GetAsk()[0].GetExecutionTypeRequest()
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}},
		exchange{method: "allocate", response: responseID(2), check: wantEntries(entry{"*", 0, true, 128}, entry{"*", 2, true, 256})},
		exchange{method: "allocate", response: responseID(3), check: wantEntries(entry{"*", 0, true, 256})},
		exchange{method: "allocate", response: responseID(4), check: wantEntries()},
	)
	ask := Ask{Key: AskKey{Priority: 1, ExecutionType: records.ExecutionOpportunistic}, Capability: small, Count: 2, Enforce: true}
	c.SetAsk(ask)
	allocates(t, c)
	ask.Capability.MemoryMB = 256
	c.SetAsk(ask)
	allocates(t, c)
	ask.Count = 0
	c.SetAsk(ask)
	allocates(t, c)
	allocates(t, c)
}

func TestRegistrationCarriesRulesAndTellsResourceTypes(t *testing.T) {
	t.Parallel()
	apart := records.Apart(records.ScopeNode, records.OwnTags("a")...)
	c, _ := scriptedClient(t, exchange{
		method: "registerApplicationMaster",
		check: func(t *testing.T, request proto.Message) {
			want := []*yarnpb.PlacementConstraintMapEntryProto{{AllocationTags: []string{"a"}, PlacementConstraint: pbconv.PlacementConstraintProto(apart)}}
			got := request.(*yarnpb.RegisterApplicationMasterRequestProto).GetPlacementConstraints()
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		},
		response: &yarnpb.RegisterApplicationMasterResponseProto{ResourceTypes: []*yarnpb.ResourceTypeInfoProto{{Name: proto.String("gpu")}}},
	})
	got, err := c.Register(t.Context(), RegisterRequest{Rules: []TagRule{{Tags: []string{"a"}, Constraint: apart}}})
	if err != nil || len(got.ResourceTypes) != 1 || got.ResourceTypes[0].Name != "gpu" {
		t.Errorf("registration is %+v, %v", got, err)
	}
}

// A rejected request must not stay outstanding and must not be sent again. A request that
// was refused as a whole must be sent again.
func TestSchedulingRequestsAreSentOnceAndCanBeRejected(t *testing.T) {
	t.Parallel()
	key := AskKey{Priority: 2, RequestID: 5}
	request := SchedulingRequest{Key: key, Capability: small, Count: 3, Tags: []string{"a"}, Constraint: records.Near(records.ScopeNode, records.OwnTags("b")...)}
	sent := schedulingRequestProto(request)
	rejected := schedulingRequestProto(request)
	rejected.ResourceSizing.NumAllocations = proto.Int32(2)
	wantRequests := func(want ...*yarnpb.SchedulingRequestProto) func(*testing.T, proto.Message) {
		return func(t *testing.T, request proto.Message) {
			t.Helper()
			got := request.(*yarnpb.AllocateRequestProto).GetSchedulingRequests()
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
	answer := responseID(2)
	answer.RejectedSchedulingRequests = []*yarnpb.RejectedSchedulingRequestProto{{
		Reason: yarnpb.RejectionReasonProto_RRP_COULD_NOT_PLACE_ON_NODE.Enum(), Request: rejected,
	}}
	first := responseID(1)
	first.AllocatedContainers = []*yarnpb.ContainerProto{pbconv.ContainerProto(records.Container{
		ID: records.ContainerID{Attempt: testAttempt, ID: 2}, Priority: 2, AllocationRequestID: 5,
	})}
	c, _ := scriptedClient(t,
		exchange{method: "allocate", check: wantRequests(sent), err: exception("YarnException", "no handler")},
		exchange{method: "allocate", check: wantRequests(sent), response: first},
		exchange{method: "allocate", check: wantRequests(), response: answer},
		exchange{method: "allocate", check: wantRequests(), response: responseID(3)},
	)
	c.SetSchedulingRequest(request)
	if _, err := c.Allocate(t.Context(), 0); err == nil {
		t.Error("the refusal is not told")
	}
	if r := allocates(t, c); len(r.Allocated) != 1 || c.Outstanding(key) != 2 {
		t.Errorf("%+v, %d outstanding", r, c.Outstanding(key))
	}
	r := allocates(t, c)
	if diff := cmp.Diff([]Rejection{{Key: key, Count: 2, Reason: CouldNotPlace}}, r.Rejected); diff != "" || c.Outstanding(key) != 0 {
		t.Errorf("%d outstanding, rejected (-want +got):\n%s", c.Outstanding(key), diff)
	}
	allocates(t, c)
}

// CapacityScheduler ignores scheduling requests in a request with asks. So only one kind
// is sent at a time, and neither can keep the other waiting.
func TestAsksAndSchedulingRequestsTakeTurns(t *testing.T) {
	t.Parallel()
	wantKinds := func(asks, requests int) func(*testing.T, proto.Message) {
		return func(t *testing.T, request proto.Message) {
			t.Helper()
			r := request.(*yarnpb.AllocateRequestProto)
			if len(r.GetAsk()) != asks || len(r.GetSchedulingRequests()) != requests {
				t.Errorf("request is %v", r)
			}
		}
	}
	c, _ := scriptedClient(t,
		exchange{method: "allocate", check: wantKinds(0, 1), response: responseID(1)},
		exchange{method: "allocate", check: wantKinds(1, 0), response: responseID(2)},
		exchange{method: "allocate", check: wantKinds(0, 1), response: responseID(3)},
		exchange{method: "allocate", check: wantKinds(0, 0), response: responseID(4)},
	)
	request := SchedulingRequest{Key: AskKey{Priority: 2}, Capability: small, Count: 1}
	c.SetAsk(Ask{Key: AskKey{Priority: 1}, Capability: small, Count: 1})
	c.SetSchedulingRequest(request)
	allocates(t, c)
	request.Count = 2
	c.SetSchedulingRequest(request)
	for range 3 {
		allocates(t, c)
	}
	if c.Changed() {
		t.Error("something still waits to be sent")
	}
}

// The caller can cancel a request that YARN has refused.
func TestARefusedSchedulingRequestIsTakenBackWithoutAWord(t *testing.T) {
	t.Parallel()
	c, _ := scriptedClient(t,
		exchange{method: "allocate", err: exception("YarnException", "no handler")},
		exchange{method: "allocate", response: responseID(1), check: func(t *testing.T, request proto.Message) {
			if got := request.(*yarnpb.AllocateRequestProto).GetSchedulingRequests(); got != nil {
				t.Errorf("it is sent: %v", got)
			}
		}},
	)
	request := SchedulingRequest{Key: AskKey{Priority: 1}, Capability: small, Count: 1}
	c.SetSchedulingRequest(request)
	if _, err := c.Allocate(t.Context(), 0); err == nil {
		t.Error("the refusal is not told")
	}
	request.Count = 0
	c.SetSchedulingRequest(request)
	allocates(t, c)
}

// An update is sent with the container's version, sent again to a restarted
// ResourceManager, and ends with its answer.
func TestUpdatesAreOutstandingUntilTheyAreAnswered(t *testing.T) {
	t.Parallel()
	container := records.Container{ID: records.ContainerID{Attempt: testAttempt, ID: 2}, Version: 4, Resource: small}
	more := records.Resource{MemoryMB: 512, VCores: 1}
	update := &yarnpb.UpdateContainerRequestProto{
		ContainerVersion: proto.Int32(4), ContainerId: pbconv.ContainerIDProto(container.ID),
		UpdateType: yarnpb.ContainerUpdateTypeProto_INCREASE_RESOURCE.Enum(), Capability: pbconv.ResourceProto(more),
	}
	wantUpdates := func(want ...*yarnpb.UpdateContainerRequestProto) func(*testing.T, proto.Message) {
		return func(t *testing.T, request proto.Message) {
			t.Helper()
			if diff := cmp.Diff(want, request.(*yarnpb.AllocateRequestProto).GetUpdateRequests(), protocmp.Transform()); diff != "" {
				t.Errorf("updates (-want +got):\n%s", diff)
			}
		}
	}
	refused := responseID(2)
	refused.UpdateErrors = []*yarnpb.UpdateContainerErrorProto{{Reason: proto.String(ReasonVersion), UpdateRequest: update, CurrentContainerVersion: proto.Int32(5)}}
	c, _ := scriptedClient(t,
		registers(),
		exchange{method: "allocate", check: wantUpdates(update), response: responseID(1)},
		exchange{method: "allocate", check: wantUpdates(), err: exception("ApplicationMasterNotRegisteredException", "")},
		registers(),
		exchange{method: "allocate", check: wantUpdates(update), err: &yarnrpc.CallError{MaybeSent: true, Err: io.EOF}},
		exchange{method: "allocate", check: wantUpdates(update), response: refused},
		exchange{method: "allocate", check: wantUpdates(), response: responseID(3)},
	)
	if _, err := c.Register(t.Context(), RegisterRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Resize(container, more); err != nil {
		t.Fatal(err)
	}
	allocates(t, c)
	if err := c.Promote(records.Container{ID: container.ID, ExecutionType: records.ExecutionOpportunistic}); !errors.Is(err, ErrUpdateOutstanding) {
		t.Errorf("another update: %v", err)
	}
	if _, err := c.Allocate(t.Context(), 0); !errors.Is(err, io.EOF) {
		t.Errorf("error is %v", err)
	}
	r := allocates(t, c)
	want := &UpdateError{Update: ContainerUpdate{Container: container.ID, Version: 4, Type: Increase, Resource: more}, Reason: ReasonVersion, CurrentVersion: 5}
	if diff := cmp.Diff([]*UpdateError{want}, r.UpdateErrors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	allocates(t, c)
}

func TestUpdatesThatWouldDoNothingAreRefused(t *testing.T) {
	t.Parallel()
	c, _ := scriptedClient(t)
	container := records.Container{Resource: records.Resource{MemoryMB: 256, VCores: 2}}
	for name, err := range map[string]error{
		"the same size":                  c.Resize(container, container.Resource),
		"more of one, less of the other": c.Resize(container, records.Resource{MemoryMB: 512, VCores: 1}),
		"a guaranteed one promoted":      c.Promote(container),
		"an opportunistic one demoted":   c.Demote(records.Container{ExecutionType: records.ExecutionOpportunistic}),
	} {
		if !errors.Is(err, ErrUpdateUseless) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAResponseTellsEverything(t *testing.T) {
	t.Parallel()
	id := records.ContainerID{Attempt: testAttempt, ID: 2}
	idProto := pbconv.ContainerIDProto(id)
	node := records.NodeID{Host: "n", Port: 1}
	response := responseID(1)
	proto.Merge(response, &yarnpb.AllocateResponseProto{
		NmTokens:            []*yarnpb.NMTokenProto{{NodeId: pbconv.NodeIDProto(node), Token: tokenProto("nm")}},
		ApplicationPriority: pbconv.PriorityProto(7),
		CollectorInfo:       &yarnpb.CollectorInfoProto{CollectorAddr: proto.String("c:1"), CollectorToken: tokenProto("tl")},
		EnhancedHeadroom:    &yarnpb.EnhancedHeadroomProto{TotalPendingCount: proto.Int32(3), TotalActiveCores: proto.Int32(8)},
		UpdatedContainers: []*yarnpb.UpdatedContainerProto{{
			UpdateType: yarnpb.ContainerUpdateTypeProto_DEMOTE_EXECUTION_TYPE.Enum(),
			Container:  pbconv.ContainerProto(records.Container{ID: id, Version: 2, ExecutionType: records.ExecutionOpportunistic}),
		}},
		Preempt: &yarnpb.PreemptionMessageProto{
			StrictContract: &yarnpb.StrictPreemptionContractProto{Container: []*yarnpb.PreemptionContainerProto{{Id: idProto}}},
			Contract: &yarnpb.PreemptionContractProto{
				Container: []*yarnpb.PreemptionContainerProto{{Id: idProto}},
				Resource: []*yarnpb.PreemptionResourceRequestProto{{Resource: &yarnpb.ResourceRequestProto{
					Priority: pbconv.PriorityProto(1), ResourceName: proto.String("*"), NumContainers: proto.Int32(2), Capability: pbconv.ResourceProto(small),
				}}},
			},
		},
	})
	c, _ := scriptedClient(t, exchange{method: "allocate", response: response}, exchange{method: "allocate", response: responseID(2)})
	r := allocates(t, c)
	want := Preemption{Strict: []records.ContainerID{id}, Negotiable: []records.ContainerID{id}, Wanted: []WantedBack{{Priority: 1, Place: "*", Capability: small, Count: 2}}}
	if diff := cmp.Diff(want, r.Preemption); diff != "" {
		t.Errorf("preemption (-want +got):\n%s", diff)
	}
	if r.Priority != 7 || r.Collector == nil || r.Collector.Address != "c:1" || string(r.Collector.Token.Password) != "tl" || r.Enhanced != (EnhancedHeadroom{Pending: 3, ActiveCores: 8}) {
		t.Errorf("response is %+v", r)
	}
	if len(r.Updated) != 1 || r.Updated[0].Type != Demote || r.Updated[0].Container.Version != 2 || r.Updated[0].Container.ExecutionType != records.ExecutionOpportunistic {
		t.Errorf("updated are %+v", r.Updated)
	}
	// A node's token comes once and is kept.
	if r := allocates(t, c); len(r.NMTokens) != 0 || r.Collector != nil || string(c.NMTokens()[node].Password) != "nm" {
		t.Errorf("tokens are %v", c.NMTokens())
	}
}

// The URL is sent once, and a repeated registration holds it.
func TestANewTrackingURL(t *testing.T) {
	t.Parallel()
	wantURL := func(want string) func(*testing.T, proto.Message) {
		return func(t *testing.T, request proto.Message) {
			t.Helper()
			if got := request.(interface{ GetTrackingUrl() string }).GetTrackingUrl(); got != want {
				t.Errorf("URL is %q, want %q", got, want)
			}
		}
	}
	again := registers()
	again.check = wantURL("http://new")
	c, _ := scriptedClient(t,
		registers(),
		exchange{method: "allocate", check: wantURL("http://new"), response: responseID(1)},
		exchange{method: "allocate", check: wantURL(""), err: exception("ApplicationMasterNotRegisteredException", "")},
		again,
		exchange{method: "allocate", check: wantURL(""), response: responseID(1)},
	)
	if _, err := c.Register(t.Context(), RegisterRequest{TrackingURL: "http://old"}); err != nil {
		t.Fatal(err)
	}
	c.SetTrackingURL("http://new")
	allocates(t, c)
	allocates(t, c)
}
