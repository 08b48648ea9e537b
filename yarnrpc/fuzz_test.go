package yarnrpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// FuzzHandshake opens a connection to a server that does not know the password. It would
// catch a server that gets a login or the client's password, and a client that waits after
// the server has closed the connection.
func FuzzHandshake(f *testing.F) {
	offer := &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_NEGOTIATE.Enum(), Auths: []*commonpb.RpcSaslProto_SaslAuth{{
		Method: proto.String("TOKEN"), Mechanism: proto.String(sasl.MechanismDigestMD5), Protocol: proto.String(""), ServerId: proto.String("default"),
		Challenge: []byte(`realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess`),
	}}}
	challenge := &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_CHALLENGE.Enum(), Token: []byte(`nonce="n",algorithm=md5-sess`)}
	success := &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_SUCCESS.Enum(), Token: []byte("rspauth=0")}
	for _, messages := range [][]*commonpb.RpcSaslProto{{offer, success}, {success}, {offer, challenge, challenge}, {challenge}} {
		var said []byte
		for _, m := range messages {
			frame, err := wire.AppendResponse(nil, wire.CallSASL, nil, m, nil)
			if err != nil {
				f.Fatal(err)
			}
			said = append(said, frame...)
		}
		f.Add(said)
	}
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		const password = "the password of this token"
		server := &recorded{Reader: bytes.NewReader(said)}
		o := withToken(options(), token("identifier", password))
		o.QOPs = []sasl.QOP{sasl.QOPPrivacy, sasl.QOPAuthentication}
		o.Dial = func(context.Context, string, string) (net.Conn, error) { return server, nil }
		_, err := yarnrpc.Dial(t.Context(), "rm:8032", o)
		if err == nil {
			t.Fatal("logged in at a server that does not know the password")
		}
		if told := err.Error() + server.written.String(); strings.Contains(told, password) || strings.Contains(told, sasl.EncodeCredential([]byte(password))) {
			t.Errorf("the password is told: %q", told)
		}
	})
}

// recorded is a connection to a server whose messages were recorded.
type recorded struct {
	net.Conn
	io.Reader
	written bytes.Buffer
}

func (r *recorded) Read(p []byte) (int, error)  { return r.Reader.Read(p) }
func (r *recorded) Write(p []byte) (int, error) { return r.written.Write(p) }
func (*recorded) Close() error                  { return nil }
func (*recorded) SetDeadline(time.Time) error   { return nil }

// FuzzAnswers makes a call to a server that sends arbitrary bytes and closes the
// connection. It would catch an answer that leaves the caller waiting or crashes it, and an
// error that is neither the server's nor the connection's.
func FuzzAnswers(f *testing.F) {
	good, err := wire.AppendResponse(nil, 1, nil, answer(7), nil) // to the first call
	if err != nil {
		f.Fatal(err)
	}
	refusal, err := wire.AppendResponse(nil, -1, nil, nil, &wire.Failure{Class: "org.apache.hadoop.ipc.RPC$VersionMismatch", Message: "no\n\tat java", Fatal: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(append(bytes.Clone(refusal), good...))
	f.Add([]byte("\x7f\xff\xff\xff"))
	f.Add([]byte("HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		o := options()
		o.MaxResponse = 1 << 16
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			client, served := net.Pipe()
			go func() { // ends after the last byte, or when the client closes
				for range 2 { // the connection's opening, and the call
					_, _ = served.Read(make([]byte, 1<<12))
				}
				_, _ = served.Write(said)
				_ = served.Close()
			}()
			return client, nil
		}
		c, err := yarnrpc.Dial(t.Context(), "rm:8032", o)
		if err != nil {
			t.Fatal(err)
		}
		defer closeOrFail(t, c)
		_, err = ask(t.Context(), c, method, 7)
		_, remote := errors.AsType[*yarnrpc.RemoteError](err)
		_, call := errors.AsType[*yarnrpc.CallError](err)
		if err != nil && !remote && !call {
			t.Errorf("error %v is neither the server's nor the call's", err)
		}
		if err == nil && !bytes.Contains(said, []byte{0, 0}) {
			t.Error("a call was answered by no frame")
		}
	})
}

// FuzzProtected makes a call over a protected connection into which an attacker sends bytes
// after the login. It would catch bytes of the attacker that are accepted as the server's.
func FuzzProtected(f *testing.F) {
	wrapped := func(token []byte) []byte {
		b, err := wire.AppendResponse(nil, wire.CallSASL, nil, &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_WRAP.Enum(), Token: token}, nil)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	plain, err := wire.AppendResponse(nil, 0, nil, answer(7), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add(wrapped(plain))
	f.Add(wrapped(nil))
	f.Add(append(wrapped([]byte("\x00\x01\x00\x00\x00\x00")), wrapped(make([]byte, 100))...))
	f.Fuzz(func(t *testing.T, said []byte) {
		for _, qop := range []sasl.QOP{sasl.QOPIntegrity, sasl.QOPPrivacy} {
			server := &rpctest.Server{Handler: hang, Passwords: knows("me", "secret"), QOPs: []sasl.QOP{qop}}
			client, served := net.Pipe()
			server.Serve(served)
			conn := &hijacked{Conn: client}
			o := withToken(options(), token("me", "secret"))
			o.QOPs, o.MaxResponse = server.QOPs, 1<<16
			o.Dial = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
			o.Opened = func(string, yarnrpc.Security) { conn.said = bytes.NewReader(said) }
			c, err := yarnrpc.Dial(t.Context(), "rm:8032", o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = ask(t.Context(), c, method, 7)
			if remote, is := errors.AsType[*yarnrpc.RemoteError](err); err == nil || is && remote.Method != "" {
				t.Errorf("an answer that the server has not sent, %v", err)
			}
			closeOrFail(t, c)
			server.Close()
		}
	})
}

// hijacked is a connection whose other end was replaced by recorded bytes.
type hijacked struct {
	net.Conn
	said io.Reader // nil: not yet
}

func (h *hijacked) Read(p []byte) (int, error) {
	if h.said == nil {
		return h.Conn.Read(p)
	}
	return h.said.Read(p)
}
