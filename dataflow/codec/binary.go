package codec

import (
	"encoding"
	"fmt"
	"reflect"
	"unsafe"

	"google.golang.org/protobuf/proto"
)

// form says how values of a type become bytes.
type form int

const (
	byParts    form = iota
	byMethods       // AppendBinary or MarshalBinary, and UnmarshalBinary
	byProtobuf      // it is the struct of a protobuf message
)

func formOf(t reflect.Type) form {
	pointer := reflect.PointerTo(t)
	appends := pointer.Implements(reflect.TypeFor[encoding.BinaryAppender]()) ||
		pointer.Implements(reflect.TypeFor[encoding.BinaryMarshaler]())
	switch {
	case appends && pointer.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]()):
		return byMethods
	case pointer.Implements(reflect.TypeFor[proto.Message]()):
		return byProtobuf
	}
	return byParts
}

// encodesItself reports whether a type is not encoded by parts.
func encodesItself(t reflect.Type) bool { return formOf(t) != byParts }

// swallows returns the embedded field of a struct whose methods the struct has. These
// encode the embedded field alone, so the other fields would be lost. A struct that
// has the methods itself cannot be told apart. The result is "" if there is none.
func swallows(t reflect.Type) string {
	if t.Kind() != reflect.Struct || t.NumField() == 1 || !encodesItself(t) {
		return ""
	}
	for f := range t.Fields() {
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		if f.Anonymous && encodesItself(embedded) {
			return f.Name
		}
	}
	return ""
}

// append encodes a value of this form. v is a pointer to it.
func (f form) append(dst []byte, v any) ([]byte, error) {
	if f == byProtobuf {
		return proto.MarshalOptions{Deterministic: true}.MarshalAppend(dst, v.(proto.Message))
	}
	if v, is := v.(encoding.BinaryAppender); is {
		return v.AppendBinary(dst)
	}
	encoded, err := v.(encoding.BinaryMarshaler).MarshalBinary()
	return append(dst, encoded...), err
}

// decode sets the value to which v points.
func (f form) decode(src []byte, v any) error {
	if f == byProtobuf {
		return proto.Unmarshal(src, v.(proto.Message))
	}
	return v.(encoding.BinaryUnmarshaler).UnmarshalBinary(src)
}

// size returns the length of the encoding.
func (f form) size(v any) int64 {
	encoded, err := f.append(nil, v)
	if err != nil { // Own or Append gets the same error and reports it
		return 0
	}
	return int64(len(encoded))
}

// binaryCodec returns the codec of T, which encodes itself. With this codec, every
// value that crosses an exchange costs an allocation. To keep a value, a reduction
// makes a copy: it encodes and decodes the value. A Codec given by WithCodec avoids
// both costs.
func binaryCodec[T any](f form) Codec[T] {
	name := reflect.TypeFor[T]().String()
	encode := func(dst []byte, v T) ([]byte, error) {
		dst, err := f.append(dst, &v)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		return dst, nil
	}
	decode := func(src []byte) (T, error) {
		var v T
		if err := f.decode(src, &v); err != nil {
			return v, fmt.Errorf("%w: decode %s: %w", ErrCorrupt, name, err)
		}
		return v, nil
	}
	return Codec[T]{
		Name:   name,
		Append: encode,
		Decode: decode,
		Own: func(v T) (T, error) {
			encoded, err := encode(nil, v)
			if err != nil {
				return v, err
			}
			return decode(encoded)
		},
		Size: func(v T) int64 { return f.size(&v) },
	}
}

// part is the part of a type of this form: the length of the encoding, and the
// encoding.
func (f form) part(t reflect.Type) part {
	at := func(p unsafe.Pointer) any { return reflect.NewAt(t, p).Interface() }
	return part{
		least: 1,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			start := len(dst)
			dst, err := f.append(append(dst, 0), at(p))
			if err != nil {
				return nil, fmt.Errorf("encode %s: %w", t, err)
			}
			return setLength(dst, start), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			length, src, err := number(src)
			if err != nil {
				return nil, err
			}
			if length > uint64(len(src)) {
				return nil, errShort
			}
			v := reflect.NewAt(t, p)
			v.Elem().SetZero() // the decoder of a map uses its memory again
			if err := f.decode(src[:length:length], v.Interface()); err != nil {
				return nil, fmt.Errorf("decode %s: %w", t, err)
			}
			return src[length:], nil
		},
		size: func(p unsafe.Pointer, _ int) int64 { return f.size(at(p)) },
	}
}
