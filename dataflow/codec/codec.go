// Package codec turns the elements of a stream into bytes and back when they leave
// a chain of operators: at exchanges, as keys, in collected results.
// The planner chooses a codec once for each type. After that a record costs one
// function call, without reflection.
//
// The bytes of a record come from another process, so decoders check everything
// and never panic. The package has no goroutines, does no I/O and imports nothing
// else of Bobbin.
package codec

import (
	"errors"
	"fmt"
	"reflect"
)

// Errors of this package.
var (
	// ErrNoCodec says that a type has no codec. The error text names the type
	// and the remedy.
	ErrNoCodec = errors.New("no codec")
	// ErrCorrupt says that bytes are not the encoding of a value.
	ErrCorrupt = errors.New("corrupt record")
)

// Codec encodes values of type T. Its functions are called from many goroutines
// at once. Append and Decode must be set. Name must be set if a job uses the
// codec.
type Codec[T any] struct {
	// Name identifies the type and its encoding. It is part of a job's digest:
	// change it when the encoding changes.
	Name string
	// Append appends the encoding of v to dst. If T is used as a key, equal
	// values must have equal encodings.
	Append func(dst []byte, v T) ([]byte, error)
	// Decode reads a value from src and uses all its bytes. It must not change
	// src. The value may refer to src if Own is set.
	Decode func(src []byte) (T, error)
	// Own returns a copy of v that shares no memory with borrowed bytes: the src
	// of Decode, or []byte elements from which the value was made. Nil means
	// that values never share such memory.
	Own func(v T) (T, error)
	// Size returns the memory that v refers to, in bytes, without T itself. Nil
	// means none.
	Size func(v T) int64
	// View returns the encoding of v without copying. It is set only if a value
	// is its own encoding. Callers must not change the result.
	View func(v T) []byte
}

// For returns the codec of a type. These types have one: []byte, string, bool,
// the integers and floats, KV of types with a codec, and types that implement
// encoding.BinaryAppender and encoding.BinaryUnmarshaler. For other types the
// error is ErrNoCodec.
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

// forOther finds the codec of a type that is not one of Go's basic types.
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
