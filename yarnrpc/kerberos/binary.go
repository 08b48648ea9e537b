package kerberos

import (
	"encoding/binary"
	"errors"
	"time"
)

// errTruncated says that a length or a field reaches beyond the end of its file.
var errTruncated = errors.New("damaged: a field is cut off")

// byteReader takes fields from the front of data, in network byte order. After the first
// missing field, err is errTruncated and all further fields are zero.
type byteReader struct {
	data []byte
	err  error
}

// bytes takes n bytes. The result shares memory with data.
func (r *byteReader) bytes(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.data)) {
		r.err = errTruncated
		return nil
	}
	field := r.data[:n]
	r.data = r.data[n:]
	return field
}

func (r *byteReader) uint8() uint8 {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *byteReader) uint16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *byteReader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// time takes a number of seconds since 1970. As in MIT's library, the number is unsigned and so
// lasts until 2106. For 0, time returns the zero time.
func (r *byteReader) time() time.Time {
	if seconds := r.uint32(); seconds != 0 {
		return time.Unix(int64(seconds), 0)
	}
	return time.Time{}
}
