package amrm

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// FuzzAllocated reads arbitrary answers to two allocates. They ask for two containers by
// an ask, two by a scheduling request, and an update. It would catch an answer after
// which more containers are asked for, and a container that is neither wanted nor given
// back.
func FuzzAllocated(f *testing.F) {
	granted := pbconv.ContainerProto(records.Container{
		ID: records.ContainerID{Attempt: testAttempt, ID: 2}, Priority: 1, Resource: records.Resource{MemoryMB: 1024, VCores: 1},
	})
	for _, p := range []*yarnpb.AllocateResponseProto{
		{ResponseId: proto.Int32(1), AllocatedContainers: []*yarnpb.ContainerProto{granted, granted, granted}},
		{ResponseId: proto.Int32(-1), CompletedContainerStatuses: []*yarnpb.ContainerStatusProto{{ContainerId: granted.GetId()}}, NmTokens: []*yarnpb.NMTokenProto{{}}},
		{ResponseId: proto.Int32(1), UpdatedNodes: []*yarnpb.NodeReportProto{{}}, Preempt: &yarnpb.PreemptionMessageProto{}},
		{
			ResponseId: proto.Int32(1), UpdateErrors: []*yarnpb.UpdateContainerErrorProto{{}},
			UpdatedContainers: []*yarnpb.UpdatedContainerProto{{UpdateType: yarnpb.ContainerUpdateTypeProto_INCREASE_RESOURCE.Enum(), Container: granted}},
			RejectedSchedulingRequests: []*yarnpb.RejectedSchedulingRequestProto{{
				Reason: yarnpb.RejectionReasonProto_RRP_COULD_NOT_PLACE_ON_NODE.Enum(), Request: schedulingRequestProto(SchedulingRequest{Key: AskKey{Priority: 2}, Count: -7}),
			}},
		},
	} {
		b, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c := newCore()
		c.asks.set(Ask{Key: AskKey{Priority: 1}, Capability: records.Resource{MemoryMB: 1024, VCores: 1}, Count: 2, Hosts: []HostAsk{{Host: "n1", Rack: "/r", Count: 2}}})
		c.release([]records.ContainerID{{Attempt: testAttempt, ID: 7}})
		c.requests.set(SchedulingRequest{Key: AskKey{Priority: 2}, Count: 2})
		if err := c.updates.add(ContainerUpdate{Container: records.ContainerID{Attempt: testAttempt, ID: 7}}); err != nil {
			t.Fatal(err)
		}
		wantedInAll, ofAsk := 0, 0
		for _, b := range [][]byte{first, second} {
			c.next(time.Time{}, 0)
			var p yarnpb.AllocateResponseProto
			if proto.Unmarshal(b, &p) != nil {
				c.failed(failureLost)
				continue
			}
			r := responseOf(&p)
			wanted, surplus := c.answered(answer{
				responseID: p.GetResponseId(), allocated: r.Allocated, completed: r.Completed,
				updated: r.Updated, refused: r.UpdateErrors, rejected: r.Rejected,
			})
			if wantedInAll += len(wanted); wantedInAll > 4 || len(wanted)+len(surplus) != len(p.GetAllocatedContainers()) {
				t.Fatalf("of %d containers %d are wanted and %d surplus; 4 were asked for", len(p.GetAllocatedContainers()), len(wanted), len(surplus))
			}
			for _, container := range wanted {
				if keyOf(container).Priority == 1 {
					ofAsk++
				}
			}
		}
		for _, request := range c.next(time.Time{}, 0).asks {
			limit := 2
			if request.place == anyPlace { // the limit of the others
				limit -= ofAsk
			}
			if request.count < 0 || request.count > limit {
				t.Errorf("%d containers on %s are asked for, %d of 2 have come", request.count, request.place, ofAsk)
			}
		}
	})
}

// FuzzExpectedResponseID reads the ResourceManager's text. It would catch an id that the
// ResourceManager never sent.
func FuzzExpectedResponseID(f *testing.F) {
	f.Add("Invalid responseId in AllocateRequest from application attempt: appattempt_1_0001_000001, expect responseId to be 4, but get 1")
	f.Add("expect responseId to be -1, but get 0")
	f.Add("expect responseId to be 2147483648")
	f.Fuzz(func(t *testing.T, message string) {
		id, ok := expectedResponseID(&yarnrpc.RemoteError{Message: message})
		if ok && (id < 0 || !strings.Contains(message, strconv.Itoa(int(id)))) {
			t.Errorf("%q: response id %d", message, id)
		}
	})
}
