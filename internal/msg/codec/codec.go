// Package codec encodes role messages, for streams between roles and for control
// sockets. An encoded message is the kind's name and the message's fields, both in
// CBOR. The message structs need no tags and no generated code.
package codec

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// MaxMessage bounds one encoded message, in bytes. The largest messages are a
// JobGraph with its splits and the deployment of a large vertex.
const MaxMessage = 64 << 20

// ErrTooLarge says that a message exceeds MaxMessage.
var ErrTooLarge = errors.New("message exceeds 64 MiB")

// ErrMalformed says that Decode was given bytes that are no message, or a message with more elements
// than an honest one has.
var ErrMalformed = errors.New("malformed message")

// An encoded message is an array of two elements: the kind, and the message.
const envelope = 0x82

// Limits prevent that a hostile peer makes the decoder allocate much more memory than it sent: an
// empty element is one byte on the wire and a whole struct here. Of the elements that Bobbin sends
// in large numbers, a full message has no more than the limits allow.
var decoding = func() cbor.DecMode { //nolint:gochecknoglobals // immutable after start
	mode, err := cbor.DecOptions{
		MaxArrayElements: 1 << 20,
		MaxMapPairs:      1 << 16,
		MaxNestedLevels:  16,
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden, // Bobbin sends none
	}.DecMode()
	if err != nil {
		panic(fmt.Sprintf("codec: decoding options: %v", err))
	}
	return mode
}()

// Times keep their nanoseconds, so that a decoded time equals the original.
var encoding = func() cbor.UserBufferEncMode { //nolint:gochecknoglobals // immutable after start
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.UserBufferEncMode()
	if err != nil {
		panic(fmt.Sprintf("codec: encoding options: %v", err))
	}
	return mode
}()

// Encode returns a message's bytes.
func Encode(m msg.Message) ([]byte, error) { return Append(nil, m) }

// Append appends a message's bytes to head. It copies no long field of the message more than once.
func Append(head []byte, m msg.Message) ([]byte, error) {
	data := bytes.NewBuffer(head)
	data.WriteByte(envelope)
	err := encoding.MarshalToBuffer(msg.Kind(m), data)
	if err == nil {
		err = encoding.MarshalToBuffer(m, data)
	}
	if err != nil {
		return nil, fmt.Errorf("encode message %s: %w", msg.Kind(m), err)
	}
	if size := data.Len() - len(head); size > MaxMessage {
		return nil, fmt.Errorf("encode message %s of %d bytes: %w", msg.Kind(m), size, ErrTooLarge)
	}
	return data.Bytes(), nil
}

// Decode decodes a message that Encode wrote, if it is of one of these kinds. Of other kinds it
// reads only the name. It does not keep data. Errors: ErrTooLarge, ErrMalformed, msg.ErrKind.
func Decode(data []byte, kinds msg.Kinds) (msg.Message, error) {
	if len(data) > MaxMessage {
		return nil, fmt.Errorf("decode message of %d bytes: %w", len(data), ErrTooLarge)
	}
	if len(data) == 0 || data[0] != envelope {
		return nil, fmt.Errorf("decode message: %w: no array of kind and message", ErrMalformed)
	}
	var kind string
	body, err := decoding.UnmarshalFirst(data[1:], &kind)
	if err != nil {
		return nil, fmt.Errorf("decode message: %w: %w", ErrMalformed, err)
	}
	return kinds.Decode(kind, func(into any) error {
		if err := decoding.Unmarshal(body, into); err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return nil
	})
}
