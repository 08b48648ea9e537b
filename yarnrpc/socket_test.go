package yarnrpc_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// Over a real socket, several calls share a write, and their answers come in any order.
// Each caller gets its own answer, although others leave early and some answers come
// late. A forgotten caller would wait for ever.
func TestCallersOfASocketGetTheirOwnAnswers(t *testing.T) {
	for name, o := range map[string]ends{
		"in clear":        {options(), &rpctest.Server{}},
		"under integrity": protected(sasl.QOPIntegrity),
		"under privacy":   protected(sasl.QOPPrivacy),
	} {
		t.Run(name, func(t *testing.T) {
			o.server.Handler = func(call *rpctest.Call) (proto.Message, error) {
				switch n := number(call); {
				case n%97 == 0:
					pause(10 * time.Millisecond) // some callers have left by then
				case n%13 == 0:
					pause(500 * time.Microsecond)
				}
				return echo(call)
			}
			o.client.MaxCalls = 5 // some wait for room
			c := dial(t, o.server.Listen(t), o.client)
			var callers sync.WaitGroup
			for caller := range int32(8) {
				callers.Go(func() {
					random := rand.New(rand.NewPCG(7, uint64(caller)))
					for i := range int32(150) {
						want := caller*1000 + i
						ctx, cancel := t.Context(), context.CancelFunc(func() {})
						if random.IntN(10) == 0 {
							ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(2000))*time.Microsecond)
						}
						got, err := ask(ctx, c, method, want)
						if err == nil && got != want || err != nil && !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("asked with %d, got %d, %v", want, got, err)
						}
						cancel()
						if random.IntN(20) == 0 {
							pause(time.Duration(random.IntN(60)) * time.Millisecond) // the connection is at rest
						}
					}
				})
			}
			callers.Wait()
		})
	}
}

// pause is the time of a slow server, or of a caller between calls.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// ends holds the client and the server of a connection.
type ends struct {
	client yarnrpc.Options
	server *rpctest.Server
}

func protected(qop sasl.QOP) ends {
	e := ends{withToken(options(), token("me", "secret")), &rpctest.Server{
		Passwords: func([]byte) ([]byte, error) { return []byte("secret"), nil },
		QOPs:      []sasl.QOP{qop},
	}}
	e.client.QOPs = e.server.QOPs
	return e
}

// The kernel accepts a part of a long request, and the rest later. The calls behind it
// must not come in between, and must arrive.
func TestARequestThatTheKernelDoesNotTakeAtOnceArrivesWhole(t *testing.T) {
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		var request yarnpb.SubmitApplicationRequestProto
		if err := call.Decode(&request); err != nil {
			return nil, err
		}
		return answer(int32(len(request.GetApplicationSubmissionContext().GetApplicationName()))), nil
	}}
	c := dial(t, server.Listen(t), options())
	var callers sync.WaitGroup
	for i := range 6 {
		callers.Go(func() {
			for _, length := range []int{1, 3 << 20, 3, 100 << 10} {
				request, _ := longCall(length+i, 0)
				var response yarnpb.GetApplicationReportResponseProto
				err := c.Call(t.Context(), method, request, &response)
				if got := response.GetApplicationReport().GetApplicationId().GetId(); err != nil || int(got) != length+i {
					t.Errorf("%d bytes became %d, %v", length+i, got, err)
				}
			}
		})
	}
	callers.Wait()
}

// The time limit of an earlier write that waited for the kernel must not break the
// connection later.
func TestATimeLimitForALongRequestIsNoneForTheNext(t *testing.T) {
	server := &rpctest.Server{Handler: func(*rpctest.Call) (proto.Message, error) { return answer(1), nil }}
	address := server.Listen(t)
	o := options()
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if tcp, is := conn.(*net.TCPConn); is {
			err = tcp.SetWriteBuffer(4 << 10) // the kernel does not accept it at once
		}
		return conn, err
	}
	o.MaxIdle = -1
	request, _ := longCall(256<<10, 0)
	for o.RPCTimeout = time.Second; ; o.RPCTimeout *= 2 { // until it is enough for this machine
		c := dial(t, address, o)
		err := c.Call(t.Context(), method, request, &yarnpb.GetApplicationReportResponseProto{})
		if err == nil {
			pause(o.RPCTimeout)
			_, err = ask(t.Context(), c, method, 1)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, yarnrpc.ErrTimeout) {
			t.Fatal(err)
		}
	}
}

// Whenever a connection ends, every caller on it returns.
func TestASocketThatEndsAtAnyMomentKeepsNobody(t *testing.T) {
	server := &rpctest.Server{Handler: echo}
	address := server.Listen(t)
	random := rand.New(rand.NewPCG(7, 7))
	for round := range 100 {
		c := dial(t, address, options())
		if _, err := ask(t.Context(), c, method, 1); err != nil { // the server has it from then on
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for i := int32(0); ; i++ {
					if got, err := ask(t.Context(), c, method, i); err != nil {
						return
					} else if got != i {
						t.Errorf("asked with %d, got %d", i, got)
					}
				}
			})
		}
		pause(time.Duration(random.IntN(4000)) * time.Microsecond)
		if round%2 == 0 {
			closeOrFail(t, c)
		} else {
			server.Disconnect()
		}
		callers.Wait()
	}
}

// The client must notice that the server has closed an unused connection before it sends
// the next call, because it could not repeat that call.
func TestAServerThatClosesAnUnusedSocketIsNoticed(t *testing.T) {
	server := &rpctest.Server{Handler: echo}
	c := dial(t, server.Listen(t), options())
	for i := range int32(50) {
		if got, err := ask(t.Context(), c, method, i); err != nil || got != i {
			t.Fatalf("got %d, %v", got, err)
		}
	}
	server.Disconnect()
	<-c.Done()
	if _, err := ask(t.Context(), c, method, 1); err == nil || yarnrpc.MaybeSent(err) {
		t.Errorf("a call after it: %v", err)
	}
}

// A caller who waits for the socket can leave.
func TestACallerWhoWaitsForASocketCanLeave(t *testing.T) {
	for name, leave := range map[string]func(c *yarnrpc.Conn, cancel context.CancelFunc){
		"his context ends":      func(_ *yarnrpc.Conn, cancel context.CancelFunc) { cancel() },
		"the connection closes": func(c *yarnrpc.Conn, _ context.CancelFunc) { c.Close() }, // dial's cleanup looks
	} {
		t.Run(name, func(t *testing.T) {
			arrived := make(chan struct{})
			server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
				close(arrived)
				return hang(call)
			}}
			c := dial(t, server.Listen(t), options())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-arrived
				leave(c, cancel)
			}()
			if _, err := ask(ctx, c, method, 1); !yarnrpc.MaybeSent(err) || !errors.Is(err, context.Canceled) && !errors.Is(err, yarnrpc.ErrClosed) {
				t.Errorf("got %v, maybe sent %v", err, yarnrpc.MaybeSent(err))
			}
		})
	}
}

// A socket reads the faults of TestServersThatBreakTheRules in another way than memory
// does.
func TestSocketsWhoseServersBreakTheRules(t *testing.T) {
	for name, tc := range map[string]struct {
		says string
		want error
		text string
	}{
		"a web server":      {"HTTP/1.1 404 Not Found\r\n\r\n", nil, "speaks HTTP"},
		"a frame cut short": {"\x00\x00\x00\x10abc", io.ErrUnexpectedEOF, ""},
		"hanging up":        {"", io.EOF, "closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() { // ends with its connection
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				conn.Read(make([]byte, 4096)) // the context, and perhaps the call
				io.WriteString(conn, tc.says) // the test fails without it
				if tcp, is := conn.(*net.TCPConn); is && tc.want != nil {
					tcp.CloseWrite() // the test fails without it
				}
				io.Copy(io.Discard, conn) // until the client is gone
			}()
			c := dial(t, listener.Addr().String(), options())
			_, err = ask(t.Context(), c, method, 1)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %v %q", err, tc.want, tc.text)
			}
		})
	}
}
