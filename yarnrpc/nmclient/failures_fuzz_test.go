package nmclient

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// saying is a NodeManager that answers every call in the same way.
type saying []byte

func (saying) Reset()       {}
func (saying) Close() error { return nil }

func (s saying) Call(_ context.Context, _ string, _, response proto.Message) error {
	return proto.Unmarshal(s, response)
}

// FuzzRefusals reads arbitrary answers of a NodeManager to starts, stops and queries of
// several containers. It would catch a container that is reported twice, or as failed and
// as present; a missing container; a container that the call did not name; and a lost
// refusal.
func FuzzRefusals(f *testing.F) {
	id := func(n int64) records.ContainerID {
		one := testContainer.ID
		one.ID = n
		return one
	}
	no := func(n int64) *yarnpb.ContainerExceptionMapProto { return yarnFailure(id(n), "no") }
	status := func(n int64) *yarnpb.ContainerStatusProto {
		return pbconv.ContainerStatusProto(records.ContainerStatus{ID: id(n), State: records.ContainerRunning})
	}
	nameless := no(1)
	nameless.ContainerId = nil
	for _, answer := range []proto.Message{
		&yarnpb.StartContainersResponseProto{FailedRequests: []*yarnpb.ContainerExceptionMapProto{no(1), no(3)}},
		&yarnpb.StartContainersResponseProto{FailedRequests: []*yarnpb.ContainerExceptionMapProto{no(2), no(2), no(9), nameless, {}}},
		&yarnpb.StopContainersResponseProto{FailedRequests: []*yarnpb.ContainerExceptionMapProto{nameless}},
		&yarnpb.GetContainerStatusesResponseProto{},
		&yarnpb.GetContainerStatusesResponseProto{Status: []*yarnpb.ContainerStatusProto{status(1), status(1), status(9), {}}, FailedRequests: []*yarnpb.ContainerExceptionMapProto{no(2)}},
		&yarnpb.GetContainerStatusesResponseProto{Status: []*yarnpb.ContainerStatusProto{status(1)}, FailedRequests: []*yarnpb.ContainerExceptionMapProto{no(1)}},
	} {
		says, err := proto.Marshal(answer)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(says, uint8(3))
		f.Add(says, uint8(1))
	}
	f.Fuzz(func(t *testing.T, says []byte, n uint8) {
		some := launches(testNode, int(n)%4+1)
		containers := make([]records.Container, len(some))
		for i, l := range some {
			containers[i] = l.Container
		}
		c := newClient(func(records.NodeID) yarnrpc.Connection { return saying(says) })
		c.SetTokens(map[records.NodeID]*creds.Token{testNode: {Kind: creds.KindNM}})
		// verdicts returns what an ended call reports of each container.
		verdicts := func(call string, err error, statuses ...records.ContainerStatus) (failed map[records.ContainerID]bool) {
			told := make(map[records.ContainerID]int)
			failed = make(map[records.ContainerID]bool)
			for _, s := range statuses {
				told[s.ID]++
			}
			failures, is := errors.AsType[Failures](err)
			if is == (len(failures) == 0) || is != (err != nil) {
				t.Errorf("%s: error %v", call, err)
			}
			for _, one := range failures {
				told[one.Container]++
				failed[one.Container] = true
				if one.Node != testNode || one.Err == nil {
					t.Errorf("%s: %+v", call, one)
				}
			}
			for _, k := range containers {
				if n := told[k.ID]; n > 1 || n == 0 && call == "status" {
					t.Errorf("%s: %s is told %d times", call, k.ID, n)
				}
				delete(told, k.ID)
			}
			if len(told) > 0 {
				t.Errorf("%s: %v were not asked about", call, told)
			}
			return failed
		}
		// heard compares failures with the answer.
		heard := func(call string, failed map[records.ContainerID]bool, answer interface {
			proto.Message
			GetFailedRequests() []*yarnpb.ContainerExceptionMapProto
		},
		) {
			garbled := proto.Unmarshal(says, answer) != nil
			for _, k := range containers {
				refused := garbled || len(containers) == 1 && len(answer.GetFailedRequests()) > 0
				for _, r := range answer.GetFailedRequests() {
					refused = refused || pbconv.ContainerID(r.GetContainerId()) == k.ID
				}
				if refused != failed[k.ID] && (refused || call != "status") {
					t.Errorf("%s: %s is refused: %t, and told as failed: %t", call, k.ID, refused, failed[k.ID])
				}
			}
		}
		heard("start", verdicts("start", c.StartAll(t.Context(), some...)), new(yarnpb.StartContainersResponseProto))
		heard("stop", verdicts("stop", c.StopAll(t.Context(), containers...)), new(yarnpb.StopContainersResponseProto))
		statuses, err := c.StatusesAll(t.Context(), containers...)
		heard("status", verdicts("status", err, statuses...), new(yarnpb.GetContainerStatusesResponseProto))
	})
}
