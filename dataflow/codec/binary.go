package codec

import (
	"encoding"
	"fmt"
	"reflect"
)

// binaryCodec returns the codec of T if T encodes itself. With this codec, every
// value that crosses an exchange costs an allocation. To keep a value, a reduction
// makes a copy: it encodes and decodes the value. A Codec given by WithCodec avoids
// both costs.
func binaryCodec[T any]() (Codec[T], bool) {
	_, appends := any(new(T)).(encoding.BinaryAppender)
	_, decodes := any(new(T)).(encoding.BinaryUnmarshaler)
	if !appends || !decodes {
		return Codec[T]{}, false
	}
	name := reflect.TypeFor[T]().String()
	encode := func(dst []byte, v T) ([]byte, error) {
		dst, err := any(&v).(encoding.BinaryAppender).AppendBinary(dst)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		return dst, nil
	}
	decode := func(src []byte) (T, error) {
		var v T
		if err := any(&v).(encoding.BinaryUnmarshaler).UnmarshalBinary(src); err != nil {
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
		Size: func(v T) int64 {
			encoded, err := encode(nil, v)
			if err != nil { // Own or Append gets the same error and reports it
				return 0
			}
			return int64(len(encoded))
		},
	}, true
}
