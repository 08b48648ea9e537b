package yarnrpc

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// HandshakeOptions say who opens a connection and what for.
type HandshakeOptions struct {
	Protocol            string // wire name
	ClientID            []byte // wire.ClientIDLength bytes; nil: none
	User                UserInformation
	Token               *creds.Token // nil: the server is told User
	QOPs                []sasl.QOP   // see Options.QOPs
	AllowSimpleFallback bool         // see Options.AllowSimpleFallback
	MaxResponse         int          // see Options.MaxResponse; bounds what a protected connection unwraps
}

// maxSASLFrame bounds what a server may say while it authenticates us, in bytes.
const maxSASLFrame = 64 << 10

// methodToken is the name in SASL offers of the way in that tokens open.
const methodToken = "TOKEN"

// Handshake opens an RPC connection over conn: preamble, authentication, connection
// context. Calls can follow at once on the net.Conn that it returns, which protects
// them if that was agreed on. After an error conn is of no further use; closing it
// is the caller's. The end of ctx ends the handshake.
//
// A server that does not want the connection says so while it is authenticated; one
// that is told a user answers with the first call.
func Handshake(ctx context.Context, conn net.Conn, o HandshakeOptions) (net.Conn, error) {
	if o.MaxResponse <= 0 {
		o.MaxResponse = wire.MaxFrame
	}
	stop := context.AfterFunc(ctx, func() {
		conn.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // a closed connection is past blocking
	})
	h := handshake{conn: conn, address: conn.RemoteAddr().String(), o: o}
	opened, err := h.open()
	if !stop() { // the deadline is in the past, or about to be
		return nil, contextError(ctx)
	}
	return opened, err
}

type handshake struct {
	conn    net.Conn
	address string
	o       HandshakeOptions
}

func (h *handshake) open() (net.Conn, error) {
	told := wire.Context{
		ClientID: append([]byte{}, h.o.ClientID...),
		Protocol: h.o.Protocol,
		User:     h.o.User.Effective,
		RealUser: h.o.User.Real,
	}
	if h.o.Token == nil {
		return h.conn, h.sendContext(h.conn, wire.AppendPreamble(nil, wire.AuthNone), told)
	}
	simple, layer, err := h.authenticate()
	if err != nil {
		return nil, err
	}
	if !simple {
		told.User, told.RealUser = "", "" // the token says who we are
	}
	conn := h.conn
	if layer != nil {
		conn = newProtectedConn(conn, layer, h.o.MaxResponse)
	}
	return conn, h.sendContext(conn, nil, told)
}

func (h *handshake) sendContext(conn net.Conn, before []byte, told wire.Context) error {
	b, err := wire.AppendContext(before, told)
	if err != nil {
		return err
	}
	if _, err := conn.Write(b); err != nil {
		return fmt.Errorf("send connection context: %w", err)
	}
	return nil
}

// authenticate logs in with the token. simple: the server wants no login at all.
func (h *handshake) authenticate() (simple bool, layer sasl.Layer, err error) {
	opening := &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_NEGOTIATE.Enum()}
	offer, err := h.exchange(wire.AppendPreamble(nil, wire.AuthSASL), opening)
	if err != nil {
		return false, nil, err
	}
	switch offer.GetState() {
	case commonpb.RpcSaslProto_NEGOTIATE:
		layer, err = h.login(offer.GetAuths())
		return false, layer, err
	case commonpb.RpcSaslProto_SUCCESS:
		if !h.o.AllowSimpleFallback {
			return false, nil, fmt.Errorf("authenticate: %w: the server takes no token (see ipc.client.fallback-to-simple-auth-allowed)", ErrNoCommonAuth)
		}
		return true, nil, nil
	default:
		return false, nil, unexpectedState(offer)
	}
}

func (h *handshake) login(offers []*commonpb.RpcSaslProto_SaslAuth) (sasl.Layer, error) {
	offer, err := pick(offers)
	if err != nil {
		return nil, err
	}
	mechanism := &sasl.DigestMD5{
		User:     sasl.EncodeCredential(h.o.Token.Identifier),
		Password: sasl.EncodeCredential(h.o.Token.Password),
		URI:      offer.GetProtocol() + "/" + offer.GetServerId(),
		QOPs:     h.o.QOPs,
	}
	response, err := mechanism.Start(offer.GetChallenge())
	if err != nil {
		return nil, fmt.Errorf("authenticate with %v: %w", h.o.Token, err)
	}
	// The server compares our choice with its offer, but for the challenge.
	choice := proto.CloneOf(offer)
	choice.Challenge = nil
	reply, err := h.exchange(nil, &commonpb.RpcSaslProto{
		State: commonpb.RpcSaslProto_INITIATE.Enum(),
		Token: response,
		Auths: []*commonpb.RpcSaslProto_SaslAuth{choice},
	})
	for err == nil && reply.GetState() == commonpb.RpcSaslProto_CHALLENGE {
		if response, err = mechanism.Next(reply.GetToken()); err != nil {
			return nil, fmt.Errorf("authenticate with %v: %w", h.o.Token, err)
		}
		reply, err = h.exchange(nil, &commonpb.RpcSaslProto{
			State: commonpb.RpcSaslProto_RESPONSE.Enum(),
			Token: response,
		})
	}
	if err != nil {
		return nil, err
	}
	if reply.GetState() != commonpb.RpcSaslProto_SUCCESS {
		return nil, unexpectedState(reply)
	}
	layer, err := mechanism.Finish(reply.GetToken())
	if err != nil {
		return nil, fmt.Errorf("authenticate with %v: %w", h.o.Token, err)
	}
	return layer, nil
}

func pick(offers []*commonpb.RpcSaslProto_SaslAuth) (*commonpb.RpcSaslProto_SaslAuth, error) {
	var methods []string
	for _, offer := range offers {
		if offer.GetMethod() == methodToken && offer.GetMechanism() == sasl.MechanismDigestMD5 {
			return offer, nil
		}
		methods = append(methods, offer.GetMethod()+"/"+offer.GetMechanism())
	}
	return nil, fmt.Errorf("authenticate: %w: the client has a token, the server takes %q", ErrNoCommonAuth, methods)
}

// exchange sends a message, after the bytes of before, and reads the answer.
func (h *handshake) exchange(before []byte, m *commonpb.RpcSaslProto) (*commonpb.RpcSaslProto, error) {
	b, err := wire.AppendSASL(before, m)
	if err != nil {
		return nil, err
	}
	if _, err := h.conn.Write(b); err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	frame, err := wire.ReadFrame(h.conn, maxSASLFrame)
	if err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	response, err := wire.ParseResponse(frame)
	if err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	if response.Failure != nil {
		return nil, remoteError(h.address, "", response.Failure)
	}
	if response.CallID != wire.CallSASL {
		return nil, fmt.Errorf("authenticate: %w: answer to call %d", wire.ErrMalformed, response.CallID)
	}
	var reply commonpb.RpcSaslProto
	if err := response.Decode(&reply); err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	return &reply, nil
}

func unexpectedState(m *commonpb.RpcSaslProto) error {
	return fmt.Errorf("authenticate: %w: the server's state is %v", wire.ErrMalformed, m.GetState())
}
