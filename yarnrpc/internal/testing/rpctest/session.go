package rpctest

import (
	"net"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// session is one connection of a Server.
type session struct {
	server *Server
	conn   net.Conn
	layer  sasl.Layer // protects both directions; nil: no protection
	user   string
	token  bool          // the user comes from a token
	gone   chan struct{} // closed when reading has ended

	calls   sync.WaitGroup
	writing sync.Mutex // keeps frames, and the layer's sequence, whole
}

func (s *session) run() {
	defer s.calls.Wait()
	defer close(s.gone)
	auth, err := wire.ReadPreamble(s.conn)
	if err != nil {
		return
	}
	if s.server.Passwords != nil && !s.server.Trusts && auth == wire.AuthNone {
		s.send(wire.CallAuthorizationFailed, nil, nil,
			Fatal("org.apache.hadoop.security.AccessControlException", "SIMPLE authentication is not enabled.  Available:[TOKEN]"))
		return
	}
	if auth == wire.AuthSASL && !s.authenticate() {
		return
	}
	var unwrapped []byte
	for {
		frame, err := wire.ReadFrame(s.conn, wire.MaxFrame)
		if err != nil {
			return
		}
		if s.layer == nil {
			if !s.handle(frame) {
				return
			}
			continue
		}
		if unwrapped, err = s.unwrap(unwrapped, frame); err != nil {
			return
		}
		for {
			inner, rest := cut(unwrapped)
			if inner == nil {
				break
			}
			unwrapped = rest
			if !s.handle(inner) {
				return
			}
		}
	}
}

// authenticate offers a login with a token, or none if the server trusts its clients.
func (s *session) authenticate() bool {
	if m := s.receiveSASL(); m.GetState() != commonpb.RpcSaslProto_NEGOTIATE {
		return false
	}
	if s.server.Passwords == nil {
		s.sendSASL(&commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_SUCCESS.Enum()})
		return true
	}
	digest := &sasl.DigestMD5Server{URI: "/default", QOPs: s.server.QOPs, Password: func(user string) (string, error) {
		identifier, err := sasl.DecodeCredential(user)
		if err != nil {
			return "", err
		}
		password, err := s.server.Passwords(identifier)
		return sasl.EncodeCredential(password), err
	}}
	offer := &commonpb.RpcSaslProto_SaslAuth{
		Method:    proto.String("TOKEN"),
		Mechanism: proto.String(sasl.MechanismDigestMD5),
		Protocol:  proto.String(""),
		ServerId:  proto.String(sasl.Realm),
	}
	challenged := proto.CloneOf(offer)
	challenged.Challenge = digest.Challenge()
	s.sendSASL(&commonpb.RpcSaslProto{
		State: commonpb.RpcSaslProto_NEGOTIATE.Enum(),
		Auths: []*commonpb.RpcSaslProto_SaslAuth{challenged},
	})
	reply := s.receiveSASL()
	if len(reply.GetAuths()) != 1 || !proto.Equal(reply.GetAuths()[0], offer) {
		s.send(wire.CallSASL, nil, nil,
			Fatal("org.apache.hadoop.security.AccessControlException", "TOKEN authentication is not enabled"))
		return false
	}
	user, proof, layer, err := digest.Verify(reply.GetToken())
	if err != nil {
		s.send(wire.CallSASL, nil, nil,
			Fatal("org.apache.hadoop.security.token.SecretManager$InvalidToken", err.Error()))
		return false
	}
	identifier, err := sasl.DecodeCredential(user)
	if err != nil {
		return false
	}
	s.user, s.token = string(identifier), true
	s.sendSASL(&commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_SUCCESS.Enum(), Token: proof})
	s.layer = layer
	return true
}

func (s *session) receiveSASL() *commonpb.RpcSaslProto {
	frame, err := wire.ReadFrame(s.conn, wire.MaxFrame)
	if err != nil {
		return nil
	}
	r, err := wire.ParseRequest(frame)
	if err != nil {
		return nil
	}
	return r.SASL
}

func (s *session) sendSASL(m *commonpb.RpcSaslProto) { s.send(wire.CallSASL, nil, m, nil) }

func (s *session) unwrap(before, frame []byte) ([]byte, error) {
	r, err := wire.ParseRequest(frame)
	if err != nil {
		return nil, err
	}
	plain, err := s.layer.Unwrap(r.SASL.GetToken())
	return append(before, plain...), err
}

// cut removes a complete frame from the front of b; nil if there is none yet.
func cut(b []byte) (frame, rest []byte) {
	if len(b) < 4 {
		return nil, b
	}
	n := int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3])
	if len(b) < 4+n {
		return nil, b
	}
	return b[4 : 4+n], b[4+n:]
}

// handle handles a frame after the login. It reports whether more frames may come.
func (s *session) handle(frame []byte) bool {
	r, err := wire.ParseRequest(frame)
	if err != nil {
		return false
	}
	switch r.ID {
	case wire.CallPing:
		s.server.add(&s.server.pings)
	case wire.CallContext:
		if !s.token {
			s.user = r.Context.User
		} else if r.Context.User != "" {
			return false // a token names the user
		}
		s.server.add(&s.server.logins)
	default:
		s.calls.Go(func() {
			s.server.await()
			answer, err := s.server.Handler(&Call{Request: r, User: s.user, Token: s.token, Conn: s.conn, Gone: s.gone})
			s.send(r.ID, r.Call.ClientID, answer, err)
		})
	}
	return true
}

// send writes an answer. A nil answer without an error sends nothing: the client waits.
func (s *session) send(id int32, client []byte, answer proto.Message, err error) {
	s.server.await()
	var failure *wire.Failure
	switch {
	case err != nil:
		failure = failureOf(err)
	case answer == nil:
		return
	}
	b, err := wire.AppendResponse(nil, id, client, answer, failure)
	if err != nil {
		b, err = wire.AppendResponse(nil, id, client, nil, failureOf(err))
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err == nil && s.layer != nil && id != wire.CallSASL {
		b, err = s.wrap(b)
	}
	if err == nil {
		_, err = s.conn.Write(b)
	}
	if err != nil || failure != nil && failure.Fatal {
		s.conn.Close() // as servers do after a fatal answer
	}
}

func (s *session) wrap(b []byte) ([]byte, error) {
	token, err := s.layer.AppendWrap(nil, b)
	if err != nil {
		return nil, err
	}
	return wire.AppendResponse(nil, wire.CallSASL, nil, &commonpb.RpcSaslProto{
		State: commonpb.RpcSaslProto_WRAP.Enum(),
		Token: token,
	}, nil)
}
