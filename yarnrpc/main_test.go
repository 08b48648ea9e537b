package yarnrpc_test

import (
	"context"
	"net"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The calls of these tests send an application's number and receive it back. The method
// matters only to the server's handler, and to whether a Proxy repeats it.
const method = "getApplicationReport"

func ask(ctx context.Context, c yarnrpc.Caller, method string, number int32) (int32, error) {
	var response yarnpb.GetApplicationReportResponseProto
	err := c.Call(ctx, method, &yarnpb.GetApplicationReportRequestProto{
		ApplicationId: &yarnpb.ApplicationIdProto{Id: proto.Int32(number)},
	}, &response)
	return response.GetApplicationReport().GetApplicationId().GetId(), err
}

func number(call *rpctest.Call) int32 {
	var request yarnpb.GetApplicationReportRequestProto
	if err := call.Decode(&request); err != nil {
		panic(err)
	}
	return request.GetApplicationId().GetId()
}

func answer(number int32) *yarnpb.GetApplicationReportResponseProto {
	return &yarnpb.GetApplicationReportResponseProto{ApplicationReport: &yarnpb.ApplicationReportProto{
		ApplicationId: &yarnpb.ApplicationIdProto{Id: proto.Int32(number)},
	}}
}

func echo(call *rpctest.Call) (proto.Message, error) { return answer(number(call)), nil }

// hang waits until the caller leaves, and does not answer.
func hang(call *rpctest.Call) (proto.Message, error) {
	<-call.Gone
	return nil, nil
}

// options returns the options of a client whose user name the server trusts.
func options() yarnrpc.Options {
	return yarnrpc.Options{
		Protocol: yarnrpc.ApplicationClientProtocol,
		Auth:     yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "alice"}},
	}
}

// piped connects to server through memory, which synctest can wait for.
func piped(server *rpctest.Server) yarnrpc.Options {
	o := options()
	o.Dial = func(context.Context, string, string) (net.Conn, error) {
		client, served := net.Pipe()
		server.Serve(served)
		return client, nil
	}
	return o
}

func dial(t *testing.T, address string, o yarnrpc.Options) *yarnrpc.Conn {
	t.Helper()
	c, err := yarnrpc.Dial(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeOrFail(t, c) })
	return c
}

func closeOrFail(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
