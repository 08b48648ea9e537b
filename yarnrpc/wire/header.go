package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
)

// The headers of calls and of their answers are written and read by hand, as they are on
// the way of every call, and the generated messages hold each number in an allocation of
// its own. Tests compare the two ways.

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

// parseSuccess reads the frame of a call that succeeded, if its header has nothing
// unusual; else ok is false, and the generated message has to have a look.
func parseSuccess(frame []byte) (r Response, ok bool) {
	header, n := protowire.ConsumeBytes(frame)
	if n < 0 {
		return r, false
	}
	r.body = frame[n:]
	var hasID, hasStatus bool
	for len(header) > 0 {
		field, kind, tag := protowire.ConsumeTag(header)
		if tag < 0 {
			return r, false
		}
		header = header[tag:]
		var number uint64
		var length int
		if kind == protowire.BytesType {
			r.ClientID, length = protowire.ConsumeBytes(header)
		} else {
			number, length = protowire.ConsumeVarint(header)
		}
		if length < 0 {
			return r, false
		}
		header = header[length:]
		switch {
		case field == 1 && kind == protowire.VarintType:
			r.CallID, hasID = int32(number), true
		case field == 2 && kind == protowire.VarintType && number == uint64(commonpb.RpcResponseHeaderProto_SUCCESS):
			hasStatus = true
		case (field == 3 || field == 8) && kind == protowire.VarintType: // the server's version, the client's tries
		case field == 7 && kind == protowire.BytesType:
		default:
			return r, false
		}
	}
	return r, hasID && hasStatus
}
