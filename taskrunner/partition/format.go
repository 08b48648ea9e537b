package partition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
)

// All numbers in the file are big endian:
//
//	block   check u64 │ stored u32 │ raw u32 │ payload (S2 if stored < raw)
//	index   for each subpartition with blocks: offset u64 │ stored u32 │ raw u32 │ next u64 │ subpartition u64 │ check u64
//	table   for each subpartition: next u64 │ check u64
//	footer  magic 8 │ subpartitions u64 │ offset of the table u64 │ records u64 │ bytes u64 │ check u64
//
// next is the offset of the entry that the subpartition has in the next index; 0: none follows.
const (
	magic       = "BOBPART2"
	blockHeader = 16
	entrySize   = 40
	placeSize   = 16
	footerSize  = 48
)

const (
	// MaxBlock bounds the records in a block, in bytes: a buffer of package exchange has room for them beside its headers.
	MaxBlock = 32<<10 - 128
	// maxPrefix is the most that the length of a record takes, in bytes. A block with less room is full, so a length never spans
	// blocks.
	maxPrefix = 4
	// MaxRecord bounds a record, in bytes, as package exchange does.
	MaxRecord = 128 << 20
)

// ErrCorrupt says that a file is damaged, or is none of a partition.
var ErrCorrupt = errors.New("partition file is damaged")

// checkOf gives the checksum of bytes at an offset of the file.
func checkOf(offset int64, b []byte) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(uint64(offset))
	_, _ = d.Write(b) // it never fails
	return d.Sum64()
}

// appendChecked appends fields to the bytes that begin at the offset, and their checksum.
func appendChecked(to []byte, offset int64, fields ...uint64) []byte {
	start := len(to)
	for _, f := range fields {
		to = binary.BigEndian.AppendUint64(to, f)
	}
	return binary.BigEndian.AppendUint64(to, checkOf(offset, to[start:]))
}

// readChecked gives the fields of bytes at an offset, if their checksum is right.
func readChecked(b []byte, offset int64) ([]byte, bool) {
	fields := b[:len(b)-8]
	return fields, binary.BigEndian.Uint64(b[len(fields):]) == checkOf(offset, fields)
}

// run is an entry of an index: the place of a subpartition's blocks in a region.
type run struct {
	offset       int64
	stored       uint32 // bytes of the blocks with their headers
	raw          uint32 // bytes of the records with their lengths
	next         int64
	subpartition int
}

func (r run) append(to []byte, at int64) []byte {
	return appendChecked(to, at, uint64(r.offset), uint64(r.stored)<<32|uint64(r.raw), uint64(r.next), uint64(r.subpartition))
}

// parseRun reads the entry at an offset of the file. It comes behind its blocks, and before that of the next region.
func parseRun(b []byte, at int64) (run, error) {
	fields, intact := readChecked(b, at)
	if !intact {
		return run{}, damaged(at, "the checksum of a place is wrong")
	}
	r := run{
		offset: int64(binary.BigEndian.Uint64(fields)),
		stored: binary.BigEndian.Uint32(fields[8:]), raw: binary.BigEndian.Uint32(fields[12:]),
		next:         int64(binary.BigEndian.Uint64(fields[16:])),
		subpartition: int(binary.BigEndian.Uint64(fields[24:])),
	}
	switch {
	case r.offset < 0 || r.offset > at || int64(r.stored) > at-r.offset || r.stored == 0 || r.raw == 0:
		return run{}, damaged(at, "%d bytes at %d are not before their place", r.stored, r.offset)
	case r.next != 0 && r.next <= at:
		return run{}, damaged(at, "the next place at %d does not follow", r.next)
	}
	return r, nil
}

// footer describes the whole file.
type footer struct {
	subpartitions  uint32
	table          int64 // its offset
	records, bytes int64 // bytes of the records with their lengths
}

func (f footer) fields() []uint64 {
	return []uint64{
		binary.BigEndian.Uint64([]byte(magic)), uint64(f.subpartitions), uint64(f.table), uint64(f.records), uint64(f.bytes),
	}
}

// parseFooter reads the footer, which begins at this offset.
func parseFooter(b []byte, at int64) (footer, error) {
	fields, intact := readChecked(b, at)
	if !intact || string(fields[:len(magic)]) != magic {
		return footer{}, damaged(at, "its footer is missing or wrong")
	}
	subpartitions := binary.BigEndian.Uint64(fields[8:])
	f := footer{
		subpartitions: uint32(subpartitions),
		table:         int64(binary.BigEndian.Uint64(fields[16:])),
		records:       int64(binary.BigEndian.Uint64(fields[24:])),
		bytes:         int64(binary.BigEndian.Uint64(fields[32:])),
	}
	if subpartitions == 0 || subpartitions > math.MaxInt32 || f.table < 0 || f.table != at-int64(subpartitions)*placeSize {
		return footer{}, damaged(at, "its table of %d subpartitions does not begin at %d", subpartitions, f.table)
	}
	return f, nil
}

// parseBlock checks a block at an offset, and gives its payload and the length of its records. b begins with the block, and may have
// more.
func parseBlock(b []byte, at int64) (payload []byte, raw int, err error) {
	if len(b) < blockHeader {
		return nil, 0, damaged(at, "a block is cut short")
	}
	stored, length := binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
	if stored == 0 || stored > length || length > MaxBlock || int(stored) > len(b)-blockHeader {
		return nil, 0, damaged(at, "a block of %d bytes, stored in %d, does not fit into %d", length, stored, len(b)-blockHeader)
	}
	end := blockHeader + int(stored)
	if binary.BigEndian.Uint64(b) != checkOf(at, b[8:end]) {
		return nil, 0, damaged(at, "the checksum of a block is wrong")
	}
	return b[blockHeader:end], int(length), nil
}

// damaged is ErrCorrupt at an offset.
func damaged(at int64, format string, args ...any) error {
	return fmt.Errorf("%w: at offset %d: %s", ErrCorrupt, at, fmt.Sprintf(format, args...))
}
