package yarnrpc_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// agreement is the client's login and the protection of its calls.
type agreement struct {
	mechanism string // empty: the server trusts user names
	qop       sasl.QOP
}

func agreements() []agreement {
	all := []agreement{{}}
	for _, mechanism := range []string{sasl.MechanismDigestMD5, sasl.MechanismGSSAPI} {
		for _, qop := range []sasl.QOP{sasl.QOPAuthentication, sasl.QOPIntegrity, sasl.QOPPrivacy} {
			all = append(all, agreement{mechanism, qop})
		}
	}
	return all
}

func (a agreement) String() string {
	if a.mechanism == "" {
		return "SIMPLE"
	}
	return fmt.Sprintf("%s-%s", a.mechanism, a.qop)
}

// options returns the options of a client of parrotAddress.
func (a agreement) options() yarnrpc.Options {
	o := options()
	switch a.mechanism {
	case sasl.MechanismDigestMD5:
		o = withToken(o, token("me", "secret"))
	case sasl.MechanismGSSAPI:
		o = withLogin(o, &alices{})
	}
	o.QOPs = []sasl.QOP{a.qop}
	return o
}

// logIn is the server's side of the login.
func (a agreement) logIn(conn net.Conn) (sasl.Layer, error) {
	if a.mechanism == "" {
		return nil, nil
	}
	if _, err := hearSASL(conn); err != nil { // the client's request to log in
		return nil, err
	}
	if a.mechanism == sasl.MechanismGSSAPI {
		return a.logInByTicket(conn)
	}
	digest := &sasl.DigestMD5Server{URI: "/default", QOPs: []sasl.QOP{a.qop}, Password: func(string) (string, error) {
		return sasl.EncodeCredential([]byte("secret")), nil
	}}
	if err := saySASL(conn, offers(&commonpb.RpcSaslProto_SaslAuth{
		Method: proto.String("TOKEN"), Mechanism: proto.String(a.mechanism),
		Protocol: proto.String(""), ServerId: proto.String(sasl.Realm), Challenge: digest.Challenge(),
	})); err != nil {
		return nil, err
	}
	response, err := hearSASL(conn)
	if err != nil {
		return nil, err
	}
	_, proof, layer, err := digest.Verify(response)
	if err != nil {
		return nil, err
	}
	return layer, saySASL(conn, state(commonpb.RpcSaslProto_SUCCESS, proof))
}

func (a agreement) logInByTicket(conn net.Conn) (sasl.Layer, error) {
	gss := &sasl.GSSAPIServer{Key: serviceKey, QOPs: []sasl.QOP{a.qop}}
	next := offers(kerberosOffer())
	for {
		if err := saySASL(conn, next); err != nil {
			return nil, err
		}
		response, err := hearSASL(conn)
		if err != nil {
			return nil, err
		}
		challenge, done, err := gss.Next(response)
		if err != nil {
			return nil, err
		}
		if done {
			_, layer, err := gss.Finish(response)
			if err != nil {
				return nil, err
			}
			return layer, saySASL(conn, state(commonpb.RpcSaslProto_SUCCESS, nil))
		}
		next = state(commonpb.RpcSaslProto_CHALLENGE, challenge)
	}
}

func saySASL(conn net.Conn, m *commonpb.RpcSaslProto) error {
	b, err := wire.AppendResponse(nil, wire.CallSASL, nil, m, nil)
	if err == nil {
		_, err = conn.Write(b)
	}
	return err
}

// hearSASL returns the token of a client's message.
func hearSASL(conn net.Conn) ([]byte, error) {
	frame, err := wire.ReadFrame(conn, wire.MaxFrame)
	if err != nil {
		return nil, err
	}
	r, err := wire.ParseRequest(frame)
	return r.SASL.GetToken(), err
}

// parrotAddress is the address of every parrot, with the name in tickets.
const parrotAddress = "server:1"

// startParrot starts a server for one connection, and returns the options of its client.
// Every call has the same answer.
func startParrot(tb testing.TB, a agreement, answer proto.Message) yarnrpc.Options {
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
	done := make(chan struct{})
	go func() { // ends when the listener and the client's connection are closed
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, err = wire.ReadPreamble(conn)
		var layer sasl.Layer
		if err == nil {
			layer, err = a.logIn(conn)
		}
		if err != nil {
			tb.Error(err)
			return
		}
		(&parrot{conn: conn, layer: layer, body: frame[4+n:]}).run()
	}()
	tb.Cleanup(func() {
		listener.Close()
		<-done
	})
	o := a.options()
	o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, listener.Addr().String())
	}
	return o
}

// parrot answers each call on a connection with the same message. It allocates nothing, so
// only the client's allocations are counted.
type parrot struct {
	conn  net.Conn
	layer sasl.Layer // nil: none
	body  []byte     // of each answer

	in, unwrapped      wire.Inbox
	answer, token, out []byte
}

func (p *parrot) run() {
	p.in.Limit, p.unwrapped.Limit = wire.MaxFrame, wire.MaxFrame
	for {
		n, err := p.conn.Read(p.in.Room())
		if err != nil {
			return
		}
		p.in.Came(n)
		p.out = p.out[:0]
		if p.hear() != nil {
			return
		}
		if _, err := p.conn.Write(p.out); err != nil {
			return
		}
	}
}

// hear answers received calls.
func (p *parrot) hear() error {
	for {
		frame, err := p.in.Next()
		if frame == nil {
			return err
		}
		if p.layer == nil {
			p.out = p.appendAnswer(p.out, frame)
			continue
		}
		plain, err := p.layer.Unwrap(tokenOf(frame))
		if err != nil {
			return err
		}
		p.unwrapped.Put(plain)
		if err := p.hearUnwrapped(); err != nil {
			return err
		}
	}
}

// hearUnwrapped answers calls that came under protection, each in a wrapper, as servers do.
func (p *parrot) hearUnwrapped() error {
	for {
		frame, err := p.unwrapped.Next()
		if frame == nil {
			return err
		}
		if p.answer = p.appendAnswer(p.answer[:0], frame); len(p.answer) == 0 {
			continue
		}
		if p.token, err = p.layer.AppendWrap(p.token[:0], p.answer); err != nil {
			return err
		}
		var room [16]byte
		message := append(room[:0], 2<<3, byte(commonpb.RpcSaslProto_WRAP), 3<<3|2)
		message = protowire.AppendVarint(message, uint64(len(p.token)))
		call := wire.CallSASL
		p.out = appendHeader(p.out, uint64(uint32(call)), protowire.SizeBytes(len(message)+len(p.token)))
		p.out = protowire.AppendVarint(p.out, uint64(len(message)+len(p.token)))
		p.out = append(append(p.out, message...), p.token...)
	}
}

// appendAnswer adds the answer to a request, if the request is a call.
func (p *parrot) appendAnswer(b, request []byte) []byte {
	id := callID(request)
	if id < 0 { // the connection context
		return b
	}
	return append(appendHeader(b, uint64(id), len(p.body)), p.body...)
}

// appendHeader begins an answer of which that many bytes follow.
func appendHeader(b []byte, id uint64, follow int) []byte {
	header := 1 + protowire.SizeVarint(id) + 2
	b = binary.BigEndian.AppendUint32(b, uint32(1+header+follow))
	b = protowire.AppendVarint(append(b, byte(header), 1<<3), id)
	return append(b, 2<<3, byte(commonpb.RpcResponseHeaderProto_SUCCESS))
}

// callID finds the third field of a request's header, after two of two bytes each.
func callID(frame []byte) int64 {
	header, _ := protowire.ConsumeBytes(frame)
	id, _ := protowire.ConsumeVarint(header[5:])
	return protowire.DecodeZigZag(id)
}

// tokenOf finds the second field after a request's header, after one of two bytes.
func tokenOf(frame []byte) []byte {
	_, n := protowire.ConsumeBytes(frame)
	message, _ := protowire.ConsumeBytes(frame[n:])
	token, _ := protowire.ConsumeBytes(message[3:])
	return token
}
