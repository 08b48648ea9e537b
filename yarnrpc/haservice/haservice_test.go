package haservice

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(t *testing.T, server *rpctest.Server) (Status, error) {
	t.Helper()
	c := New(server.Listen(t), yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "me"}}})
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	return c.Status(t.Context())
}

// An administrator must never read that a standby is active, or that a standby is ready
// when it is not.
func TestStatus(t *testing.T) {
	t.Parallel()
	for want, answer := range map[Status]*commonpb.GetServiceStatusResponseProto{
		{State: Active}:                         {State: commonpb.HAServiceStateProto_ACTIVE.Enum()},
		{State: Standby, Ready: true}:           {State: commonpb.HAServiceStateProto_STANDBY.Enum(), ReadyToBecomeActive: proto.Bool(true)},
		{State: Standby, NotReady: "safe mode"}: {State: commonpb.HAServiceStateProto_STANDBY.Enum(), NotReadyReason: proto.String("safe mode")},
		{State: Initializing}:                   {State: commonpb.HAServiceStateProto_INITIALIZING.Enum()},
		{State: Observer}:                       {State: commonpb.HAServiceStateProto_OBSERVER.Enum()},
	} {
		got, err := ask(t, &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
			if call.Call.Method != "getServiceStatus" || call.Call.Protocol != yarnrpc.HAServiceProtocol {
				t.Errorf("called %s of %s", call.Call.Method, call.Call.Protocol)
			}
			return answer, nil
		}})
		if err != nil || got != want {
			t.Errorf("status is %+v, %v, want %+v", got, err, want)
		}
	}
}

// The wrong one of the two would leave a cluster without an active server, or with two.
func TestTransitions(t *testing.T) {
	t.Parallel()
	for method, transition := range map[string]func(*Client, context.Context) error{
		"transitionToActive":  (*Client).TransitionToActive,
		"transitionToStandby": (*Client).TransitionToStandby,
	} {
		var answer error
		server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
			var request commonpb.TransitionToActiveRequestProto // the other is the same
			if err := call.Decode(&request); err != nil || call.Call.Method != method || request.GetReqInfo().GetReqSource() != commonpb.HARequestSource_REQUEST_BY_USER {
				t.Errorf("called %s with %v, %v", call.Call.Method, &request, err)
			}
			return new(commonpb.TransitionToActiveResponseProto), answer
		}}
		c := New(server.Listen(t), yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "me"}}})
		if err := transition(c, t.Context()); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		answer = rpctest.Exception("org.apache.hadoop.security.AccessControlException", "Manual HA control for this NameNode is disallowed")
		if err := transition(c, t.Context()); !errors.Is(err, yarnrpc.ErrAccessControl) {
			t.Errorf("%s, refused: %v", method, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAServerThatWorksAloneIsTold(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]bool{
		"org.apache.hadoop.ipc.RpcNoSuchProtocolException":  true,
		"org.apache.hadoop.ha.ServiceFailedException":       true,
		"org.apache.hadoop.security.AccessControlException": false,
		"org.apache.hadoop.ipc.RpcNoSuchMethodException":    false,
	} {
		_, err := ask(t, &rpctest.Server{Handler: func(*rpctest.Call) (proto.Message, error) {
			return nil, rpctest.Exception(class, "no")
		}})
		if remote, is := errors.AsType[*yarnrpc.RemoteError](err); errors.Is(err, ErrNotPaired) != want || !is || remote.Class != class {
			t.Errorf("%s is %v", class, err)
		}
	}
}

// FuzzStatus would catch an answer that crashes its reader, and an invented state.
func FuzzStatus(f *testing.F) {
	for number := range commonpb.HAServiceStateProto_name {
		b, err := proto.Marshal(&commonpb.GetServiceStatusResponseProto{State: commonpb.HAServiceStateProto(number).Enum(), NotReadyReason: proto.String("x")})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p commonpb.GetServiceStatusResponseProto
		if proto.Unmarshal(b, &p) != nil {
			return
		}
		got := statusOf(&p)
		want := State(commonpb.HAServiceStateProto_name[int32(p.GetState())]) // empty for an unknown state
		if got.State != want || got.Ready != p.GetReadyToBecomeActive() || got.NotReady != p.GetNotReadyReason() {
			t.Errorf("%+v is read as %+v", &p, got)
		}
	})
}
