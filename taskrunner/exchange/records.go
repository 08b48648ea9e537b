package exchange

import (
	"encoding/binary"
	"fmt"
)

// The payloads of a channel, joined, are records, each after its length as uvarint.
// A record may span buffers. A length never does, because a buffer with less room
// than maxPrefix is full. So a reader never sees a part of a length.
const (
	// MaxRecord bounds one record, in bytes.
	MaxRecord = 128 << 20
	maxPrefix = 4 // bytes of the uvarint of MaxRecord
	// keptPartial is the largest buffer for spanning records that a channel keeps for the next one,
	// in bytes.
	keptPartial = 1 << 20
)

// assembler splits the payloads of a channel into records.
type assembler struct {
	partial []byte // of a record that continues in the next payload
	missing int    // bytes of it to come
}

// next splits the first record off data. data is the rest of the last call or, if that was empty,
// the next payload. If it finds no record, it has used all of data. The record is valid until the
// next call.
func (a *assembler) next(data []byte) (record, rest []byte, found bool, err error) {
	if a.missing > 0 {
		return a.resume(data)
	}
	if len(data) == 0 {
		return nil, nil, false, nil
	}
	length, size := uint64(data[0]), 1
	if length >= 0x80 {
		if length, size = binary.Uvarint(data[:min(len(data), maxPrefix)]); size <= 0 || length > MaxRecord {
			return nil, nil, false, fmt.Errorf("read record length % x: %w", data[:min(len(data), maxPrefix)], errProtocol)
		}
	}
	data = data[size:]
	if length <= uint64(len(data)) {
		return data[:length:length], data[length:], true, nil
	}
	// Keep the bytes that arrived. Never allocate by the announced length.
	a.partial = append(a.partial[:0], data...)
	a.missing = int(length) - len(data)
	return nil, nil, false, nil
}

func (a *assembler) resume(data []byte) (record, rest []byte, found bool, err error) {
	n := min(a.missing, len(data))
	a.partial = append(a.partial, data[:n]...)
	a.missing -= n
	if a.missing > 0 {
		return nil, nil, false, nil
	}
	record = a.partial
	if cap(a.partial) > keptPartial {
		a.partial = nil
	}
	return record, data[n:], true, nil
}

// end checks that the channel may end here.
func (a *assembler) end() error {
	if a.missing > 0 {
		return fmt.Errorf("data ends %d bytes before its last record does: %w", a.missing, errProtocol)
	}
	return nil
}
