package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
)

// Response is a server's answer to the client's frame with the same CallID. That frame is
// a call or, for example, a SASL message.
type Response struct {
	CallID   int32
	ClientID []byte // the caller's; empty in answers to SASL and to refused connections
	Failure  *Failure
	body     []byte
}

// Failure is the exception in a server's answer.
type Failure struct {
	Class   string // Java class name, inner classes after $
	Message string // often with a stack trace after the first line
	Detail  ErrorCode
	// Fatal: the server closes the connection, and no other call is answered.
	Fatal bool
}

// ErrorCode is the kind of a server's failure, with the names of RpcErrorCodeProto.
// ERROR_APPLICATION: the call itself has failed. FATAL_UNAUTHORIZED: the server does
// not allow the connection. Empty: the server sent none.
type ErrorCode string

// ParseResponse reads a server's frame. The Response shares the frame's bytes.
func ParseResponse(frame []byte) (Response, error) {
	if r, ok := parseSuccess(frame); ok {
		return r, nil
	}
	return parseResponse(frame)
}

// parseResponse is ParseResponse without the shortcut of parseSuccess.
func parseResponse(frame []byte) (Response, error) {
	var header commonpb.RpcResponseHeaderProto
	rest, err := takeDelimited(frame, &header)
	if err != nil {
		return Response{}, fmt.Errorf("parse rpc response: %w", err)
	}
	r := Response{CallID: int32(header.GetCallId()), ClientID: header.GetClientId(), body: rest}
	if header.GetStatus() == commonpb.RpcResponseHeaderProto_SUCCESS {
		return r, nil
	}
	if len(rest) > 0 {
		return Response{}, fmt.Errorf("parse rpc response: %w: %d bytes after an error", ErrMalformed, len(rest))
	}
	r.Failure = &Failure{
		Class:   header.GetExceptionClassName(),
		Message: header.GetErrorMsg(),
		Detail:  ErrorCode(header.GetErrorDetail().String()),
		Fatal:   header.GetStatus() == commonpb.RpcResponseHeaderProto_FATAL,
	}
	return r, nil
}

// Keep copies the bytes that Decode needs from the frame to the beginning of buffer,
// so that the frame can be reused. It returns the buffer, which it enlarges if
// necessary.
func (r *Response) Keep(buffer []byte) []byte {
	r.body, r.ClientID = append(buffer[:0], r.body...), nil
	return r.body
}

// Decode reads the answer of a successful call into m.
func (r Response) Decode(m proto.Message) error { return decodeBody(r.body, m) }

// Wrapped returns the token of a SASL message, which holds protected bytes of other
// frames. It shares r's bytes.
func (r Response) Wrapped() ([]byte, error) {
	if token, ok := parseWrap(r.body); ok {
		return token, nil
	}
	return r.wrapped()
}

// wrapped is Wrapped without the shortcut of parseWrap.
func (r Response) wrapped() ([]byte, error) {
	var m commonpb.RpcSaslProto
	if err := r.Decode(&m); err != nil {
		return nil, err
	}
	if m.GetState() != commonpb.RpcSaslProto_WRAP {
		return nil, fmt.Errorf("%w: a sasl message of state %v after the login", ErrMalformed, m.GetState())
	}
	return m.GetToken(), nil
}

// AppendResponse adds a server's frame: message, or failure if that is not nil.
func AppendResponse(b []byte, callID int32, clientID []byte, message proto.Message, failure *Failure) ([]byte, error) {
	header := &commonpb.RpcResponseHeaderProto{
		CallId:              proto.Uint32(uint32(callID)),
		Status:              commonpb.RpcResponseHeaderProto_SUCCESS.Enum(),
		ServerIpcVersionNum: proto.Uint32(version),
		ClientId:            clientID,
	}
	if failure == nil {
		return appendFrame(b, header, message)
	}
	header.Status = commonpb.RpcResponseHeaderProto_ERROR.Enum()
	if failure.Fatal {
		header.Status = commonpb.RpcResponseHeaderProto_FATAL.Enum()
	}
	header.ExceptionClassName = proto.String(failure.Class)
	header.ErrorMsg = proto.String(failure.Message)
	if detail, known := commonpb.RpcResponseHeaderProto_RpcErrorCodeProto_value[string(failure.Detail)]; known {
		header.ErrorDetail = commonpb.RpcResponseHeaderProto_RpcErrorCodeProto(detail).Enum()
	}
	return appendFrame(b, header)
}
