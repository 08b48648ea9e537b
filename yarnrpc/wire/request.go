package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
)

// Auth is the authentication protocol that a preamble announces (Server.AuthProtocol).
type Auth byte

const (
	AuthNone Auth = 0x00
	AuthSASL Auth = 0xDF
)

// version of Hadoop RPC (RpcConstants.CURRENT_VERSION).
const version = 9

// protocolVersion is the version of every Hadoop protocol since the change to protobuf.
const protocolVersion = 1

// notRetried is the retry count of frames that are not calls.
const notRetried = -1

// AppendPreamble adds the preamble of a connection: "hrpc", the version, a service class
// that servers ignore, and auth.
func AppendPreamble(b []byte, auth Auth) []byte {
	return append(b, 'h', 'r', 'p', 'c', version, 0, byte(auth))
}

// ReadPreamble reads what AppendPreamble wrote.
func ReadPreamble(r io.Reader) (Auth, error) {
	var got [7]byte
	if _, err := io.ReadFull(r, got[:]); err != nil {
		return 0, err
	}
	auth := Auth(got[6])
	if !bytes.Equal(got[:], AppendPreamble(nil, auth)) || auth != AuthNone && auth != AuthSASL {
		return 0, fmt.Errorf("%w: preamble %x", ErrMalformed, got)
	}
	return auth, nil
}

// Call identifies one try of a call and names the protocol and method.
type Call struct {
	ID       int32  // 0 and up
	ClientID []byte // ClientIDLength random bytes; all tries of a call have the same ClientID and ID
	Retry    int32  // tries before this one
	Protocol string // wire name
	Method   string
}

// Context names the user and the protocol of a connection. User and RealUser are empty
// if SASL has authenticated the user.
type Context struct {
	ClientID []byte
	Protocol string // wire name
	User     string
	RealUser string // the user who acts for User; empty: User itself
}

// AppendCall adds the frame of a call.
func AppendCall(b []byte, c Call, request proto.Message) ([]byte, error) {
	return finishFrame(b, appendCallHeader(beginFrame(b), c), request)
}

// AppendContext adds the connection context, the frame before the first call.
func AppendContext(b []byte, c Context) ([]byte, error) {
	user := &commonpb.UserInformationProto{}
	if c.User != "" {
		user.EffectiveUser = proto.String(c.User)
	}
	if c.RealUser != "" {
		user.RealUser = proto.String(c.RealUser)
	}
	return appendFrame(b,
		requestHeader(CallContext, c.ClientID, notRetried),
		&commonpb.IpcConnectionContextProto{UserInfo: user, Protocol: proto.String(c.Protocol)})
}

// AppendPing adds the frame of a ping.
func AppendPing(b, clientID []byte) []byte {
	frame := appendRequestHeader(beginFrame(b), CallPing, clientID, notRetried)
	binary.BigEndian.PutUint32(frame[len(b):], uint32(len(frame)-len(b)-lengthSize))
	return frame
}

// AppendSASL adds a client's SASL message.
func AppendSASL(b []byte, m *commonpb.RpcSaslProto) ([]byte, error) {
	return appendFrame(b, requestHeader(CallSASL, []byte{}, notRetried), m)
}

// AppendWrapped adds a client's SASL message. Its token holds protected bytes of other
// frames.
func AppendWrapped(b, token []byte) ([]byte, error) {
	frame := appendRequestHeader(beginFrame(b), CallSASL, nil, notRetried)
	from := len(b) + lengthSize
	length := int64(len(frame)-from) + int64(protowire.SizeBytes(wrapSize(token)))
	if length > MaxFrame {
		return b, fmt.Errorf("encode frame: %w", &FrameError{Length: length, Limit: MaxFrame})
	}
	frame = appendWrap(frame, token)
	binary.BigEndian.PutUint32(frame[len(b):], uint32(length))
	return frame, nil
}

func requestHeader(id int32, clientID []byte, retry int32) *commonpb.RpcRequestHeaderProto {
	return &commonpb.RpcRequestHeaderProto{
		RpcKind:    commonpb.RpcKindProto_RPC_PROTOCOL_BUFFER.Enum(),
		RpcOp:      commonpb.RpcRequestHeaderProto_RPC_FINAL_PACKET.Enum(),
		CallId:     proto.Int32(id),
		ClientId:   clientID,
		RetryCount: proto.Int32(retry),
	}
}

// Request is a client's frame, read by a server. ID tells its kind: for CallContext, Context is
// set; for CallSASL, SASL is set; for an id from 0 up, Call is set.
type Request struct {
	ID      int32
	Call    Call
	Context Context
	SASL    *commonpb.RpcSaslProto
	body    []byte
}

// ParseRequest reads a client's frame.
func ParseRequest(frame []byte) (Request, error) {
	r, err := parseRequest(frame)
	if err != nil {
		return Request{}, fmt.Errorf("parse rpc request: %w", err)
	}
	return r, nil
}

func parseRequest(frame []byte) (Request, error) {
	var header commonpb.RpcRequestHeaderProto
	rest, err := takeDelimited(frame, &header)
	if err != nil {
		return Request{}, err
	}
	if header.GetRpcKind() != commonpb.RpcKindProto_RPC_PROTOCOL_BUFFER || header.RpcOp == nil {
		return Request{}, fmt.Errorf("%w: header without kind or operation", ErrMalformed)
	}
	r := Request{ID: header.GetCallId()}
	switch {
	case r.ID >= 0:
		var method commonpb.RequestHeaderProto
		if rest, err = takeDelimited(rest, &method); err != nil {
			return Request{}, err
		}
		r.Call = Call{
			ID:       r.ID,
			ClientID: header.GetClientId(),
			Retry:    header.GetRetryCount(),
			Protocol: method.GetDeclaringClassProtocolName(),
			Method:   method.GetMethodName(),
		}
		r.body = rest
		return r, nil
	case r.ID == CallContext:
		var context commonpb.IpcConnectionContextProto
		if rest, err = takeDelimited(rest, &context); err != nil {
			return Request{}, err
		}
		r.Context = Context{
			ClientID: header.GetClientId(),
			Protocol: context.GetProtocol(),
			User:     context.GetUserInfo().GetEffectiveUser(),
			RealUser: context.GetUserInfo().GetRealUser(),
		}
	case r.ID == CallSASL:
		r.SASL = &commonpb.RpcSaslProto{}
		if rest, err = takeDelimited(rest, r.SASL); err != nil {
			return Request{}, err
		}
	case r.ID == CallPing:
	default:
		return Request{}, fmt.Errorf("%w: call id %d", ErrMalformed, r.ID)
	}
	if len(rest) > 0 {
		return Request{}, fmt.Errorf("%w: %d bytes after the message", ErrMalformed, len(rest))
	}
	return r, nil
}

// Decode reads the request of a call into m.
func (r Request) Decode(m proto.Message) error { return decodeBody(r.body, m) }

func decodeBody(body []byte, m proto.Message) error {
	rest, err := takeDelimited(body, m)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("decode %s: %w: %d bytes after the message", m.ProtoReflect().Descriptor().Name(), ErrMalformed, len(rest))
	}
	return nil
}
