// Package codec turns the elements of a stream into bytes and back, wherever
// they leave a chain of operators: at exchanges, as keys, in collected results.
// A codec is chosen once for each type, while a job is planned; after that a
// record costs a function call, without reflection.
//
// The bytes of a record come from another process: decoders check everything
// and never panic. The package has no goroutines, does no I/O and imports
// nothing of ours.
package codec

import (
	"errors"
	"fmt"
	"reflect"
)

// Errors of this package.
var (
	// ErrNoCodec says that a type has no codec; the text names type and remedy.
	ErrNoCodec = errors.New("no codec")
	// ErrCorrupt says that bytes are not the encoding of a value.
	ErrCorrupt = errors.New("corrupt record")
)

// Codec encodes values of type T. Its functions are called from many goroutines
// at once. Append and Decode must be set, and a Name where a job uses it.
type Codec[T any] struct {
	// Name identifies type and encoding. It is part of a job's digest: change it
	// when the encoding changes.
	Name string
	// Append appends the encoding of v to dst. Equal values have equal
	// encodings if T is to serve as a key.
	Append func(dst []byte, v T) ([]byte, error)
	// Decode reads a value from exactly the bytes of src, which it must not
	// change. The value may refer to src if Own is set.
	Decode func(src []byte) (T, error)
	// Own gives a value that shares no memory with bytes that are only borrowed:
	// the src of Decode, or []byte elements from which the value was made. Nil
	// means that values never do.
	Own func(v T) (T, error)
	// Size is the memory that v refers to, in bytes beyond T itself. Nil means
	// none.
	Size func(v T) int64
	// View gives the encoding of v without copying, where the value is its own
	// encoding; nil otherwise. Callers only read it.
	View func(v T) []byte
}

// For finds the codec of a type: []byte, string, bool, the integers and floats,
// KV of types that have one, and types that implement encoding.BinaryAppender
// and encoding.BinaryUnmarshaler. Others give ErrNoCodec.
func For[T any]() (Codec[T], error) {
	var zero T
	var found any
	switch any(zero).(type) {
	case []byte:
		found = Bytes()
	case string:
		found = String()
	case bool:
		found = Bool()
	case int:
		found = signed[int]("int")
	case int8:
		found = signed[int8]("int8")
	case int16:
		found = signed[int16]("int16")
	case int32:
		found = signed[int32]("int32")
	case int64:
		found = signed[int64]("int64")
	case uint:
		found = unsigned[uint]("uint")
	case uint8:
		found = unsigned[uint8]("uint8")
	case uint16:
		found = unsigned[uint16]("uint16")
	case uint32:
		found = unsigned[uint32]("uint32")
	case uint64:
		found = unsigned[uint64]("uint64")
	case float32:
		found = float32Codec()
	case float64:
		found = float64Codec()
	default:
		return forOther[T]()
	}
	return found.(Codec[T]), nil
}

// forOther finds the codec of a type that is not one of the language's own.
func forOther[T any]() (Codec[T], error) {
	var zero T
	if pair, ok := any(zero).(interface{ codec() (any, error) }); ok {
		found, err := pair.codec()
		if err != nil {
			return Codec[T]{}, err
		}
		return found.(Codec[T]), nil
	}
	if c, ok := binaryCodec[T](); ok {
		return c, nil
	}
	return Codec[T]{}, fmt.Errorf("%w for type %s: use []byte, string, bool, a number or a KV of these, "+
		"implement encoding.BinaryAppender and encoding.BinaryUnmarshaler, or pass dataflow.WithCodec",
		ErrNoCodec, reflect.TypeFor[T]())
}
