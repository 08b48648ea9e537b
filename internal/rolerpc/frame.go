package rolerpc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/grpc/mem"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// errFrame says that a peer sent bytes that are not a frame.
var errFrame = errors.New("malformed frame")

// errTooLong says that a TaskExecutor sent a message that is longer than msg.MaxWorkerMessage.
var errTooLong = errors.New("message is longer than a TaskExecutor may send")

// maxToken bounds a fencing token, in bytes. Bobbin's have 32.
const maxToken = 128

// maxFrame bounds one gRPC message, and maxWorkerFrame one of a TaskExecutor.
const (
	frameHead      = binary.MaxVarintLen16 + maxToken
	maxFrame       = codec.MaxMessage + frameHead
	maxWorkerFrame = msg.MaxWorkerMessage + frameHead
)

// EncodeFrame returns a frame's bytes:
//
//	┌────────────────┬───────┬───────────────┐
//	│ uvarint length │ token │ codec message │
//	└────────────────┴───────┴───────────────┘
func EncodeFrame(f Frame) ([]byte, error) {
	if len(f.Token) > maxToken {
		return nil, fmt.Errorf("encode frame with a token of %d bytes: %w", len(f.Token), errFrame)
	}
	const usual = 256 // more than most messages
	data := binary.AppendUvarint(make([]byte, 0, usual), uint64(len(f.Token)))
	return codec.Append(append(data, f.Token...), f.Message)
}

// DecodeFrame decodes the bytes of EncodeFrame, if the message is of these kinds. It does not keep
// data.
func DecodeFrame(data []byte, kinds msg.Kinds) (Frame, error) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > maxToken || uint64(len(data)-n) < length {
		return Frame{}, fmt.Errorf("decode frame of %d bytes: %w", len(data), errFrame)
	}
	end := n + int(length)
	message, err := codec.Decode(data[end:], kinds)
	if err != nil {
		return Frame{}, err
	}
	return Frame{string(data[n:end]), message}, nil
}

// rawCodec passes bytes to gRPC unchanged.
type rawCodec struct{}

func (rawCodec) Name() string { return "bobbin" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	data, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("marshal %T: %w", v, errFrame)
	}
	return mem.BufferSlice{mem.SliceBuffer(data)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	into, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("unmarshal into %T: %w", v, errFrame)
	}
	*into = data.Materialize()
	return nil
}

// Copy returns a frame as it arrives at another process: encoded and decoded.
func Copy(f Frame) (Frame, error) {
	data, err := EncodeFrame(f)
	if err != nil {
		return Frame{}, err
	}
	return DecodeFrame(data, msg.KindsOf(f.Message))
}
