package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
)

// The code below writes and reads two things by hand: the headers of calls and answers, and the
// messages that wrap protected bytes. Every call uses it, and the generated messages would
// allocate memory for each number and copy bytes. Tests compare the code with the generated
// messages.

// appendRequestHeader adds a RpcRequestHeaderProto after its length.
func appendRequestHeader(b []byte, id int32, clientID []byte, tries int32) []byte {
	zigzagID, zigzagTries := protowire.EncodeZigZag(int64(id)), protowire.EncodeZigZag(int64(tries))
	// Each of the tags takes one byte, and so do the kind and the operation.
	b = protowire.AppendVarint(b, uint64(
		2+2+1+protowire.SizeVarint(zigzagID)+1+protowire.SizeBytes(len(clientID))+1+protowire.SizeVarint(zigzagTries)))
	b = appendVarintField(b, 1, uint64(commonpb.RpcKindProto_RPC_PROTOCOL_BUFFER))
	b = appendVarintField(b, 2, uint64(commonpb.RpcRequestHeaderProto_RPC_FINAL_PACKET))
	b = appendVarintField(b, 3, zigzagID)
	b = protowire.AppendTag(b, 4, protowire.BytesType)
	b = protowire.AppendBytes(b, clientID)
	return appendVarintField(b, 5, zigzagTries)
}

// appendCallHeader adds the RpcRequestHeaderProto and the RequestHeaderProto of a call,
// each after its length.
func appendCallHeader(b []byte, c Call) []byte {
	b = appendRequestHeader(b, c.ID, c.ClientID, c.Retry)
	b = protowire.AppendVarint(b, uint64(1+protowire.SizeBytes(len(c.Method))+1+protowire.SizeBytes(len(c.Protocol))+2))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendString(b, c.Method)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	b = protowire.AppendString(b, c.Protocol)
	return appendVarintField(b, 3, protocolVersion)
}

func appendVarintField(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

// appendWrap adds a RpcSaslProto with the token of protected bytes, after its length.
func appendWrap(b, token []byte) []byte {
	b = protowire.AppendVarint(b, uint64(wrapSize(token)))
	b = appendVarintField(b, 2, uint64(commonpb.RpcSaslProto_WRAP))
	b = protowire.AppendTag(b, 3, protowire.BytesType)
	return protowire.AppendBytes(b, token)
}

// wrapSize returns the number of bytes that appendWrap adds after the length.
func wrapSize(token []byte) int { return 2 + 1 + protowire.SizeBytes(len(token)) }

// parseSuccess reads the frame of a successful call if its header has only the usual
// fields. Otherwise ok is false, and the caller uses the generated message.
func parseSuccess(frame []byte) (r Response, ok bool) {
	header, n := protowire.ConsumeBytes(frame)
	if n < 0 {
		return r, false
	}
	r.body = frame[n:]
	var hasID, hasStatus bool
	for len(header) > 0 {
		var f field
		if f, header, ok = takeField(header); !ok {
			return r, false
		}
		switch {
		case f.is(1, protowire.VarintType):
			r.CallID, hasID = int32(f.number), true
		case f.is(2, protowire.VarintType) && f.number == uint64(commonpb.RpcResponseHeaderProto_SUCCESS):
			hasStatus = true
		case f.is(3, protowire.VarintType), f.is(8, protowire.VarintType): // the server's version and the client's retry count
		case f.is(7, protowire.BytesType):
			r.ClientID = f.bytes
		default:
			return r, false
		}
	}
	return r, hasID && hasStatus
}

// parseWrap reads the output of appendWrap. Like parseSuccess, it reads only messages with the
// usual fields. The token shares the bytes of b.
func parseWrap(b []byte) (token []byte, ok bool) {
	message, n := protowire.ConsumeBytes(b)
	if n != len(b) {
		return nil, false
	}
	var hasState bool
	for len(message) > 0 {
		var f field
		if f, message, ok = takeField(message); !ok {
			return nil, false
		}
		switch {
		case f.is(1, protowire.VarintType): // a version
		case f.is(2, protowire.VarintType) && f.number == uint64(commonpb.RpcSaslProto_WRAP):
			hasState = true
		case f.is(3, protowire.BytesType):
			token = f.bytes
		default:
			return nil, false
		}
	}
	return token, hasState
}

// field is a field of a message. It holds a number or bytes.
type field struct {
	id     protowire.Number
	kind   protowire.Type
	number uint64
	bytes  []byte
}

func (f field) is(id protowire.Number, kind protowire.Type) bool { return f.id == id && f.kind == kind }

// takeField removes a field from the front of a message. ok is false if the message does not
// begin with a varint or bytes field.
func takeField(message []byte) (f field, rest []byte, ok bool) {
	id, kind, n := protowire.ConsumeTag(message)
	if n < 0 {
		return f, message, false
	}
	f, rest = field{id: id, kind: kind}, message[n:]
	switch kind {
	case protowire.VarintType:
		f.number, n = protowire.ConsumeVarint(rest)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(rest)
	default:
		return f, rest, false
	}
	if n < 0 {
		return f, rest, false
	}
	return f, rest[n:], true
}
