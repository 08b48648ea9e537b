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
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// scripted connects to a peer that runs script over an in-memory connection, and reads the
// client's frames meanwhile.
func scripted(o yarnrpc.Options, script func(conn net.Conn, requests <-chan wire.Request)) yarnrpc.Options {
	o.Dial = func(context.Context, string, string) (net.Conn, error) {
		client, served := net.Pipe()
		requests := make(chan wire.Request, 100)
		go func() {
			defer close(requests)
			if _, err := wire.ReadPreamble(served); err != nil {
				return
			}
			for {
				frame, err := wire.ReadFrame(served, wire.MaxFrame)
				if err != nil {
					return
				}
				if r, err := wire.ParseRequest(frame); err == nil {
					requests <- r
				}
			}
		}()
		go func() {
			script(served, requests)
			for range requests { // until the client closes
			}
			served.Close() // the test is over
		}()
		return client, nil
	}
	return o
}

func firstCall(requests <-chan wire.Request) wire.Request {
	for r := range requests {
		if r.ID >= 0 {
			return r
		}
	}
	return wire.Request{}
}

func send(t *testing.T, conn net.Conn, id int32, client []byte, m proto.Message, f *wire.Failure) {
	b, err := wire.AppendResponse(nil, id, client, m, f)
	if err != nil {
		t.Error(err)
	}
	conn.Write(b) // the client may have hung up
}

// Whatever a peer sends, the call fails with an error that names the fault. No goroutine
// stays, and no memory is allocated for announced lengths.
func TestServersThatBreakTheRules(t *testing.T) {
	raw := func(bytes string) func(*testing.T, net.Conn, wire.Request) {
		return func(_ *testing.T, conn net.Conn, _ wire.Request) {
			io.WriteString(conn, bytes) // the client may have hung up
		}
	}
	hangUp := func(bytes string) func(*testing.T, net.Conn, wire.Request) {
		return func(_ *testing.T, conn net.Conn, _ wire.Request) {
			io.WriteString(conn, bytes) // the client may have hung up
			conn.Close()                // the other end notices
		}
	}
	for name, tc := range map[string]struct {
		behave func(*testing.T, net.Conn, wire.Request)
		want   error  // nil: any
		text   string // part of the error's
		action yarnrpc.Action
	}{
		"a length of gigabytes":      {raw("\xff\xff\xff\xff"), nil, "frame length 4294967295", yarnrpc.Permanent},
		"a length of nothing":        {raw("\x00\x00\x00\x00"), nil, "frame length 0", yarnrpc.Permanent},
		"a web server":               {raw("HTTP/1.1 404 Not Found\r\n\r\n"), nil, "speaks HTTP", yarnrpc.Permanent},
		"a TLS server":               {raw("\x15\x03\x01\x00\x02\x02\x0a"), nil, "TLS alert", yarnrpc.Permanent},
		"garbage in a frame":         {raw("\x00\x00\x00\x04\xff\xff\xff\xff"), wire.ErrMalformed, "RpcResponseHeaderProto", yarnrpc.Permanent},
		"a frame cut short":          {hangUp("\x00\x00\x00\x10abc"), io.ErrUnexpectedEOF, "", yarnrpc.FailOver},
		"a length cut short":         {hangUp("\x00\x00"), io.ErrUnexpectedEOF, "", yarnrpc.FailOver},
		"hanging up":                 {hangUp(""), io.EOF, "closed the connection", yarnrpc.FailOver},
		"an answer to nobody's call": {answerTo(-77), wire.ErrMalformed, "call -77", yarnrpc.Permanent},
		"another client's answer": {func(t *testing.T, conn net.Conn, r wire.Request) {
			send(t, conn, r.ID, []byte("somebody else 16"), answer(1), nil)
		}, wire.ErrMalformed, "another client", yarnrpc.Permanent},
		"an answer of another type": {func(t *testing.T, conn net.Conn, r wire.Request) {
			send(t, conn, r.ID, r.Call.ClientID, &commonpb.TokenProto{
				Identifier: []byte("\xff"), Password: []byte{}, Kind: proto.String(""), Service: proto.String(""),
			}, nil)
		}, wire.ErrMalformed, "GetApplicationReportResponseProto", yarnrpc.Permanent},
		"a success without an answer": {func(t *testing.T, conn net.Conn, r wire.Request) {
			header, err := proto.Marshal(&commonpb.RpcResponseHeaderProto{
				CallId: proto.Uint32(uint32(r.ID)),
				Status: commonpb.RpcResponseHeaderProto_SUCCESS.Enum(),
			})
			if err != nil {
				t.Error(err)
			}
			frame := binary.BigEndian.AppendUint32(nil, uint32(len(header)+1))
			raw(string(append(append(frame, byte(len(header))), header...)))(t, conn, r)
		}, wire.ErrMalformed, "", yarnrpc.Permanent},
		"silence": {func(*testing.T, net.Conn, wire.Request) {}, yarnrpc.ErrTimeout, "", yarnrpc.FailOver},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := yarnrpc.Dial(t.Context(), "server:1", scripted(options(), func(conn net.Conn, requests <-chan wire.Request) {
					tc.behave(t, conn, firstCall(requests))
				}))
				if err != nil {
					t.Fatal(err)
				}
				_, err = ask(t.Context(), c, method, 1)
				if err == nil || tc.want != nil && !errors.Is(err, tc.want) || yarnrpc.Classify(err) != tc.action {
					t.Errorf("got %v, %v; want %v, %v", err, yarnrpc.Classify(err), tc.want, tc.action)
				}
				if err != nil && (!strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), "server:1")) {
					t.Errorf("%q does not say %q of server:1", err, tc.text)
				}
				closeOrFail(t, c)
			})
		})
	}
}

func answerTo(id int32) func(*testing.T, net.Conn, wire.Request) {
	return func(t *testing.T, conn net.Conn, r wire.Request) { send(t, conn, id, r.Call.ClientID, answer(1), nil) }
}

// A cancelled call leaves behind an answer without a caller.
func TestAnswersToUnknownCallsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := yarnrpc.Dial(t.Context(), "server:1", scripted(options(), func(conn net.Conn, requests <-chan wire.Request) {
			r := firstCall(requests)
			send(t, conn, r.ID+1000, r.Call.ClientID, answer(1), nil)
			send(t, conn, r.ID, r.Call.ClientID, answer(2), nil)
			send(t, conn, r.ID, r.Call.ClientID, answer(3), nil)
		}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ask(t.Context(), c, method, 1); err != nil || got != 2 {
			t.Errorf("got %d, %v", got, err)
		}
		synctest.Wait()
		if err := c.Err(); err != nil {
			t.Errorf("connection ended: %v", err)
		}
		closeOrFail(t, c)
	})
}

// A server that has answered has accepted the connection. If it refuses the connection
// later, it may already be executing calls.
func TestAConnectionThatIsRefusedAfterAnAnswerMayHaveRunTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := yarnrpc.Dial(t.Context(), "server:1", scripted(options(), func(conn net.Conn, requests <-chan wire.Request) {
			first := firstCall(requests)
			send(t, conn, first.ID, first.Call.ClientID, answer(1), nil)
			firstCall(requests)
			send(t, conn, wire.CallAuthorizationFailed, nil, nil, &wire.Failure{
				Class: "org.apache.hadoop.ipc.RpcServerException", Message: "unreadable header", Fatal: true,
			})
		}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t.Context(), c, method, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t.Context(), c, method, 2); !yarnrpc.MaybeSent(err) {
			t.Errorf("got %v, of which it says that it has not run", err)
		}
		closeOrFail(t, c)
	})
}

// A server that refuses the connection may close it while the client writes. The failed
// write must not hide the server's reason.
func TestLastWordsAreHeardAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			client, served := net.Pipe()
			go func() {
				buffer := make([]byte, 4096)
				served.Read(buffer)         // the handshake
				time.Sleep(2 * time.Second) // the call's write fails meanwhile
				send(t, served, wire.CallContext, nil, nil, &wire.Failure{
					Class: "org.apache.hadoop.security.authorize.AuthorizationException", Message: "not you", Fatal: true,
				})
				served.Close() // the test is over
			}()
			return brokenWriter{client, 1}, nil
		}
		c, err := yarnrpc.Dial(t.Context(), "server:1", o)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		if _, err := ask(t.Context(), c, method, 1); !errors.Is(err, yarnrpc.ErrAccessControl) || yarnrpc.MaybeSent(err) {
			t.Errorf("got %v", err)
		}
		closeOrFail(t, c)
	})
}

// brokenWriter fails after some writes.
type brokenWriter struct {
	net.Conn
	good int
}

var errBroken = errors.New("broken pipe")

func (b brokenWriter) Write(p []byte) (int, error) {
	if len(p) > 0 && string(p[:4]) == "hrpc" {
		return b.Conn.Write(p)
	}
	return 0, errBroken
}

func TestAFailedWriteIsTheErrorWhereTheServerSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := scripted(options(), func(net.Conn, <-chan wire.Request) {})
		dialPipe := o.Dial
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialPipe(ctx, network, address)
			return brokenWriter{conn, 1}, err
		}
		c, err := yarnrpc.Dial(t.Context(), "server:1", o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t.Context(), c, method, 1); !errors.Is(err, errBroken) || !yarnrpc.MaybeSent(err) {
			t.Errorf("got %v, maybe sent %v", err, yarnrpc.MaybeSent(err))
		}
		closeOrFail(t, c)
	})
}

// A peer that answers a login without knowing the password, or out of turn, is not the
// right server.
func TestServersThatBreakTheRulesOfTheLogin(t *testing.T) {
	offer := func(auths ...*commonpb.RpcSaslProto_SaslAuth) *commonpb.RpcSaslProto {
		return &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_NEGOTIATE.Enum(), Auths: auths}
	}
	digest := func(challenge string) *commonpb.RpcSaslProto_SaslAuth {
		return &commonpb.RpcSaslProto_SaslAuth{
			Method: proto.String("TOKEN"), Mechanism: proto.String("DIGEST-MD5"),
			Protocol: proto.String(""), ServerId: proto.String("default"), Challenge: []byte(challenge),
		}
	}
	state := func(s commonpb.RpcSaslProto_SaslState, token string) *commonpb.RpcSaslProto {
		return &commonpb.RpcSaslProto{State: s.Enum(), Token: []byte(token)}
	}
	good := `realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess`
	for name, tc := range map[string]struct {
		replies []*commonpb.RpcSaslProto
		want    error
	}{
		"no way in at all":      {[]*commonpb.RpcSaslProto{offer()}, yarnrpc.ErrNoCommonAuth},
		"another way in":        {[]*commonpb.RpcSaslProto{offer(&commonpb.RpcSaslProto_SaslAuth{Method: proto.String("KERBEROS"), Mechanism: proto.String("GSSAPI")})}, yarnrpc.ErrNoCommonAuth},
		"a challenge at once":   {[]*commonpb.RpcSaslProto{state(commonpb.RpcSaslProto_CHALLENGE, good)}, wire.ErrMalformed},
		"a bad challenge":       {[]*commonpb.RpcSaslProto{offer(digest("nonsense"))}, sasl.ErrChallenge},
		"success without proof": {[]*commonpb.RpcSaslProto{offer(digest(good)), state(commonpb.RpcSaslProto_SUCCESS, "")}, sasl.ErrChallenge},
		"a false proof":         {[]*commonpb.RpcSaslProto{offer(digest(good)), state(commonpb.RpcSaslProto_SUCCESS, "rspauth=00")}, sasl.ErrMismatch},
		"a second challenge":    {[]*commonpb.RpcSaslProto{offer(digest(good)), state(commonpb.RpcSaslProto_CHALLENGE, good)}, sasl.ErrChallenge},
		"an offer once more":    {[]*commonpb.RpcSaslProto{offer(digest(good)), offer(digest(good))}, wire.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := scripted(withToken(options(), token("me", "secret")), func(conn net.Conn, requests <-chan wire.Request) {
					for _, reply := range tc.replies {
						<-requests
						send(t, conn, wire.CallSASL, nil, reply, nil)
					}
				})
				c, err := yarnrpc.Dial(t.Context(), "server:1", o)
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v, %v, want %v", c, err, tc.want)
				}
			})
		})
	}
}
