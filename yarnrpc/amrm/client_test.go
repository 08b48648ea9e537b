package amrm

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exchange is one call that the script expects, and its answer.
type exchange struct {
	method   string
	check    func(t *testing.T, request proto.Message)
	response proto.Message
	err      error
}

// scripted is a ResourceManager that answers from a list.
type scripted struct {
	t      *testing.T
	rest   []exchange
	resets int
}

func (s *scripted) Reset()       { s.resets++ }
func (s *scripted) Close() error { return nil }

func (s *scripted) Call(_ context.Context, method string, request, response proto.Message) error {
	if len(s.rest) == 0 {
		s.t.Fatalf("unexpected call %s %v", method, request)
	}
	next := s.rest[0]
	s.rest = s.rest[1:]
	if method != next.method {
		s.t.Fatalf("call is %s, want %s", method, next.method)
	}
	if next.check != nil {
		next.check(s.t, request)
	}
	if next.response != nil {
		proto.Merge(response, next.response)
	}
	return next.err
}

func scriptedClient(t *testing.T, exchanges ...exchange) (*Client, *scripted) {
	t.Helper()
	s := &scripted{t: t, rest: exchanges}
	token := new(atomic.Pointer[creds.Token])
	token.Store(&creds.Token{Kind: creds.KindAMRM, Password: []byte("old")})
	c := newClient(testAttempt, s, token, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if len(s.rest) > 0 {
			t.Errorf("%d expected calls were not made, the first is %s", len(s.rest), s.rest[0].method)
		}
	})
	return c, s
}

func responseID(n int32) *yarnpb.AllocateResponseProto {
	return &yarnpb.AllocateResponseProto{ResponseId: proto.Int32(n)}
}

// counts returns the counts in an allocate request by place.
func counts(request proto.Message) map[string]int32 {
	byPlace := map[string]int32{}
	for _, r := range request.(*yarnpb.AllocateRequestProto).GetAsk() {
		byPlace[r.GetResourceName()] = r.GetNumContainers()
	}
	return byPlace
}

func wantAsked(want map[string]int32) func(*testing.T, proto.Message) {
	return func(t *testing.T, request proto.Message) {
		t.Helper()
		if diff := cmp.Diff(want, counts(request)); diff != "" {
			t.Errorf("asks (-want +got):\n%s", diff)
		}
	}
}

func TestRegistrationTellsWhatYarnOffers(t *testing.T) {
	t.Parallel()
	node := records.NodeID{Host: "n", Port: 7}
	c, _ := scriptedClient(t, exchange{
		method: "registerApplicationMaster",
		check: func(t *testing.T, request proto.Message) {
			r := request.(*yarnpb.RegisterApplicationMasterRequestProto)
			if r.GetHost() != "h" || r.GetRpcPort() != -1 || r.GetTrackingUrl() != "http://h:1" {
				t.Errorf("registered as %v", r)
			}
		},
		response: &yarnpb.RegisterApplicationMasterResponseProto{
			MaximumCapability:      pbconv.ResourceProto(records.Resource{MemoryMB: 8192, VCores: 4}),
			Queue:                  proto.String("root.default"),
			SchedulerResourceTypes: []yarnpb.SchedulerResourceTypes{yarnpb.SchedulerResourceTypes_MEMORY, yarnpb.SchedulerResourceTypes_CPU},
			NmTokensFromPreviousAttempts: []*yarnpb.NMTokenProto{{
				NodeId: pbconv.NodeIDProto(node), Token: tokenProto("nm"),
			}},
		},
	})
	got, err := c.Register(t.Context(), RegisterRequest{Host: "h", RPCPort: -1, TrackingURL: "http://h:1"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Maximum != (records.Resource{MemoryMB: 8192, VCores: 4}) || got.Queue != "root.default" || !got.CPUScheduled || got.NMTokens[node] == nil {
		t.Errorf("registration is %+v", got)
	}
}

func tokenProto(password string) *commonpb.TokenProto {
	return pbconv.TokenProto(&creds.Token{Identifier: []byte{1}, Password: []byte(password), Kind: creds.KindAMRM})
}

// If the answer to the first registration was lost, the refusal of the second must not
// end the application.
func TestRegisterTwiceIsRegistered(t *testing.T) {
	t.Parallel()
	c, _ := scriptedClient(t,
		exchange{method: "registerApplicationMaster", err: &yarnrpc.CallError{MaybeSent: true, Err: io.EOF}},
		exchange{method: "registerApplicationMaster", err: exception("InvalidApplicationMasterRequestException", "Application Master is already registered : x")},
		exchange{method: "allocate", response: responseID(1)},
	)
	if _, err := c.Register(t.Context(), RegisterRequest{}); !errors.Is(err, io.EOF) {
		t.Fatalf("error is %v", err)
	}
	if _, err := c.Register(t.Context(), RegisterRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Allocate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

func TestARefusedAskIsSentAgainUntilItIsMended(t *testing.T) {
	t.Parallel()
	c, _ := scriptedClient(t,
		exchange{method: "allocate", check: wantAsked(map[string]int32{"*": 1}), err: exception("InvalidResourceRequestException", "too large")},
		exchange{
			method: "allocate",
			check: func(t *testing.T, request proto.Message) {
				wantAsked(map[string]int32{"*": 1})(t, request)
				r := request.(*yarnpb.AllocateRequestProto)
				if r.GetResponseId() != 0 || len(r.GetRelease()) != 1 || r.GetAsk()[0].GetCapability().GetMemory() != 100 {
					t.Errorf("request is %v", r)
				}
			},
			response: responseID(1),
		},
	)
	id := records.ContainerID{Attempt: testAttempt, ID: 3}
	c.SetAsk(Ask{Count: 1, Capability: records.Resource{MemoryMB: 1 << 40}})
	c.Release(id)
	if _, err := c.Allocate(t.Context(), 0); !errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		t.Fatalf("error is %v", err)
	}
	if !c.Changed() {
		t.Error("what was refused counts as sent")
	}
	c.SetAsk(Ask{Count: 1, Capability: records.Resource{MemoryMB: 100}})
	if _, err := c.Allocate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if c.Changed() {
		t.Error("what was sent counts as waiting")
	}
}

// sized returns the memory of each entry in an allocate request by place.
func sized(request proto.Message) map[string]int64 {
	byPlace := map[string]int64{}
	for _, r := range request.(*yarnpb.AllocateRequestProto).GetAsk() {
		byPlace[r.GetResourceName()] = r.GetCapability().GetMemory()
	}
	return byPlace
}

// YARN also checks the size of cancelled asks. An earlier ask had named places, and the
// only large node then restarted smaller. The cancellation of those places with the old
// size made YARN refuse every later allocate.
func TestACancellationHasNoSizeThatYARNCouldRefuse(t *testing.T) {
	t.Parallel()
	const large = 4096
	c, _ := scriptedClient(t,
		exchange{method: "allocate", check: wantAsked(map[string]int32{"*": 1, "/r": 1, "h": 1}), response: responseID(1)},
		exchange{method: "allocate", response: &yarnpb.AllocateResponseProto{
			ResponseId: proto.Int32(2),
			AllocatedContainers: []*yarnpb.ContainerProto{pbconv.ContainerProto(records.Container{
				ID: records.ContainerID{Attempt: testAttempt, ID: 2}, Node: records.NodeID{Host: "h", Port: 1}, Priority: 1,
			})},
		}},
		exchange{method: "allocate", check: wantAsked(map[string]int32{"*": 1, "/r": 0, "h": 0}), err: exception("InvalidResourceRequestException", "4096 > 2048")},
		exchange{
			method: "allocate",
			check: func(t *testing.T, request proto.Message) {
				wantAsked(map[string]int32{"*": 0, "/r": 0, "h": 0})(t, request)
				if diff := cmp.Diff(map[string]int64{"*": 0, "/r": 0, "h": 0}, sized(request)); diff != "" {
					t.Errorf("sizes of what is cancelled (-want +got):\n%s", diff)
				}
			},
			response: responseID(3),
		},
	)
	ask := Ask{
		Key: AskKey{Priority: 1}, Count: 1, Capability: records.Resource{MemoryMB: large},
		Hosts: []HostAsk{{Host: "h", Rack: "/r", Count: 1}},
	}
	c.SetAsk(ask)
	for range 2 {
		allocates(t, c)
	}
	ask.Hosts = nil // it has gone, and the container with it
	c.SetAsk(ask)
	if _, err := c.Allocate(t.Context(), 0); !errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		t.Fatalf("error is %v", err)
	}
	ask.Count = 0
	c.SetAsk(ask)
	allocates(t, c)
	if c.Changed() {
		t.Error("something still waits to be sent")
	}
}

// An ask that YARN never accepted needs no cancellation. An ask that it accepted under
// the same key does.
func TestARefusedAskThatIsTakenBackIsNotSent(t *testing.T) {
	t.Parallel()
	c, _ := scriptedClient(t,
		exchange{method: "allocate", check: wantAsked(map[string]int32{"*": 1}), response: responseID(1)},
		exchange{method: "allocate", err: exception("InvalidResourceRequestException", "too large")},
		exchange{
			method: "allocate",
			check: func(t *testing.T, request proto.Message) {
				wantAsked(map[string]int32{"*": 0})(t, request)
				ask := request.(*yarnpb.AllocateRequestProto).GetAsk()[0]
				if ask.GetPriority().GetPriority() != 1 || ask.GetCapability().GetMemory() != 0 {
					t.Errorf("cancelled is %v", ask)
				}
			},
			response: responseID(2),
		},
	)
	known, huge := Ask{Key: AskKey{Priority: 1}, Count: 1, Capability: records.Resource{MemoryMB: 100}}, records.Resource{MemoryMB: 1 << 40}
	c.SetAsk(known)
	if _, err := c.Allocate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	known.Capability = huge
	c.SetAsk(known)
	c.SetAsk(Ask{Key: AskKey{Priority: 2}, Count: 1, Capability: huge})
	if _, err := c.Allocate(t.Context(), 0); !errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		t.Fatalf("error is %v", err)
	}
	known.Count = 0
	c.SetAsk(known)
	c.SetAsk(Ask{Key: AskKey{Priority: 2}})
	if _, err := c.Allocate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// If a refusal after a lost answer counted as lost, the request would be sent for ever,
// whatever the caller changes.
func TestARefusalAfterALostAnswerIsARefusal(t *testing.T) {
	t.Parallel()
	refused := exception("InvalidResourceRequestException", "too large")
	c, _ := scriptedClient(t,
		exchange{method: "allocate", check: wantAsked(map[string]int32{"*": 1}), err: &yarnrpc.CallError{MaybeSent: true, Err: refused}},
		exchange{method: "allocate", check: wantAsked(map[string]int32{}), response: responseID(1)},
	)
	huge := Ask{Key: AskKey{Priority: 2}, Count: 1, Capability: records.Resource{MemoryMB: 1 << 40}}
	c.SetAsk(huge)
	if _, err := c.Allocate(t.Context(), 0); !errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		t.Fatalf("error is %v", err)
	}
	huge.Count = 0
	c.SetAsk(huge)
	if _, err := c.Allocate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// One release of another attempt's container would make YARN refuse every request, and
// every ask with it.
func TestAForeignReleaseIsDroppedWhenRefused(t *testing.T) {
	t.Parallel()
	own := records.ContainerID{Attempt: testAttempt, ID: 3}
	foreign := own
	foreign.Attempt.Attempt++
	c, _ := scriptedClient(t,
		exchange{method: "allocate", err: exception("InvalidContainerReleaseException", "not yours")},
		exchange{
			method: "allocate",
			check: func(t *testing.T, request proto.Message) {
				got := pbconv.ContainerIDs(request.(*yarnpb.AllocateRequestProto).GetRelease())
				if diff := cmp.Diff([]records.ContainerID{own}, got); diff != "" {
					t.Errorf("released (-want +got):\n%s", diff)
				}
			},
			response: responseID(1),
		},
	)
	c.Release(own, foreign)
	if _, err := c.Allocate(t.Context(), 0); !errors.Is(err, yarnrpc.ErrInvalidContainerRelease) {
		t.Fatalf("error is %v", err)
	}
	if _, err := c.Allocate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

func TestARestartedResourceManagerIsToldEverythingInOneAllocate(t *testing.T) {
	t.Parallel()
	released := records.ContainerID{Attempt: testAttempt, ID: 9}
	previous := records.Container{ID: records.ContainerID{Attempt: testAttempt, ID: 4}, Node: records.NodeID{Host: "n", Port: 7}, Token: &creds.Token{}}
	full := func(t *testing.T, request proto.Message) {
		t.Helper()
		wantAsked(map[string]int32{"*": 2, "/r": 2, "a": 2})(t, request)
		r := request.(*yarnpb.AllocateRequestProto)
		if len(r.GetRelease()) != 1 || len(r.GetBlacklistRequest().GetBlacklistAdditions()) != 1 || r.GetResponseId() != 0 {
			t.Errorf("request is %v", r)
		}
	}
	c, _ := scriptedClient(t,
		exchange{method: "registerApplicationMaster"},
		exchange{method: "allocate", check: full, response: responseID(1)},
		exchange{method: "allocate", check: wantAsked(map[string]int32{}), err: exception("ApplicationMasterNotRegisteredException", "register first")},
		exchange{method: "registerApplicationMaster", response: &yarnpb.RegisterApplicationMasterResponseProto{
			ContainersFromPreviousAttempts: []*yarnpb.ContainerProto{pbconv.ContainerProto(previous)},
		}},
		exchange{method: "allocate", check: full, response: responseID(1)},
	)
	if _, err := c.Register(t.Context(), RegisterRequest{}); err != nil {
		t.Fatal(err)
	}
	c.SetAsk(Ask{Count: 2, Hosts: []HostAsk{host("a", "/r", 2)}})
	c.Release(released)
	c.Blacklist([]string{"bad"}, nil)
	if r, err := c.Allocate(t.Context(), 0); err != nil || r.Resynced {
		t.Fatalf("first allocate: %+v, %v", r, err)
	}
	r, err := c.Allocate(t.Context(), 0)
	if err != nil || !r.Resynced || len(r.PreviousContainers) != 1 {
		t.Errorf("allocate after the restart: %+v, %v", r, err)
	}
}

// The caller must learn of a restart even if the answer to the new registration was lost.
func TestARestartIsToldAlsoIfTheAnswerToTheRegistrationIsLost(t *testing.T) {
	t.Parallel()
	c, _ := scriptedClient(t,
		exchange{method: "registerApplicationMaster"},
		exchange{method: "allocate", err: exception("ApplicationMasterNotRegisteredException", "register first")},
		exchange{method: "registerApplicationMaster", err: &yarnrpc.CallError{MaybeSent: true, Err: yarnrpc.ErrTimeout}},
		exchange{method: "allocate", response: responseID(1)},
		exchange{method: "allocate", response: responseID(2)},
	)
	if _, err := c.Register(t.Context(), RegisterRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Allocate(t.Context(), 0); !errors.Is(err, yarnrpc.ErrTimeout) {
		t.Fatalf("allocate amid the restart: %v", err)
	}
	for _, want := range []bool{true, false} {
		if r, err := c.Allocate(t.Context(), 0); err != nil || r.Resynced != want {
			t.Errorf("allocate after the restart: %+v, %v, want resynced %v", r, err, want)
		}
	}
}

func TestTheBlacklistIsSentAsChanges(t *testing.T) {
	t.Parallel()
	change := func(add, remove []string) func(*testing.T, proto.Message) {
		return func(t *testing.T, request proto.Message) {
			t.Helper()
			b := request.(*yarnpb.AllocateRequestProto).GetBlacklistRequest()
			if !cmp.Equal(b.GetBlacklistAdditions(), add) || !cmp.Equal(b.GetBlacklistRemovals(), remove) {
				t.Errorf("blacklist changes are %v", b)
			}
		}
	}
	c, _ := scriptedClient(t,
		exchange{method: "allocate", check: change([]string{"a", "b"}, nil), response: responseID(1)},
		exchange{method: "allocate", check: change(nil, []string{"a"}), response: responseID(2)},
		exchange{method: "allocate", check: change(nil, nil), response: responseID(3)},
	)
	c.Blacklist([]string{"b", "a"}, []string{"never listed"})
	for range 3 {
		if _, err := c.Allocate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		c.Blacklist([]string{"b"}, []string{"a"})
	}
}

func TestResponseIDsFollowYarnsWhenTheyDiffer(t *testing.T) {
	t.Parallel()
	c, _ := scriptedClient(t,
		exchange{method: "allocate", err: exception("InvalidApplicationMasterRequestException",
			"Invalid responseId in AllocateRequest from application attempt: x, expect responseId to be 41, but get 0")},
		exchange{
			method: "allocate",
			check: func(t *testing.T, request proto.Message) {
				wantAsked(map[string]int32{"*": 1})(t, request)
				if id := request.(*yarnpb.AllocateRequestProto).GetResponseId(); id != 41 {
					t.Errorf("response id is %d", id)
				}
			},
			response: responseID(42),
		},
	)
	c.SetAsk(Ask{Count: 1})
	if _, err := c.Allocate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

func TestARolledTokenServesNewConnections(t *testing.T) {
	t.Parallel()
	response := responseID(1)
	response.AmRmToken = tokenProto("new")
	c, s := scriptedClient(t, exchange{method: "allocate", response: response})
	if _, err := c.Allocate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got := string(c.token.Load().Password); got != "new" || s.resets != 1 {
		t.Errorf("token is %q after %d resets of the connection", got, s.resets)
	}
}

// An attempt that YARN has given up must make no more calls, not even to unregister.
func TestAnAttemptThatIsGoneStaysGone(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException", "org.apache.hadoop.security.token.SecretManager$InvalidToken"} {
		c, _ := scriptedClient(t, exchange{method: "allocate", err: &yarnrpc.RemoteError{Class: class}})
		for range 2 {
			if _, err := c.Allocate(t.Context(), 0); !errors.Is(err, ErrAttemptGone) {
				t.Errorf("%s: error is %v", class, err)
			}
		}
		if err := c.Finish(t.Context(), records.FinalSucceeded, "", ""); !errors.Is(err, ErrAttemptGone) {
			t.Errorf("%s: finish: %v", class, err)
		}
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	unregistered := func(done bool) *yarnpb.FinishApplicationMasterResponseProto {
		return &yarnpb.FinishApplicationMasterResponseProto{IsUnregistered: proto.Bool(done)}
	}
	const finish = "finishApplicationMaster"
	gone := exception("ApplicationAttemptNotFoundException", "gone")
	tests := map[string]struct {
		script []exchange
		want   error
	}{
		"polls until YARN has recorded it": {script: []exchange{
			{method: finish, response: unregistered(false)},
			{method: finish, response: unregistered(false)},
			{method: finish, response: unregistered(true)},
		}},
		"survives a restart of the ResourceManager": {script: []exchange{
			{method: finish, err: &yarnrpc.CallError{Err: io.EOF}},
			{method: finish, err: exception("ApplicationMasterNotRegisteredException", "")},
			{method: "registerApplicationMaster"},
			{method: finish, response: unregistered(true)},
		}},
		"an attempt that is gone after a try whose answer was lost may have been replaced": {want: ErrAttemptGone, script: []exchange{
			{method: finish, err: &yarnrpc.CallError{MaybeSent: true, Err: io.EOF}},
			{method: finish, err: gone},
		}},
		"and so may one that is gone after a try within the call": {want: ErrAttemptGone, script: []exchange{
			{method: finish, err: &yarnrpc.CallError{MaybeSent: true, Err: gone}},
		}},
		"an attempt that was gone before is not": {want: ErrAttemptGone, script: []exchange{
			{method: finish, err: gone},
		}},
		"the exception of an attempt that was replaced while it was connected": {want: ErrAttemptGone, script: []exchange{
			{method: finish, err: exception("InvalidApplicationMasterRequestException", "Application doesn't exist in cache appattempt_1_0001_000001")},
		}},
		"a refusal is final": {want: yarnrpc.ErrAccessControl, script: []exchange{
			{method: finish, err: &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.AccessControlException"}},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				script := append([]exchange{{method: "registerApplicationMaster"}}, test.script...)
				c, _ := scriptedClient(t, script...)
				if _, err := c.Register(t.Context(), RegisterRequest{}); err != nil {
					t.Fatal(err)
				}
				if err := c.Finish(t.Context(), records.FinalSucceeded, "done", ""); !errors.Is(err, test.want) {
					t.Errorf("error is %v, want %v", err, test.want)
				}
			})
		})
	}
}

func TestFinishEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var script []exchange
		for range 3 {
			script = append(script, exchange{method: "finishApplicationMaster", err: &yarnrpc.CallError{Err: io.EOF}})
		}
		c, _ := scriptedClient(t, script...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := c.Finish(ctx, records.FinalFailed, "", "")
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, io.EOF) {
			t.Errorf("error is %v, want the deadline and what stood in the way", err)
		}
	})
}
