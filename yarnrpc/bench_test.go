package yarnrpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// lengths are those of requests and answers, in bytes, a few aside.
func lengths() []struct{ request, answer int } {
	return []struct{ request, answer int }{{100, 100}, {100 << 10, 100}, {100, 100 << 10}}
}

// longCall is a request and its answer, with so many bytes in each beside a few.
func longCall(request, answer int) (*yarnpb.SubmitApplicationRequestProto, *commonpb.CredentialsKVProto) {
	submission := &yarnpb.ApplicationSubmissionContextProto{ApplicationName: proto.String(strings.Repeat("n", request))}
	return &yarnpb.SubmitApplicationRequestProto{ApplicationSubmissionContext: submission},
		&commonpb.CredentialsKVProto{Alias: proto.String("a"), Secret: make([]byte, answer)}
}

// callCost is what b counts for calls of such lengths.
func callCost(b *testing.B, request, answer int, a agreement, caller func(o yarnrpc.Options) yarnrpc.Caller) {
	ask, told := longCall(request, answer)
	c := caller(startParrot(b, a, told))
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var response commonpb.CredentialsKVProto
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Call(ctx, method, ask, &response); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is one caller of a server that answers at once; what the server needs to
// protect its side is in the time. What the answer itself needs, once it is decoded, is
// allocated with it: two times for these, and the length.
func BenchmarkCall(b *testing.B) {
	for _, length := range lengths() {
		b.Run(fmt.Sprintf("request=%d/answer=%d", length.request, length.answer), func(b *testing.B) {
			for _, a := range agreements() {
				b.Run("Conn/"+a.String(), func(b *testing.B) {
					callCost(b, length.request, length.answer, a, func(o yarnrpc.Options) yarnrpc.Caller {
						c, err := yarnrpc.Dial(b.Context(), parrotAddress, o)
						if err != nil {
							b.Fatal(err)
						}
						b.Cleanup(func() { c.Close() })
						return c
					})
				})
			}
			b.Run("Proxy/SIMPLE", func(b *testing.B) {
				callCost(b, length.request, length.answer, agreement{}, func(o yarnrpc.Options) yarnrpc.Caller {
					p := yarnrpc.NewProxy([]string{parrotAddress}, o, yarnrpc.Policy{})
					b.Cleanup(func() { p.Close() })
					return p
				})
			})
		})
	}
}
