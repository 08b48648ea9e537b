// Package codec is the one encoding of role messages, on streams between roles
// and on control sockets: the kind's name and the message's fields, both CBOR.
// It keeps message structs free of tags and of generated twins.
package codec

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// MaxMessage bounds one encoded message, in bytes: the largest are a JobGraph
// with its splits and the deployment of a large vertex.
const MaxMessage = 64 << 20

// ErrTooLarge says that a message exceeds MaxMessage.
var ErrTooLarge = errors.New("message exceeds 64 MiB")

type envelope struct {
	_    struct{} `cbor:",toarray"`
	Kind string
	Body cbor.RawMessage
}

// Limits keep a hostile peer from making the decoder allocate much more than it
// sent: an empty element is one byte on the wire and a whole struct here. As many
// elements as are allowed, of what we send in such numbers, fill a message.
var decoding = func() cbor.DecMode { //nolint:gochecknoglobals // immutable after start
	mode, err := cbor.DecOptions{
		MaxArrayElements: 1 << 20,
		MaxMapPairs:      1 << 16,
		MaxNestedLevels:  16,
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
	}.DecMode()
	if err != nil {
		panic(fmt.Sprintf("codec: decoding options: %v", err))
	}
	return mode
}()

// Times keep their nanoseconds, so that what is decoded compares equal.
var encoding = func() cbor.EncMode { //nolint:gochecknoglobals // immutable after start
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode()
	if err != nil {
		panic(fmt.Sprintf("codec: encoding options: %v", err))
	}
	return mode
}()

// Encode gives a message's bytes.
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

// Decode reads what Encode wrote, if it is a message of these kinds: of another one
// nothing but its name is read. It does not keep data.
func Decode(data []byte, kinds msg.Kinds) (msg.Message, error) {
	if len(data) > MaxMessage {
		return nil, fmt.Errorf("decode message of %d bytes: %w", len(data), ErrTooLarge)
	}
	var e envelope
	if err := decoding.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	return kinds.Decode(e.Kind, func(into any) error { return decoding.Unmarshal(e.Body, into) })
}

// DecodedSize estimates the memory that a message takes with what is decoded from it, in
// bytes, for whoever does not trust its sender: an empty element is one byte of it. It takes
// what is no CBOR for anything; Decode refuses that.
func DecodedSize(data []byte) int {
	const (
		object = 64 // of a map, which is a struct or an entry of a list mostly
		list   = 32
		part   = 8 // of a name, which takes nothing, or of a value
	)
	size := len(data)
	for i := 0; i < len(data); {
		kind, n, head := cborHead(data[i:])
		i += head
		switch kind {
		case cborMap:
			size += object
		case cborArray:
			size += list
		case cborBytes, cborText:
			size += part
			i += int(min(n, uint64(len(data)-i)))
		default:
			size += part
		}
	}
	return size
}

// Major types of CBOR, RFC 8949 section 3.1.
const (
	cborBytes = 2
	cborText  = 3
	cborArray = 4
	cborMap   = 5
)

// cborHead reads what an item begins with: its major type, its argument, and how long they
// are, one byte at least and no more than there are.
func cborHead(data []byte) (kind byte, argument uint64, length int) {
	kind, argument, length = data[0]>>5, uint64(data[0]&0x1f), 1
	const one, eight = 24, 27 // an argument of 1, 2, 4 or 8 bytes follows
	if argument < one {
		return kind, argument, length
	}
	if argument > eight { // of unknown length, or none
		return kind, 0, length
	}
	length = min(1+1<<(argument-one), len(data))
	argument = 0
	for _, b := range data[1:length] {
		argument = argument<<8 | uint64(b)
	}
	return kind, argument, length
}
