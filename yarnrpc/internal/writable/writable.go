// Package writable is Hadoop's encoding of numbers, texts and byte strings outside
// protobuf (org.apache.hadoop.io.WritableUtils), as credentials files and HDFS'
// token identifiers use it. It is pure and imports nothing of this module.
//
// A number from -112 to 127 is one byte. For others the first byte, seen as signed,
// gives sign and length, and that many bytes follow, big-endian:
//
//	-113 … -120   -112 - b bytes of a positive number
//	-121 … -128   -120 - b bytes of the complement of a negative number
//
// A text has its length before it: such a number, or in older records four bytes.
package writable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrMalformed is wrapped by errors about bytes that are no such encoding.
var ErrMalformed = errors.New("malformed writable")

// AppendVLong adds a number, also where Hadoop calls it VInt.
func AppendVLong(b []byte, n int64) []byte {
	if n >= -112 && n <= 127 {
		return append(b, byte(n))
	}
	first := -112
	if n < 0 {
		first, n = -120, ^n
	}
	size := (bits.Len64(uint64(n)) + 7) / 8
	b = append(b, byte(first-size))
	var big [8]byte
	binary.BigEndian.PutUint64(big[:], uint64(n))
	return append(b, big[8-size:]...)
}

// AppendBytes adds a length and the bytes.
func AppendBytes(b, p []byte) []byte { return append(AppendVLong(b, int64(len(p))), p...) }

// AppendText adds a length and the text (org.apache.hadoop.io.Text).
func AppendText(b []byte, s string) []byte { return append(AppendVLong(b, int64(len(s))), s...) }

// AppendLongText adds a text after a length of four bytes (WritableUtils.writeString).
func AppendLongText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// Reader takes values from the front of bytes. After the first incomplete or wrong value,
// it returns zero values, and End returns the error.
type Reader struct {
	rest []byte
	err  error
}

// NewReader reads b.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// VLong reads a number.
func (r *Reader) VLong() int64 {
	head := r.take(1)
	if head == nil {
		return 0
	}
	first := int(int8(head[0]))
	if first >= -112 {
		return int64(first)
	}
	size, negative := -112-first, false
	if first < -120 {
		size, negative = -120-first, true
	}
	var n uint64
	for _, digit := range r.take(size) {
		n = n<<8 | uint64(digit)
	}
	if negative {
		n = ^n
	}
	return int64(n)
}

// VInt reads a number of at most 32 bits.
func (r *Reader) VInt() int32 {
	n := r.VLong()
	if n < math.MinInt32 || n > math.MaxInt32 {
		r.fail("number %d needs more than 32 bits", n)
		return 0
	}
	return int32(n)
}

// Count reads the number of entries that follow. Each entry takes at least a byte, so a
// false count cannot cost much memory.
func (r *Reader) Count() int {
	n := r.VLong()
	if n < 0 || n > int64(len(r.rest)) {
		r.fail("%d entries in %d bytes", n, len(r.rest))
		return 0
	}
	return int(n)
}

// Bytes reads a length and that many bytes, which it copies.
func (r *Reader) Bytes() []byte {
	n := r.VLong()
	if n < 0 || n > int64(len(r.rest)) {
		r.fail("length %d with %d bytes left", n, len(r.rest))
		return nil
	}
	return append([]byte{}, r.take(int(n))...)
}

// Text reads what AppendText wrote.
func (r *Reader) Text() string { return string(r.Bytes()) }

// LongText reads what AppendLongText wrote; Java's null is empty.
func (r *Reader) LongText() string { return string(r.take(r.LongCount())) }

// LongCount reads the number of bytes or entries that follow, in four bytes. Java's null
// is 0.
func (r *Reader) LongCount() int {
	head := r.take(4)
	if head == nil {
		return 0
	}
	n := int32(binary.BigEndian.Uint32(head))
	if n == -1 {
		return 0
	}
	if n < 0 || int(n) > len(r.rest) {
		r.fail("length %d with %d bytes left", n, len(r.rest))
		return 0
	}
	return int(n)
}

// Err returns the first error so far.
func (r *Reader) Err() error { return r.err }

// End returns the first error. Remaining bytes are an error too.
func (r *Reader) End() error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes after the end", len(r.rest))
	}
	return r.err
}

func (r *Reader) take(n int) []byte {
	if n > len(r.rest) {
		r.fail("%d bytes wanted, %d left", n, len(r.rest))
		return nil
	}
	p := r.rest[:n]
	r.rest = r.rest[n:]
	return p
}

func (r *Reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
		r.rest = nil
	}
}
