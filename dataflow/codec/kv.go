package codec

import (
	"encoding/binary"
	"reflect"
	"strings"
)

// KV is a key and its value.
type KV[K, V any] struct {
	Key   K
	Value V
}

// isPair reports whether a type is a KV. A struct that embeds one has its methods,
// and is none.
func isPair(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[KV[int, int]]().PkgPath() && strings.HasPrefix(t.Name(), "KV[")
}

// codec returns the codec of the pair, so that For finds the codec of any KV.
func (KV[K, V]) codec() (any, error) {
	key, err := For[K]()
	if err != nil {
		return nil, err
	}
	value, err := For[V]()
	if err != nil {
		return nil, err
	}
	return OfKV(key, value), nil
}

// OfKV is the codec of pairs:
//
//	┌────────────────────┬─────┬─────────────┐
//	│ uvarint length of  │ key │ value, to   │
//	│ the encoded key    │     │ the end     │
//	└────────────────────┴─────┴─────────────┘
func OfKV[K, V any](key Codec[K], value Codec[V]) Codec[KV[K, V]] {
	c := Codec[KV[K, V]]{
		Name: "kv(" + key.Name + "," + value.Name + ")",
		Append: func(dst []byte, v KV[K, V]) ([]byte, error) {
			start := len(dst)
			dst, err := key.Append(append(dst, 0), v.Key)
			if err != nil {
				return nil, err
			}
			return value.Append(setLength(dst, start), v.Value)
		},
		Decode: func(src []byte) (pair KV[K, V], err error) {
			k, v, err := SplitKV(src)
			if err != nil {
				return pair, err
			}
			if pair.Key, err = key.Decode(k); err != nil {
				return pair, err
			}
			pair.Value, err = value.Decode(v)
			return pair, err
		},
	}
	if key.Own != nil || value.Own != nil {
		c.Own = func(v KV[K, V]) (owned KV[K, V], err error) {
			if owned.Key, err = key.Owned(v.Key); err != nil {
				return owned, err
			}
			owned.Value, err = value.Owned(v.Value)
			return owned, err
		}
	}
	if key.Size != nil || value.Size != nil {
		keySize, valueSize := orZero(key.Size), orZero(value.Size)
		c.Size = func(v KV[K, V]) int64 { return keySize(v.Key) + valueSize(v.Value) }
	}
	return c
}

// AppendKey appends the part of an encoded pair that comes before the value.
func AppendKey(dst, key []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(key))), key...)
}

// SplitKV splits an encoded pair into its two parts. The error is ErrCorrupt if
// src is not an encoded pair. Neither part has spare capacity.
func SplitKV(src []byte) (key, value []byte, err error) {
	length, n := binary.Uvarint(src)
	if n <= 0 || !exact(src[:n], n) || length > uint64(len(src)-n) {
		return nil, nil, corrupt("pair", src)
	}
	end := n + int(length)
	return src[n:end:end], src[end:len(src):len(src)], nil
}

// setLength replaces the byte at start with the length of the bytes after it.
// The length nearly always fits into that byte.
func setLength(dst []byte, start int) []byte {
	length := len(dst) - start - 1
	if length < 0x80 {
		dst[start] = byte(length)
		return dst
	}
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(length))
	dst = append(dst, head[1:n]...) // makes room; copy overwrites these bytes
	copy(dst[start+n:], dst[start+1:start+1+length])
	copy(dst[start:], head[:n])
	return dst
}

func orZero[T any](size func(T) int64) func(T) int64 {
	if size != nil {
		return size
	}
	return func(T) int64 { return 0 }
}
