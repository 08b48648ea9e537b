package yarnrpc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// drip sends the apparent beginning of a long frame, a byte each second, until the client
// closes.
func drip(conn net.Conn) {
	if _, err := conn.Write(binary.BigEndian.AppendUint32(nil, 1<<15)); err != nil {
		return
	}
	for {
		time.Sleep(time.Second)
		if _, err := conn.Write([]byte{1}); err != nil {
			return
		}
	}
}

// A login that never ends must not hold the client for longer than the client's own time
// limits.
func TestLoginsWithoutEnd(t *testing.T) {
	offer := &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_NEGOTIATE.Enum(), Auths: []*commonpb.RpcSaslProto_SaslAuth{{
		Method: proto.String("TOKEN"), Mechanism: proto.String("DIGEST-MD5"), Protocol: proto.String(""), ServerId: proto.String("default"),
		Challenge: []byte(`realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess`),
	}}}
	for name, tc := range map[string]struct {
		script   func(*testing.T, net.Conn, <-chan wire.Request)
		kerberos bool
		want     func(error) bool
		within   time.Duration
	}{
		"an offer that drips": {func(_ *testing.T, conn net.Conn, requests <-chan wire.Request) {
			<-requests
			drip(conn)
		}, false, is(yarnrpc.ErrConnectTimeout), 7 * time.Second},
		"an answer to the login that drips": {func(t *testing.T, conn net.Conn, requests <-chan wire.Request) {
			<-requests
			send(t, conn, wire.CallSASL, nil, offer, nil)
			<-requests
			drip(conn)
		}, false, is(yarnrpc.ErrConnectTimeout), 7 * time.Second},
		"silence": {func(*testing.T, net.Conn, <-chan wire.Request) {}, false, is(yarnrpc.ErrConnectTimeout), 7 * time.Second},
		"challenge after challenge": {func(t *testing.T, conn net.Conn, requests <-chan wire.Request) {
			<-requests
			send(t, conn, wire.CallSASL, nil, offer, nil)
			for range requests {
				send(t, conn, wire.CallSASL, nil, state(commonpb.RpcSaslProto_CHALLENGE, offer.GetAuths()[0].GetChallenge()), nil)
			}
		}, false, is(sasl.ErrChallenge), 0},
		"challenge after challenge, with Kerberos": {func(t *testing.T, conn net.Conn, requests <-chan wire.Request) {
			<-requests
			send(t, conn, wire.CallSASL, nil, offers(kerberosOffer()), nil)
			gss := &sasl.GSSAPIServer{Key: serviceKey}
			var challenge []byte
			for r := range requests {
				if next, done, err := gss.Next(r.SASL.GetToken()); err == nil && !done {
					challenge = next
				} // and then the last one for ever
				send(t, conn, wire.CallSASL, nil, state(commonpb.RpcSaslProto_CHALLENGE, challenge), nil)
			}
		}, true, is(sasl.ErrChallenge), 0},
		"an offer of a megabyte": {func(t *testing.T, conn net.Conn, requests <-chan wire.Request) {
			<-requests
			long := proto.CloneOf(offer)
			long.Auths[0].Challenge = make([]byte, 1<<20)
			send(t, conn, wire.CallSASL, nil, long, nil)
		}, false, isTooLong, 0},
		"a hundred thousand ways in": {func(t *testing.T, conn net.Conn, requests <-chan wire.Request) {
			<-requests
			many := &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_NEGOTIATE.Enum()}
			for range 100_000 {
				many.Auths = append(many.Auths, &commonpb.RpcSaslProto_SaslAuth{Method: proto.String(""), Mechanism: proto.String("")})
			}
			send(t, conn, wire.CallSASL, nil, many, nil)
		}, false, isTooLong, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := withToken(options(), token("me", "secret"))
				if tc.kerberos {
					o = withLogin(options(), &alices{})
				}
				o.ConnectTimeout = 7 * time.Second
				began := time.Now()
				_, err := yarnrpc.Dial(t.Context(), "server:1", scripted(o, func(conn net.Conn, requests <-chan wire.Request) { tc.script(t, conn, requests) }))
				if !tc.want(err) || time.Since(began) != tc.within {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				time.Sleep(2 * time.Second) // the server notices
			})
		})
	}
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func isTooLong(err error) bool {
	_, is := errors.AsType[*wire.FrameError](err)
	return is
}

// Without a limit on the whole call, a server that always sends something would hold it for
// ever.
func TestAnswersWithoutEnd(t *testing.T) {
	for name, script := range map[string]func(*testing.T, net.Conn, wire.Request){
		"an answer that drips": func(_ *testing.T, conn net.Conn, _ wire.Request) { drip(conn) },
		"answers to others, one after the other": func(_ *testing.T, conn net.Conn, r wire.Request) {
			b, err := wire.AppendResponse(nil, r.ID+1000, r.Call.ClientID, answer(1), nil)
			for err == nil {
				time.Sleep(10 * time.Millisecond)
				_, err = conn.Write(b)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options()
				o.RPCTimeout, o.PingInterval = 9*time.Second, 2*time.Second
				c, err := yarnrpc.Dial(t.Context(), "server:1", scripted(o, func(conn net.Conn, requests <-chan wire.Request) {
					script(t, conn, firstCall(requests))
				}))
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if _, err := ask(t.Context(), c, method, 1); !errors.Is(err, yarnrpc.ErrTimeout) || time.Since(began) != o.RPCTimeout {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				closeOrFail(t, c)
				time.Sleep(2 * time.Second) // the server notices
			})
		})
	}
}

// If a server stops reading, a call that does not fit into the connection's buffers stays half
// sent.
func TestAServerThatDoesNotReadKeepsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.RPCTimeout = 9 * time.Second
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			client, served := net.Pipe()
			go served.Read(make([]byte, 4096)) // the handshake, and no more
			return client, nil
		}
		c, err := yarnrpc.Dial(t.Context(), "server:1", o)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		long := &yarnpb.KillApplicationRequestProto{Diagnostics: proto.String(strings.Repeat("x", 1<<20))}
		err = c.Call(t.Context(), "forceKillApplication", long, &yarnpb.KillApplicationResponseProto{})
		if yarnrpc.Classify(err) != yarnrpc.FailOver || !yarnrpc.MaybeSent(err) || time.Since(began) > 2*o.RPCTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		closeOrFail(t, c)
	})
}

// between is an attacker between a server and its client. It decides the fate of each frame
// after the login. others are the earlier frames.
type between func(frame []byte, others [][]byte) (onward [][]byte)

// dial connects to server through it.
func (b between) dial(server *rpctest.Server) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, near := net.Pipe()
		far, served := net.Pipe()
		server.Serve(served)
		go func() { // ends when the client hangs up
			io.Copy(far, near) // an end of either is the end of both
			far.Close()
		}()
		go func() { // ends when the server does
			defer near.Close()
			var seen [][]byte
			for {
				frame, err := wire.ReadFrame(far, wire.MaxFrame)
				if err != nil {
					return
				}
				onward := [][]byte{frame}
				if len(seen) >= loginFrames {
					onward = b(frame, seen[loginFrames:])
				}
				seen = append(seen, frame)
				for _, f := range onward {
					if _, err := near.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(f))), f...)); err != nil {
						return
					}
				}
			}
		}()
		return client, nil
	}
}

// loginFrames is the number of a server's frames during a login with a token: its offer and
// its success.
const loginFrames = 2

// An attacker on the network can always cut a protected connection. But the client must not
// accept an old answer as a new one, or an answer of the attacker.
func TestProtectedAnswersAreNotReplayedNorReplaced(t *testing.T) {
	second := func(change between) between {
		return func(frame []byte, others [][]byte) [][]byte {
			if len(others) == 0 {
				return [][]byte{frame}
			}
			return change(frame, others)
		}
	}
	plain, err := wire.AppendResponse(nil, 1, nil, answer(666), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, qop := range []sasl.QOP{sasl.QOPIntegrity, sasl.QOPPrivacy} {
		for name, tc := range map[string]struct {
			change between
			want   error
		}{
			"an answer once more":   {func(_ []byte, others [][]byte) [][]byte { return others[:1] }, sasl.ErrTampered},
			"one answer twice":      {func(frame []byte, _ [][]byte) [][]byte { return [][]byte{frame, frame} }, nil},
			"one answer kept back":  {func([]byte, [][]byte) [][]byte { return nil }, yarnrpc.ErrTimeout},
			"an answer of his own":  {func([]byte, [][]byte) [][]byte { return [][]byte{plain[4:]} }, wire.ErrMalformed},
			"a bit of an answer":    {func(frame []byte, _ [][]byte) [][]byte { frame[len(frame)-9] ^= 1; return [][]byte{frame} }, sasl.ErrTampered},
			"nothing, in a wrapper": {func([]byte, [][]byte) [][]byte { return [][]byte{wrapper(t, nil)} }, yarnrpc.ErrTimeout},
			"a message of the login": {func([]byte, [][]byte) [][]byte {
				return [][]byte{frameOf(t, state(commonpb.RpcSaslProto_SUCCESS, nil))}
			}, wire.ErrMalformed},
		} {
			t.Run(string(qop)+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := &rpctest.Server{Handler: echo, Passwords: knows("me", "secret"), QOPs: []sasl.QOP{qop}}
					o := withToken(options(), token("me", "secret"))
					o.QOPs, o.RPCTimeout, o.Dial = server.QOPs, 5*time.Second, second(tc.change).dial(server)
					c, err := yarnrpc.Dial(t.Context(), "server:1", o)
					if err != nil {
						t.Fatal(err)
					}
					if got, err := ask(t.Context(), c, method, 1); err != nil || got != 1 {
						t.Errorf("first: %d, %v", got, err)
					}
					got, err := ask(t.Context(), c, method, 2)
					if tc.want == nil && (err != nil || got != 2) || tc.want != nil && !errors.Is(err, tc.want) {
						t.Errorf("second: %d, %v; want %v", got, err, tc.want)
					}
					if _, err := ask(t.Context(), c, method, 3); err == nil {
						t.Error("the connection still serves")
					}
					closeOrFail(t, c)
					server.Close()
				})
			})
		}
	}
}

func frameOf(t *testing.T, m *commonpb.RpcSaslProto) []byte {
	b, err := wire.AppendResponse(nil, wire.CallSASL, nil, m, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	return b[4:]
}

func wrapper(t *testing.T, token []byte) []byte {
	return frameOf(t, state(commonpb.RpcSaslProto_WRAP, token))
}
