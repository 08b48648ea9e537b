package yarnrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// maxSASLFrame bounds a server's frames during authentication, in bytes.
const maxSASLFrame = 64 << 10

// Names of authentication methods in SASL offers.
const (
	methodSimple   = "SIMPLE"
	methodToken    = "TOKEN"
	methodKerberos = "KERBEROS"
)

// handshake opens an RPC connection: preamble, authentication, connection context. A server
// that refuses the connection says so during the authentication. If the client sends only a
// user name, the server answers with the first call.
type handshake struct {
	o        Options
	address  string // as it was dialled
	clientID []byte
	token    *creds.Token // nil: Login is used or, without it, User is sent
	conn     net.Conn
	server   string // the principal that the server has proved
}

// run returns the agreed protection; nil: none. It ends with ctx. After an error the
// connection is unusable, and the caller closes it.
func (h *handshake) run(ctx context.Context) (*protection, error) {
	stop := context.AfterFunc(ctx, func() {
		h.conn.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // a closed connection is past blocking
	})
	agreed, err := h.open(ctx)
	if !stop() { // the deadline is in the past, or about to be
		return nil, contextError(ctx)
	}
	return agreed, err
}

func (h *handshake) open(ctx context.Context) (*protection, error) {
	told := wire.Context{
		ClientID: h.clientID,
		Protocol: h.o.Protocol,
		User:     h.o.User.Effective,
		RealUser: h.o.User.Real,
	}
	if h.token == nil && h.o.Login == nil {
		return nil, h.sendContext(wire.AppendPreamble(nil, wire.AuthNone), told, nil, Security{Method: methodSimple, QOP: sasl.QOPAuthentication})
	}
	method, layer, err := h.authenticate(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case method == methodToken: // the token names the user
		told.User, told.RealUser = "", ""
	case method == methodKerberos && h.o.User.Real != "":
		told.RealUser = "" // the ticket names the real user
	case method == methodKerberos:
		told.User = ""
	}
	var agreed *protection
	if layer != nil {
		agreed = &protection{layer: layer, server: h.address}
	}
	return agreed, h.sendContext(nil, told, agreed, Security{Method: method, Server: h.server, QOP: sasl.Protects(layer)})
}

// sendContext ends the handshake: it sends the connection context and calls Options.Opened.
func (h *handshake) sendContext(before []byte, told wire.Context, agreed *protection, how Security) error {
	b, err := wire.AppendContext(before, told)
	if err == nil && agreed != nil {
		b, err = agreed.wrap(nil, b)
	}
	if err != nil {
		return err
	}
	if _, err := h.conn.Write(b); err != nil {
		return fmt.Errorf("send connection context: %w", err)
	}
	if h.o.Opened != nil {
		h.o.Opened(h.address, how)
	}
	return nil
}

// authenticate logs in with the first offered method that the client can use.
func (h *handshake) authenticate(ctx context.Context) (method string, layer sasl.Layer, err error) {
	opening := &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_NEGOTIATE.Enum()}
	reply, err := h.exchange(wire.AppendPreamble(nil, wire.AuthSASL), opening)
	if err != nil {
		return "", nil, err
	}
	switch reply.GetState() {
	case commonpb.RpcSaslProto_NEGOTIATE:
	case commonpb.RpcSaslProto_SUCCESS:
		return methodSimple, nil, h.fallBack()
	default:
		return "", nil, unexpectedState(reply)
	}
	offer, err := h.pick(reply.GetAuths())
	if err != nil {
		return "", nil, err
	}
	switch offer.GetMethod() {
	case methodSimple:
		if err := h.fallBack(); err != nil {
			return "", nil, err
		}
		err = h.send(nil, initiate(offer, nil)) // there is no answer
	case methodToken:
		layer, err = h.login(offer, h.digest(offer), h.token)
	case methodKerberos:
		layer, err = h.loginKerberos(ctx, offer)
	}
	return offer.GetMethod(), layer, err
}

// fallBack returns an error unless the client accepts a server without authentication.
func (h *handshake) fallBack() error {
	if h.o.AllowSimpleFallback {
		return nil
	}
	return fmt.Errorf("authenticate: %w: the server accepts neither tokens nor tickets (see ipc.client.fallback-to-simple-auth-allowed)", ErrNoCommonAuth)
}

// pick chooses the first offered method that the client can use.
func (h *handshake) pick(offers []*commonpb.RpcSaslProto_SaslAuth) (*commonpb.RpcSaslProto_SaslAuth, error) {
	var theirs []string
	for _, offer := range offers {
		switch way := offer.GetMethod() + "/" + offer.GetMechanism(); {
		case way == methodToken+"/"+sasl.MechanismDigestMD5 && h.token != nil,
			way == methodKerberos+"/"+sasl.MechanismGSSAPI && h.o.Login != nil,
			way == methodSimple+"/" && h.o.AllowSimpleFallback:
			return offer, nil
		default:
			theirs = append(theirs, way)
		}
	}
	var ours []string
	if h.token != nil {
		ours = append(ours, "a token")
	}
	if h.o.Login != nil {
		ours = append(ours, "a kerberos login")
	}
	return nil, fmt.Errorf("authenticate: %w: the client has %s, the server accepts %q", ErrNoCommonAuth, strings.Join(ours, " and "), theirs)
}

// digest logs in with the token.
func (h *handshake) digest(offer *commonpb.RpcSaslProto_SaslAuth) sasl.Mechanism {
	return &sasl.DigestMD5{
		User:     sasl.EncodeCredential(h.token.Identifier),
		Password: sasl.EncodeCredential(h.token.Password),
		URI:      offer.GetProtocol() + "/" + offer.GetServerId(),
		QOPs:     h.o.QOPs,
	}
}

// loginKerberos logs in with a ticket for the principal that the server advertises, if that
// is the required principal.
func (h *handshake) loginKerberos(ctx context.Context, offer *commonpb.RpcSaslProto_SaslAuth) (sasl.Layer, error) {
	service := offer.GetProtocol() + "/" + offer.GetServerId() + "@" + h.o.Login.RealmOf(offer.GetServerId())
	if err := h.checkServer(ctx, service); err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	ticket, err := h.o.Login.Ticket(ctx, service)
	if err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	layer, err := h.login(offer, &sasl.GSSAPI{Ticket: ticket, QOPs: h.o.QOPs}, ticket)
	if errors.Is(err, ErrSASL) {
		err = fmt.Errorf("%w: the server rejects the ticket: its keytab does not have the kdc's key, or its clock is wrong; see the server's log", err)
	}
	if err != nil {
		h.o.Login.Forget(service)
		return nil, err
	}
	h.server = service
	return layer, nil
}

// login runs a mechanism with the server. Errors name the credential.
func (h *handshake) login(offer *commonpb.RpcSaslProto_SaslAuth, mechanism sasl.Mechanism, credential fmt.Stringer) (sasl.Layer, error) {
	response, err := mechanism.Start(offer.GetChallenge())
	if err != nil {
		return nil, fmt.Errorf("authenticate with %v: %w", credential, err)
	}
	reply, err := h.exchange(nil, initiate(offer, response))
	for err == nil && reply.GetState() == commonpb.RpcSaslProto_CHALLENGE {
		if response, err = mechanism.Next(reply.GetToken()); err != nil {
			return nil, fmt.Errorf("authenticate with %v: %w", credential, err)
		}
		reply, err = h.exchange(nil, &commonpb.RpcSaslProto{
			State: commonpb.RpcSaslProto_RESPONSE.Enum(),
			Token: response,
		})
	}
	if _, is := errors.AsType[*RemoteError](err); is { // which does not name the credential
		return nil, fmt.Errorf("authenticate with %v: %w", credential, err)
	}
	if err != nil {
		return nil, err
	}
	if reply.GetState() != commonpb.RpcSaslProto_SUCCESS {
		return nil, unexpectedState(reply)
	}
	layer, err := mechanism.Finish(reply.GetToken())
	if err != nil {
		return nil, fmt.Errorf("authenticate with %v: %w", credential, err)
	}
	return layer, nil
}

// initiate makes the message that names the chosen method. The server compares it with its
// offer, except for the challenge.
func initiate(offer *commonpb.RpcSaslProto_SaslAuth, response []byte) *commonpb.RpcSaslProto {
	choice := proto.CloneOf(offer)
	choice.Challenge = nil
	return &commonpb.RpcSaslProto{
		State: commonpb.RpcSaslProto_INITIATE.Enum(),
		Token: response,
		Auths: []*commonpb.RpcSaslProto_SaslAuth{choice},
	}
}

// exchange sends a message, after the bytes of before, and reads the answer.
func (h *handshake) exchange(before []byte, m *commonpb.RpcSaslProto) (*commonpb.RpcSaslProto, error) {
	if err := h.send(before, m); err != nil {
		return nil, err
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
		return nil, refused(h.o.User, false, remoteError(h.address, "", response.Failure))
	}
	if response.CallID != wire.CallSASL {
		return nil, fmt.Errorf("authenticate: %w: unexpected answer to call %d", wire.ErrMalformed, response.CallID)
	}
	var reply commonpb.RpcSaslProto
	if err := response.Decode(&reply); err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	return &reply, nil
}

func (h *handshake) send(before []byte, m *commonpb.RpcSaslProto) error {
	b, err := wire.AppendSASL(before, m)
	if err != nil {
		return err
	}
	if _, err := h.conn.Write(b); err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	return nil
}

func unexpectedState(m *commonpb.RpcSaslProto) error {
	return fmt.Errorf("authenticate: %w: unexpected state %v of the server", wire.ErrMalformed, m.GetState())
}
