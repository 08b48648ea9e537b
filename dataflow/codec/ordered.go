package codec

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"reflect"
	"time"
	"unsafe"
)

// In ordered encodings, bytes.Compare has the result of comparing the values. No
// encoding of a part begins with another one, so the order of the first part that
// differs decides.

// orderedBasic returns the part of a kind without elements.
func orderedBasic(kind reflect.Kind) (part, bool) {
	switch kind {
	case reflect.Bool:
		return boolean(), true
	case reflect.Int:
		return orderedSigned[int](8), true
	case reflect.Int8:
		return orderedSigned[int8](1), true
	case reflect.Int16:
		return orderedSigned[int16](2), true
	case reflect.Int32:
		return orderedSigned[int32](4), true
	case reflect.Int64:
		return orderedSigned[int64](8), true
	case reflect.Uint:
		return orderedUnsigned[uint](8), true
	case reflect.Uint8:
		return raw(1), true
	case reflect.Uint16:
		return orderedUnsigned[uint16](2), true
	case reflect.Uint32:
		return orderedUnsigned[uint32](4), true
	case reflect.Uint64:
		return orderedUnsigned[uint64](8), true
	case reflect.Float32:
		return bigEndian(4, float32Bits, float32Of), true
	case reflect.Float64:
		return bigEndian(8, float64Bits, float64Of), true
	case reflect.String:
		return orderedText(), true
	default:
		return part{}, false
	}
}

// bigEndian is a number as the upper bytes of 64 bits that compare as the numbers
// do. of returns an error for bits that no number has.
func bigEndian[T any](width int, bits func(T) uint64, of func(uint64) (T, error)) part {
	return part{
		least: width,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			var all [8]byte
			binary.BigEndian.PutUint64(all[:], bits(*(*T)(p)))
			return append(dst, all[:width]...), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) (_ []byte, err error) {
			if len(src) < width {
				return nil, errShort
			}
			var all [8]byte
			copy(all[:], src[:width])
			*(*T)(p), err = of(binary.BigEndian.Uint64(all[:]))
			return src[width:], err
		},
	}
}

const signBit = 1 << 63

// orderedSigned has the sign flipped, so that negative numbers come first.
func orderedSigned[T int | int8 | int16 | int32 | int64](width int) part {
	spare := 64 - 8*width
	return bigEndian(
		width,
		func(v T) uint64 { return uint64(v)<<spare ^ signBit },
		func(bits uint64) (T, error) {
			v := int64(bits^signBit) >> spare
			if int64(T(v)) != v { // an int of a machine with 32 bits
				return 0, errNumber
			}
			return T(v), nil
		})
}

func orderedUnsigned[T uint | uint16 | uint32 | uint64](width int) part {
	spare := 64 - 8*width
	return bigEndian(
		width,
		func(v T) uint64 { return uint64(v) << spare },
		func(bits uint64) (T, error) {
			v := bits >> spare
			if uint64(T(v)) != v {
				return 0, errNumber
			}
			return T(v), nil
		})
}

// Floats compare as in cmp.Compare: all NaNs are equal and come first, and -0 is 0.
func float64Bits(v float64) uint64 {
	bits := math.Float64bits(v)
	switch {
	case math.IsNaN(v):
		return 0
	case v == 0:
		return signBit
	case v < 0:
		return ^bits
	}
	return bits | signBit
}

func float64Of(bits uint64) (float64, error) {
	v := math.NaN()
	switch {
	case bits == 0:
	case bits&signBit == 0:
		v = math.Float64frombits(^bits)
	default:
		v = math.Float64frombits(bits &^ signBit)
	}
	if float64Bits(v) != bits {
		return 0, errFloat
	}
	return v, nil
}

// float32Bits has the bits of a float32 in its upper half, and 0 below.
func float32Bits(v float32) uint64 {
	bits := math.Float32bits(v)
	switch {
	case math.IsNaN(float64(v)):
		return 0
	case v == 0:
		return signBit
	case v < 0:
		bits = ^bits
	default:
		bits |= signBit >> 32
	}
	return uint64(bits) << 32
}

func float32Of(bits uint64) (float32, error) {
	v, half := float32(math.NaN()), uint32(bits>>32)
	switch {
	case half == 0:
	case bits&signBit == 0:
		v = math.Float32frombits(^half)
	default:
		v = math.Float32frombits(half &^ (signBit >> 32))
	}
	if float32Bits(v) != bits {
		return 0, errFloat
	}
	return v, nil
}

// A string ends with two zero bytes. A zero byte within it is followed by 0xff. So
// a string comes before all strings that begin with it.
const (
	endOfText  = "\x00\x00"
	escapeZero = "\x00\xff"
)

func appendEscaped[T ~string | ~[]byte](dst []byte, text T) []byte {
	start := 0
	for i := range len(text) {
		if text[i] == 0 {
			dst = append(append(dst, text[start:i]...), escapeZero...)
			start = i + 1
		}
	}
	return append(append(dst, text[start:]...), endOfText...)
}

// unescape returns the text at the start of src. It may share memory with src.
func unescape(src []byte) (text, rest []byte, err error) {
	for at := 0; ; at += 2 {
		zero := bytes.IndexByte(src[at:], 0)
		if zero < 0 || at+zero+1 == len(src) {
			return nil, nil, errShort
		}
		end := at + zero
		switch src[end+1] {
		case endOfText[1]:
			if text == nil {
				return src[:end], src[end+2:], nil
			}
			return append(text, src[at:end]...), src[end+2:], nil
		case escapeZero[1]:
			text = append(append(text, src[at:end]...), 0)
			at = end
		default:
			return nil, nil, errEscape
		}
	}
}

func orderedText() part {
	return part{
		least: len(endOfText),
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			return appendEscaped(dst, *(*string)(p)), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			text, rest, err := unescape(src)
			*(*string)(p) = string(text)
			return rest, err
		},
		size: textSize,
	}
}

// orderedBytes does not tell nil from empty, as bytes.Compare does not.
func orderedBytes() part {
	return part{
		least: len(endOfText),
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			return appendEscaped(dst, *(*[]byte)(p)), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			text, rest, err := unescape(src)
			*(*[]byte)(p) = append([]byte(nil), text...)
			return rest, err
		},
		size: bytesSize,
	}
}

// yearOne is the start of the first year, as a Unix time. Time.Compare compares
// seconds since then.
const yearOne = -62135596800

// orderedInstant has no zone: keys of the same instant are equal.
func orderedInstant() part {
	return part{
		least: 12,
		append: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			t := *(*time.Time)(p)
			dst = binary.BigEndian.AppendUint64(dst, uint64(t.Unix()-yearOne)^signBit)
			return binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond())), nil
		},
		decode: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			seconds, nanos, rest, err := readInstant(src)
			*(*time.Time)(p) = time.Unix(int64(seconds^signBit)+yearOne, nanos).UTC()
			return rest, err
		},
	}
}

// Before each element of a slice is moreElements, and at the end noElements. So a
// slice comes before all slices that begin with it.
const (
	noElements   = 0
	moreElements = 1
)

// markedElements does not tell nil from empty, as slices.Compare does not. Both
// come back as nil.
func markedElements(elem *part, step uintptr, grow grow) part {
	return part{
		least: 1,
		append: func(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
			s := (*sliceHeader)(p)
			if s.len > 0 && depth == maxDepth {
				return nil, nestsTooDeep()
			}
			for i := range s.len {
				if dst, err = elem.append(append(dst, moreElements), unsafe.Add(s.data, uintptr(i)*step), depth+1); err != nil {
					return nil, err
				}
			}
			return append(dst, noElements), nil
		},
		decode: func(src []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
			var s sliceHeader
			for ; ; s.len++ {
				switch {
				case len(src) == 0:
					return nil, errShort
				case src[0] == noElements:
					*(*sliceHeader)(p) = s
					return src[1:], nil
				case src[0] != moreElements:
					return nil, errOrder
				case depth == maxDepth:
					return nil, nestsTooDeep()
				}
				if s.len == s.cap {
					s = grow(s, cmp.Or(2*s.cap, 1))
				}
				if src, err = elem.decode(src[1:], unsafe.Add(s.data, uintptr(s.len)*step), depth+1); err != nil {
					return nil, err
				}
			}
		},
	}
}
