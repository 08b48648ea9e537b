// Package wire reads and writes the bytes of Hadoop RPC version 9: the preamble that
// opens a connection and the frames that follow, for client and server.
//
//	client → server   preamble, then frames: SASL…, connection context, calls and pings
//	server → client   frames: SASL…, responses in any order
//
//	frame     ┌────────────┬────────────────────────────────────────────┐
//	          │ length: 4  │ protobuf messages, each after its varint    │
//	          │ big-endian │ length: a header, then what it announces    │
//	          └────────────┴────────────────────────────────────────────┘
//	call      RpcRequestHeaderProto, RequestHeaderProto, the request
//	context   RpcRequestHeaderProto (callId -3), IpcConnectionContextProto
//	ping      RpcRequestHeaderProto (callId -4); it has no answer
//	SASL      RpcRequestHeaderProto (callId -33), RpcSaslProto
//	response  RpcResponseHeaderProto, and the response if the call succeeded
//
// The package is pure: it reads from readers and appends to slices. It opens no
// connection and starts no goroutine. Of this module it imports only hadoopproto. It
// refuses a frame over the caller's limit. While a frame arrives, it allocates at most
// 64 KiB or twice the bytes that have come.
//
// Source: org.apache.hadoop.ipc.{Client,Server,RpcConstants}, Hadoop 3.4.
package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Ids of frames that are not calls (RpcConstants, Server.AuthProtocol). Ids of
// calls are 0 and up.
const (
	CallAuthorizationFailed int32 = -1 // in a server's answer to a refused connection
	CallInvalid             int32 = -2
	CallContext             int32 = -3
	CallPing                int32 = -4
	CallSASL                int32 = -33
)

// ClientIDLength is the length of a client's id in bytes, which servers with a retry
// cache require.
const ClientIDLength = 16

// MaxFrame is Hadoop's default limit for a frame in either direction, in bytes
// (ipc.maximum.data.length, ipc.maximum.response.length).
const MaxFrame = 128 << 20

// ErrMalformed is wrapped by errors about bytes that break the protocol.
var ErrMalformed = errors.New("malformed rpc message")

// lengthSize is the size of the length before each frame, in bytes.
const lengthSize = 4

// appendFrame adds a frame of messages. A frame over MaxFrame is an error, because a
// server would close the connection. b then stays unchanged.
func appendFrame(b []byte, messages ...proto.Message) ([]byte, error) {
	return finishFrame(b, beginFrame(b), messages...)
}

// beginFrame adds room for a frame's length.
func beginFrame(b []byte) []byte { return append(b, make([]byte, lengthSize)...) }

// finishFrame adds messages to begun, which is b with the beginning of a frame, and sets
// the frame's length.
func finishFrame(b, begun []byte, messages ...proto.Message) ([]byte, error) {
	frame, from := begun, len(b)+lengthSize
	for _, m := range messages {
		var err error
		if frame, err = appendDelimited(frame, m, len(frame)-from); err != nil {
			return b, err
		}
	}
	binary.BigEndian.PutUint32(frame[len(b):], uint32(len(frame)-from))
	return frame, nil
}

// appendDelimited adds a message after its length. framed is the number of bytes that the
// frame has already.
func appendDelimited(b []byte, m proto.Message, framed int) ([]byte, error) {
	options := proto.MarshalOptions{Deterministic: true}
	size := options.Size(m)
	if length := int64(framed) + int64(protowire.SizeBytes(size)); length > MaxFrame {
		return b, fmt.Errorf("encode frame: %w", &FrameError{Length: length, Limit: MaxFrame})
	}
	b = protowire.AppendVarint(slices.Grow(b, protowire.SizeBytes(size)), uint64(size))
	options.UseCachedSize = true
	b, err := options.MarshalAppend(b, m)
	if err != nil {
		return b, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return b, nil
}

// takeDelimited decodes the message at the front of b and returns the bytes after it.
func takeDelimited(b []byte, m proto.Message) ([]byte, error) {
	name := m.ProtoReflect().Descriptor().Name()
	body, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, fmt.Errorf("decode %s: %w: %w", name, ErrMalformed, protowire.ParseError(n))
	}
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("decode %s: %w: %w", name, ErrMalformed, err)
	}
	return b[n:], nil
}

// ReadFrame reads one frame, without its length, of at most limit bytes. The error is
// io.EOF if r ends before a frame begins, and io.ErrUnexpectedEOF if it ends within one.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var head [lengthSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length, err := frameLength(head[:], limit)
	if err != nil {
		return nil, err
	}
	return readGrowing(r, length)
}

// frameLength reads the length before a frame. It must be from 1 to limit.
func frameLength(head []byte, limit int) (int, error) {
	length := binary.BigEndian.Uint32(head)
	if length == 0 || int64(length) > int64(limit) {
		return 0, &FrameError{Length: int64(length), Limit: limit, Head: bytes.Clone(head[:lengthSize])}
	}
	return int(length), nil
}

// chunk bounds the memory that ReadFrame allocates before the bytes of a frame have come.
const chunk = 64 << 10

// readGrowing reads n bytes into a slice that grows as they come.
func readGrowing(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, 0, min(n, chunk))
	for len(b) < n {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(n, 2*cap(b))), b...)
		}
		got, err := io.ReadFull(r, b[len(b):min(n, cap(b))])
		b = b[:len(b)+got]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// FrameError is the error for a frame with an impossible length.
type FrameError struct {
	Length int64
	Limit  int
	Head   []byte // the bytes that were read as the length; nil for a frame to be sent
}

func (e *FrameError) Error() string {
	if e.Head == nil {
		return fmt.Sprintf("frame of %d bytes is over the limit of %d", e.Length, e.Limit)
	}
	text := fmt.Sprintf("frame length %d is not between 1 and %d (first bytes %q)", e.Length, e.Limit, e.Head)
	if guess := e.guess(); guess != "" {
		text += ": " + guess
	}
	return text
}

// guess says what kind of server the peer may be. It compares the bytes that were read as a
// length with the first bytes of other protocols.
func (e *FrameError) guess() string {
	switch {
	case string(e.Head) == "HTTP":
		return "the peer speaks HTTP; is this the port of a web server?"
	case e.Head[0] == 0x15 && e.Head[1] == 3:
		return "the peer sent a TLS alert; is this the port of an HTTPS server?"
	case e.Head[0] == 0x16 && e.Head[1] == 3:
		return "the peer speaks TLS"
	case string(e.Head) == "SSH-":
		return "the peer is an SSH server"
	case printable(e.Head):
		return "the peer answers in text, so it is not a Hadoop RPC server"
	default:
		return "the peer is not a Hadoop RPC server, or the limit is too low"
	}
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
