// Package codec turns the elements of a stream into bytes and back when they leave
// a chain of operators: at exchanges, as keys, in collected results.
// The planner chooses a codec once for each type. It walks through the type by
// reflection, and builds a function for each part. A record then costs calls of
// these functions, and no walk.
//
// The bytes of a record come from another process, so decoders check everything
// and never panic. They allocate memory as the bytes of a value are there, and not
// by an announced length. The package has no goroutines, does no I/O and imports
// nothing else of Bobbin.
package codec

import (
	"errors"
	"reflect"
)

// Errors of this package.
var (
	// ErrNoCodec says that a type has no codec. The error text names the type
	// and the remedy.
	ErrNoCodec = errors.New("no codec")
	// ErrCorrupt says that bytes are not the encoding of a value.
	ErrCorrupt = errors.New("corrupt record")
	// ErrTooDeep says that a value has more than 1000 pointers, slices and maps
	// inside each other. It may contain itself.
	ErrTooDeep = errors.New("value is nested too deep")
)

// Codec encodes values of type T. Its functions are called from many goroutines
// at once. Append and Decode must be set. Name must be set if a job uses the
// codec.
type Codec[T any] struct {
	// Name identifies the type and its encoding. It is part of a job's digest:
	// change it when the encoding changes.
	Name string
	// Append appends the encoding of v to dst. If T is used as a key, equal
	// values must have equal encodings; see KeyFor.
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
	// Ordered says that bytes.Compare orders encodings as Go orders the values; see
	// KeyFor.
	Ordered bool
}

// Owned is Own, and returns v itself if Own is nil.
func (c *Codec[T]) Owned(v T) (T, error) {
	if c.Own == nil {
		return v, nil
	}
	return c.Own(v)
}

// Copy returns a copy of v that shares no memory with it but strings, as far as Append and Decode do not. A value that refers to no
// memory is its own copy.
func (c *Codec[T]) Copy(v T) (T, error) {
	if c.View != nil || c.Own == nil && c.Size == nil {
		return c.Owned(v)
	}
	encoded, err := c.Append(nil, v)
	if err != nil {
		return v, err
	}
	return c.Decode(encoded)
}

// For returns the codec of a type. These types have one:
//
//   - bools, integers, floats, strings, time.Time, and named types of these
//   - structs, arrays, slices, maps and pointers of types with a codec, and KV.
//     A type may contain itself.
//   - types that implement encoding.BinaryAppender or encoding.BinaryMarshaler,
//     and encoding.BinaryUnmarshaler
//   - messages of google.golang.org/protobuf
//
// All fields of a struct must be exported, unless the struct encodes itself. A
// struct cannot embed a type that encodes itself beside other fields: its methods
// would encode that type alone. For these types, and all others, the error is
// ErrNoCodec. It names the path to the field.
//
// Nil pointers, slices and maps stay nil, and empty ones stay empty. An exception
// is a []byte that is the whole element or a half of a KV: its encoding is its
// bytes, so nil becomes empty. Such a []byte also shares the memory of the record
// after Decode. No other decoded value does. Pointers to the same value become
// pointers to copies of it. A time keeps its instant and its offset from UTC, and
// loses the name of its zone.
//
// Equal values may have different encodings: the entries of a map have any order,
// and a time has its zone. KeyFor has the codecs for keys.
//
// Values without pointers cost no allocation. The codec uses reflection for each
// record only for these parts of a type:
//
//   - maps, but for those with keys of type string, int, int32, int64 or uint64 and
//     elements of these types, bool or float64
//   - the memory to which a slice or a pointer refers, if it is of structs or arrays
//     with a string, slice, map, pointer or time.Time
//   - types that encode themselves, as a part of another type
func For[T any]() (Codec[T], error) {
	t := reflect.TypeFor[T]()
	if isPair(t) {
		found, err := any(*new(T)).(interface{ codec() (any, error) }).codec()
		if err != nil {
			return Codec[T]{}, err
		}
		return found.(Codec[T]), nil
	}
	if hasMethods(t) && swallows(t) == "" {
		return binaryCodec[T](formOf(t)), nil
	}
	if c, is := basic[T](t); is {
		return c, nil
	}
	return compile[T](false)
}

// KeyFor returns the codec of a type for keys. Equal keys have equal encodings.
//
// If the codec is Ordered, bytes.Compare orders encodings as Go orders the keys:
// false before true, floats as cmp.Compare (all NaNs are one key, and so are 0 and
// -0), time.Time by the instant, structs and KV field by field, arrays and slices
// as slices.Compare (nil and empty are one key), and nil pointers before others.
// Of equal keys that differ, such as times in two zones, one comes back: the one
// in UTC, the 0, the nil.
//
// Keys with a type that encodes itself, or with a protobuf message, are not
// Ordered. A key with a map has no codec.
func KeyFor[K any]() (Codec[K], error) {
	t := reflect.TypeFor[K]()
	if hasMethods(t) && swallows(t) == "" {
		return binaryCodec[K](formOf(t)), nil
	}
	if c, is := basic[K](t); is && c.Ordered {
		return c, nil
	}
	return compile[K](true)
}
