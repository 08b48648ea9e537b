// Package codec encodes role messages, for streams between roles and for control
// sockets. An encoded message is the kind's name and the message's fields, both in
// CBOR. The message structs need no tags and no generated code.
package codec

import (
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

type envelope struct {
	_    struct{} `cbor:",toarray"`
	Kind string
	Body cbor.RawMessage
}

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
var encoding = func() cbor.EncMode { //nolint:gochecknoglobals // immutable after start
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode()
	if err != nil {
		panic(fmt.Sprintf("codec: encoding options: %v", err))
	}
	return mode
}()

// Encode returns a message's bytes.
func Encode(m msg.Message) ([]byte, error) {
	body, err := encoding.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message %s: %w", msg.Kind(m), err)
	}
	data, err := encoding.Marshal(envelope{Kind: msg.Kind(m), Body: body})
	if err != nil {
		return nil, fmt.Errorf("encode message %s: %w", msg.Kind(m), err)
	}
	if len(data) > MaxMessage {
		return nil, fmt.Errorf("encode message %s of %d bytes: %w", msg.Kind(m), len(data), ErrTooLarge)
	}
	return data, nil
}

// Decode decodes a message that Encode wrote, if it is of one of these kinds. Of other kinds it
// reads only the name. It does not keep data. Errors: ErrTooLarge, ErrMalformed, msg.ErrKind.
func Decode(data []byte, kinds msg.Kinds) (msg.Message, error) {
	if len(data) > MaxMessage {
		return nil, fmt.Errorf("decode message of %d bytes: %w", len(data), ErrTooLarge)
	}
	var e envelope
	if err := decoding.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("decode message: %w: %w", ErrMalformed, err)
	}
	return kinds.Decode(e.Kind, func(into any) error {
		if err := decoding.Unmarshal(e.Body, into); err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return nil
	})
}
