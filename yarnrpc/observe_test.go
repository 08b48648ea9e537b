package yarnrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// A metric that misses a try, or counts one twice, misleads operators.
func TestEachTryOfACallIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
			time.Sleep(3 * time.Second)
			if call.Call.Retry == 1 {
				return standby(call)
			}
			return echo(call)
		}}
		defer server.Close()
		var tries []yarnrpc.Try
		o := piped(server)
		o.Observe = func(try yarnrpc.Try) { tries = append(tries, try) }
		serve := o.Dial
		refuse := errors.New("no route")
		dialled := 0
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dialled++; dialled == 1 {
				time.Sleep(time.Second)
				return nil, &net.OpError{Op: "dial", Net: network, Err: refuse}
			}
			return serve(ctx, network, address)
		}
		p := yarnrpc.NewProxy([]string{"rm1:1", "rm2:1"}, o, yarnrpc.Policy{MaxWait: time.Hour, BaseDelay: time.Second})
		defer closeOrFail(t, p)
		began := time.Now()
		if got, err := ask(t.Context(), p, method, 7); err != nil || got != 7 {
			t.Fatalf("got %d, %v", got, err)
		}
		if len(tries) != 3 {
			t.Fatalf("%d tries, want 3: %+v", len(tries), tries)
		}
		for i, want := range []struct {
			address string
			took    time.Duration
			err     error
			sent    bool
			came    bool
		}{
			{"rm1:1", time.Second, refuse, false, false},
			{"rm2:1", 3 * time.Second, yarnrpc.ErrStandby, true, false},
			{"rm1:1", 3 * time.Second, nil, true, true},
		} {
			got := tries[i]
			if got.Address != want.address || got.Method != method || got.Protocol != yarnrpc.ApplicationClientProtocol ||
				got.Retry != i || got.Took != want.took || !errors.Is(got.Err, want.err) ||
				got.RequestBytes > 0 != want.sent || got.ResponseBytes > 0 != want.came || got.Began.Before(began) {
				t.Errorf("try %d: got %+v, want %+v", i, got, want)
			}
		}
	})
}

func ExampleOptions_observe() {
	failed := make(map[string]int)
	o := yarnrpc.Options{
		Protocol:       yarnrpc.ApplicationClientProtocol,
		ConnectTimeout: time.Second,
		Observe: func(try yarnrpc.Try) { // one caller: no lock is needed
			if try.Err != nil {
				failed[try.Method]++
			}
		},
	}
	rm := yarnrpc.NewProxy([]string{"127.0.0.1:1"}, o, yarnrpc.Policy{})
	defer rm.Close()
	err := rm.Call(context.Background(), "getClusterMetrics", &yarnpb.GetClusterMetricsRequestProto{}, &yarnpb.GetClusterMetricsResponseProto{})
	fmt.Println(err != nil, failed)
	// Output: true map[getClusterMetrics:1]
}
