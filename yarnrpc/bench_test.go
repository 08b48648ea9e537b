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

// lengths returns the approximate lengths of requests and answers, in bytes.
func lengths() []struct{ request, answer int } {
	return []struct{ request, answer int }{{100, 100}, {100 << 10, 100}, {100, 100 << 10}}
}

// longCall returns a request and its answer, each with about that many bytes.
func longCall(request, answer int) (*yarnpb.SubmitApplicationRequestProto, *commonpb.CredentialsKVProto) {
	submission := &yarnpb.ApplicationSubmissionContextProto{ApplicationName: proto.String(strings.Repeat("n", request))}
	return &yarnpb.SubmitApplicationRequestProto{ApplicationSubmissionContext: submission},
		&commonpb.CredentialsKVProto{Alias: proto.String("a"), Secret: make([]byte, answer)}
}

// callCost measures calls of these lengths with b.
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

// BenchmarkCall has one caller of a server that answers at once. The time includes the
// server's work for its protection. The allocations are those of the decoded answer: two
// for these answers, with the answer's length in bytes.
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
