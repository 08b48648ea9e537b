package codec

import (
	"encoding/binary"
	"math"
	"reflect"
	"time"
	"unsafe"
)

// basic returns the part of a kind without elements: a bool, number or string.
func (c *compiler) basic(kind reflect.Kind) (part, bool) {
	if c.ordered {
		return orderedBasic(kind)
	}
	switch kind {
	case reflect.Bool:
		return boolean(), true
	case reflect.Int:
		return varint[int](), true
	case reflect.Int8:
		return varint[int8](), true
	case reflect.Int16:
		return varint[int16](), true
	case reflect.Int32:
		return varint[int32](), true
	case reflect.Int64:
		return varint[int64](), true
	case reflect.Uint:
		return uvarint[uint](), true
	case reflect.Uint8:
		return raw(1), true
	case reflect.Uint16:
		return uvarint[uint16](), true
	case reflect.Uint32:
		return uvarint[uint32](), true
	case reflect.Uint64:
		return uvarint[uint64](), true
	case reflect.Float32:
		return float32Part(), true
	case reflect.Float64:
		return float64Part(), true
	case reflect.String:
		return text(), true
	default:
		return part{}, false
	}
}

// boolean is one byte, 0 or 1.
func boolean() part {
	return part{
		least: 1,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			if *(*bool)(p) {
				return append(dst, 1), nil
			}
			return append(dst, 0), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			switch {
			case len(src) == 0:
				return nil, errShort
			case src[0] > 1:
				return nil, errBool
			}
			*(*bool)(p) = src[0] == 1
			return src[1:], nil
		},
	}
}

// varint is a zigzag varint of the fewest bytes.
func varint[T int | int8 | int16 | int32 | int64]() part {
	return part{
		least: 1,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			return binary.AppendVarint(dst, int64(*(*T)(p))), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			u, rest, err := number(src)
			if err != nil {
				return nil, err
			}
			v := unzigzag(u)
			if int64(T(v)) != v {
				return nil, errNumber
			}
			*(*T)(p) = T(v)
			return rest, nil
		},
	}
}

// unzigzag returns the number that AppendVarint wrote as u.
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// uvarint is a varint of the fewest bytes.
func uvarint[T uint | uint16 | uint32 | uint64]() part {
	return part{
		least: 1,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			return binary.AppendUvarint(dst, uint64(*(*T)(p))), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			v, rest, err := number(src)
			if err != nil {
				return nil, err
			}
			if uint64(T(v)) != v {
				return nil, errNumber
			}
			*(*T)(p) = T(v)
			return rest, nil
		},
	}
}

// float32Part holds the IEEE 754 bits, little endian.
func float32Part() part {
	return part{
		least: 4,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(*(*float32)(p))), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			if len(src) < 4 {
				return nil, errShort
			}
			*(*float32)(p) = math.Float32frombits(binary.LittleEndian.Uint32(src))
			return src[4:], nil
		},
	}
}

// float64Part holds the IEEE 754 bits, little endian.
func float64Part() part {
	return part{
		least: 8,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(*(*float64)(p))), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			if len(src) < 8 {
				return nil, errShort
			}
			*(*float64)(p) = math.Float64frombits(binary.LittleEndian.Uint64(src))
			return src[8:], nil
		},
	}
}

// isByte reports whether a type is a byte that does not encode itself.
func isByte(t reflect.Type) bool { return t.Kind() == reflect.Uint8 && !encodesItself(t) }

// raw is n bytes in place, as they are.
func raw(n int) part {
	return part{
		least: n,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			return append(dst, unsafe.Slice((*byte)(p), n)...), nil //nolint:gosec // n bytes are at p
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			if len(src) < n {
				return nil, errShort
			}
			copy(unsafe.Slice((*byte)(p), n), src) //nolint:gosec // n bytes are at p
			return src[n:], nil
		},
	}
}

// text is the length of a string and its bytes.
func text() part {
	return part{
		least: 1,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			s := *(*string)(p)
			return append(binary.AppendUvarint(dst, uint64(len(s))), s...), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			n, rest, err := number(src)
			if err != nil {
				return nil, err
			}
			if n > uint64(len(rest)) {
				return nil, errShort
			}
			*(*string)(p) = string(rest[:n])
			return rest[n:], nil
		},
		size: textSize,
	}
}

func textSize(p unsafe.Pointer, _ int) int64 { return int64(len(*(*string)(p))) }

// bytes is the part of a []byte: 0 for nil, or else the length plus 1, and the
// bytes.
func (c *compiler) bytes() part {
	if c.ordered {
		return orderedBytes()
	}
	return part{
		least: 1,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			b := *(*[]byte)(p)
			if b == nil {
				return append(dst, 0), nil
			}
			return append(binary.AppendUvarint(dst, uint64(len(b))+1), b...), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			n, rest, err := count(src, 1, 0)
			if err != nil || n < 0 {
				*(*[]byte)(p) = nil
				return rest, err
			}
			*(*[]byte)(p) = append(make([]byte, 0, n), rest[:n]...)
			return rest[n:], nil
		},
		size: bytesSize,
	}
}

func bytesSize(p unsafe.Pointer, _ int) int64 { return int64(cap(*(*[]byte)(p))) }

// instant is the part of a time.Time: Unix seconds and nanoseconds, big endian,
// and the zone. The zone is 0 for UTC, or else the offset in seconds as a zigzag
// varint plus 1. So neither the zone's name nor the monotonic clock travels.
func (c *compiler) instant() part {
	if c.ordered {
		return orderedInstant()
	}
	kept := new(zones)
	return part{
		least: 13,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			t := *(*time.Time)(p)
			dst = binary.BigEndian.AppendUint64(dst, uint64(t.Unix()))
			dst = binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond()))
			if t.Location() == time.UTC {
				return append(dst, 0), nil
			}
			_, offset := t.Zone()
			return binary.AppendUvarint(dst, zigzag(int64(offset))+1), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			seconds, nanos, src, err := readInstant(src)
			if err != nil {
				return nil, err
			}
			t := time.Unix(int64(seconds), nanos)
			zone, rest, err := number(src)
			if err != nil {
				return nil, err
			}
			if zone == 0 {
				*(*time.Time)(p) = t.UTC()
				return rest, nil
			}
			offset := unzigzag(zone - 1)
			if int64(int32(offset)) != offset {
				return nil, errTime
			}
			if _, own := t.Zone(); int64(own) != offset { // t is in the machine's own zone
				t = t.In(kept.of(int(offset)))
			}
			*(*time.Time)(p) = t
			return rest, nil
		},
	}
}

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

// readInstant reads the seconds and nanoseconds of a time.
func readInstant(src []byte) (seconds uint64, nanos int64, rest []byte, err error) {
	if len(src) < 12 {
		return 0, 0, nil, errShort
	}
	seconds, nanos = binary.BigEndian.Uint64(src), int64(binary.BigEndian.Uint32(src[8:]))
	if nanos >= 1e9 {
		return 0, 0, nil, errTime
	}
	return seconds, nanos, src[12:], nil
}
