package yarnrpc_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// parrot answers each call on a connection with the same message, allocates nothing for
// it, and so leaves what is counted to the client.
func parrot(tb testing.TB, answer proto.Message) (address string) {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	frame, err := wire.AppendResponse(nil, 0, nil, answer, nil)
	if err != nil {
		tb.Fatal(err)
	}
	_, n := protowire.ConsumeBytes(frame[4:])
	body := frame[4+n:]
	done := make(chan struct{})
	go func() { // ends when the listener and the client's connection are closed
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := wire.ReadPreamble(conn); err != nil {
			tb.Error(err)
			return
		}
		squawk(conn, body)
	}()
	tb.Cleanup(func() {
		listener.Close()
		<-done
	})
	return listener.Addr().String()
}

func squawk(conn net.Conn, body []byte) {
	in := wire.Inbox{Limit: wire.MaxFrame}
	var out, header []byte
	for {
		n, err := conn.Read(in.Room())
		if err != nil {
			return
		}
		in.Came(n)
		out = out[:0]
		for {
			frame, err := in.Next()
			if err != nil {
				return
			}
			if frame == nil {
				break
			}
			id := callID(frame)
			if id < 0 { // the connection context
				continue
			}
			header = protowire.AppendVarint(append(header[:0], 1<<3), uint64(id))
			header = append(header, 2<<3, 0)
			out = binary.BigEndian.AppendUint32(out, uint32(1+len(header)+len(body)))
			out = append(append(append(out, byte(len(header))), header...), body...)
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// callID finds the third field of a request's header, after two of two bytes each.
func callID(frame []byte) int64 {
	header, _ := protowire.ConsumeBytes(frame)
	id, _ := protowire.ConsumeVarint(header[5:])
	return protowire.DecodeZigZag(id)
}

// longCall is a request and its answer, with so many bytes in each beside a few.
func longCall(request, answer int) (*yarnpb.SubmitApplicationRequestProto, *commonpb.CredentialsKVProto) {
	submission := &yarnpb.ApplicationSubmissionContextProto{ApplicationName: proto.String(strings.Repeat("n", request))}
	return &yarnpb.SubmitApplicationRequestProto{ApplicationSubmissionContext: submission},
		&commonpb.CredentialsKVProto{Alias: proto.String("a"), Secret: make([]byte, answer)}
}

// callCost is what b counts for calls of such lengths.
func callCost(b *testing.B, request, answer int, caller func(address string) yarnrpc.Caller) {
	ask, told := longCall(request, answer)
	c := caller(parrot(b, told))
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

// BenchmarkCall is one caller of a server that answers at once. What the answer itself
// needs, once it is decoded, is allocated with it: two times for these, and the length.
func BenchmarkCall(b *testing.B) {
	for _, length := range []struct{ request, answer int }{{100, 100}, {100 << 10, 100}, {100, 100 << 10}} {
		b.Run(fmt.Sprintf("request=%d/answer=%d", length.request, length.answer), func(b *testing.B) {
			b.Run("Conn", func(b *testing.B) {
				callCost(b, length.request, length.answer, func(address string) yarnrpc.Caller {
					c, err := yarnrpc.Dial(b.Context(), address, options())
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { c.Close() })
					return c
				})
			})
			b.Run("Proxy", func(b *testing.B) {
				callCost(b, length.request, length.answer, func(address string) yarnrpc.Caller {
					p := yarnrpc.NewProxy([]string{address}, options(), yarnrpc.Policy{})
					b.Cleanup(func() { p.Close() })
					return p
				})
			})
		})
	}
}
