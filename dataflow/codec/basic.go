package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// basic returns the codec of a type without parts. A named type has the codec of
// its kind.
func basic[T any](t reflect.Type) (c Codec[T], is bool) {
	switch t.Kind() {
	case reflect.Slice:
		if !isByte(t.Elem()) {
			return c, false
		}
		return as[T](Bytes()), true
	case reflect.String:
		return as[T](String()), true
	case reflect.Bool:
		return as[T](Bool()), true
	case reflect.Int:
		return as[T](signed[int]("int")), true
	case reflect.Int8:
		return as[T](signed[int8]("int8")), true
	case reflect.Int16:
		return as[T](signed[int16]("int16")), true
	case reflect.Int32:
		return as[T](signed[int32]("int32")), true
	case reflect.Int64:
		return as[T](signed[int64]("int64")), true
	case reflect.Uint:
		return as[T](unsigned[uint]("uint")), true
	case reflect.Uint8:
		return as[T](unsigned[uint8]("uint8")), true
	case reflect.Uint16:
		return as[T](unsigned[uint16]("uint16")), true
	case reflect.Uint32:
		return as[T](unsigned[uint32]("uint32")), true
	case reflect.Uint64:
		return as[T](unsigned[uint64]("uint64")), true
	case reflect.Float32:
		return as[T](float32Codec()), true
	case reflect.Float64:
		return as[T](float64Codec()), true
	default:
		return c, false
	}
}

// Bytes is the codec of []byte: the bytes as they are. A decoded value is the
// record itself.
func Bytes() Codec[[]byte] {
	return Codec[[]byte]{
		Name:   "bytes",
		Append: func(dst, v []byte) ([]byte, error) { return append(dst, v...), nil },
		Decode: func(src []byte) ([]byte, error) { return src, nil },
		Own:    func(v []byte) ([]byte, error) { return bytes.Clone(v), nil },
		Size:   func(v []byte) int64 { return int64(cap(v)) },
		View:   func(v []byte) []byte { return v },

		Ordered: true,
	}
}

// String is the codec of string: its bytes.
func String() Codec[string] {
	return Codec[string]{
		Name:   "string",
		Append: func(dst []byte, v string) ([]byte, error) { return append(dst, v...), nil },
		Decode: func(src []byte) (string, error) { return string(src), nil },
		Size:   func(v string) int64 { return int64(len(v)) },
		View: func(v string) []byte {
			return unsafe.Slice(unsafe.StringData(v), len(v)) //nolint:gosec // callers only read a view
		},
		Ordered: true,
	}
}

// Bool is the codec of bool: one byte, 0 or 1.
func Bool() Codec[bool] {
	return Codec[bool]{
		Name:    "bool",
		Ordered: true,
		Append: func(dst []byte, v bool) ([]byte, error) {
			if v {
				return append(dst, 1), nil
			}
			return append(dst, 0), nil
		},
		Decode: func(src []byte) (bool, error) {
			if len(src) != 1 || src[0] > 1 {
				return false, corrupt("bool", src)
			}
			return src[0] == 1, nil
		},
	}
}

// signed is the codec of a signed integer: a zigzag varint of the fewest bytes.
func signed[T int | int8 | int16 | int32 | int64](name string) Codec[T] {
	return Codec[T]{
		Name:   name,
		Append: func(dst []byte, v T) ([]byte, error) { return binary.AppendVarint(dst, int64(v)), nil },
		Decode: func(src []byte) (T, error) {
			v, n := binary.Varint(src)
			if !exact(src, n) || int64(T(v)) != v {
				return 0, corrupt(name, src)
			}
			return T(v), nil
		},
	}
}

// unsigned is the codec of an unsigned integer: a varint of the fewest bytes.
func unsigned[T uint | uint8 | uint16 | uint32 | uint64](name string) Codec[T] {
	return Codec[T]{
		Name:   name,
		Append: func(dst []byte, v T) ([]byte, error) { return binary.AppendUvarint(dst, uint64(v)), nil },
		Decode: func(src []byte) (T, error) {
			v, n := binary.Uvarint(src)
			if !exact(src, n) || uint64(T(v)) != v {
				return 0, corrupt(name, src)
			}
			return T(v), nil
		},
	}
}

// exact reports whether a varint of n bytes is all of src and in its shortest
// form. So equal numbers have equal encodings.
func exact(src []byte, n int) bool {
	return n > 0 && n == len(src) && (n == 1 || src[n-1] != 0)
}

// float32Codec holds the IEEE 754 bits, little endian.
func float32Codec() Codec[float32] {
	return Codec[float32]{
		Name: "float32",
		Append: func(dst []byte, v float32) ([]byte, error) {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v)), nil
		},
		Decode: func(src []byte) (float32, error) {
			if len(src) != 4 {
				return 0, corrupt("float32", src)
			}
			return math.Float32frombits(binary.LittleEndian.Uint32(src)), nil
		},
	}
}

// float64Codec holds the IEEE 754 bits, little endian.
func float64Codec() Codec[float64] {
	return Codec[float64]{
		Name: "float64",
		Append: func(dst []byte, v float64) ([]byte, error) {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)), nil
		},
		Decode: func(src []byte) (float64, error) {
			if len(src) != 8 {
				return 0, corrupt("float64", src)
			}
			return math.Float64frombits(binary.LittleEndian.Uint64(src)), nil
		},
	}
}

// corrupt returns an error with the type to decode and the first bytes of src.
func corrupt(name string, src []byte) error {
	return fmt.Errorf("%w: decode %s from %d bytes % x", ErrCorrupt, name, len(src), src[:min(len(src), 16)])
}
