package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
)

// Run is a file that is completely written. Several readers may read it, in one
// goroutine or in several.
type Run struct {
	file    File
	size    int64 // of the file, in bytes
	records int64
	longest int // record, in bytes
}

// Size is the size of the file in bytes.
func (r *Run) Size() int64 { return r.size }

// Records is the number of records.
func (r *Run) Records() int64 { return r.records }

// Longest is the length of the longest record in bytes.
func (r *Run) Longest() int { return r.longest }

// Close removes the file. No reader may read it any more.
func (r *Run) Close() error {
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close spill file %s: %w", r.file.Name(), err)
	}
	return nil
}

// ReaderMemory is the most memory that one of the run's readers holds, in bytes. It
// is about two blocks. If the longest record exceeds a block, its length is added.
func (r *Run) ReaderMemory() int64 {
	n := int64(headerSize + 2*BlockSize)
	if spans(r.longest) {
		n += int64(r.longest)
	}
	return n
}

// Reader reads the records of a run in their order. It checks all that it reads. It
// belongs to one goroutine, and needs no Close.
type Reader struct {
	run    *Run
	frame  []byte // the block as it is stored
	raw    []byte // memory for a decompressed block; nil until there is one
	rest   []byte // of the current block, not yet read
	long   []byte // memory for records that exceed a block; nil until there is one
	start  int64  // of the current block in the file
	offset int64  // of the next block in the file
	read   int64  // records
}

// Open makes a reader at the first record.
func (r *Run) Open() *Reader {
	return &Reader{run: r, frame: make([]byte, headerSize+BlockSize)}
}

// Next returns the next record, which is valid until the next call, and which the
// caller may change. At the end the error is io.EOF. A file that is not as it was
// written gives ErrCorrupt, with the file and the offset of the block.
func (r *Reader) Next() ([]byte, error) {
	if len(r.rest) == 0 {
		if r.offset == r.run.size {
			return nil, r.end()
		}
		if err := r.block(); err != nil {
			return nil, err
		}
	}
	length, n := binary.Uvarint(r.rest)
	if n <= 0 || length > uint64(r.run.longest) {
		return nil, r.corrupt("a record has an impossible length")
	}
	r.read++
	r.rest = r.rest[n:]
	if int(length) > len(r.rest) {
		return r.assemble(int(length))
	}
	record := r.rest[:length:length]
	r.rest = r.rest[length:]
	return record, nil
}

// Corrupt returns an error for the record that Next returned last. A caller uses it
// if the content of a record is impossible.
func (r *Reader) Corrupt(why string) error { return r.corrupt(why) }

func (r *Reader) end() error {
	if r.read != r.run.records {
		return r.corrupt(fmt.Sprintf("it has %d records instead of %d", r.read, r.run.records))
	}
	return io.EOF
}

// assemble returns a record that continues in the next blocks.
func (r *Reader) assemble(length int) ([]byte, error) {
	if !spans(r.run.longest) {
		return nil, r.corrupt("a record ends outside its block")
	}
	if r.long == nil {
		r.long = make([]byte, 0, r.run.longest) // not a number from the file
	}
	r.long = append(r.long[:0], r.rest...)
	for len(r.long) < length {
		if r.offset == r.run.size {
			return nil, r.corrupt("the last record is incomplete")
		}
		if err := r.block(); err != nil {
			return nil, err
		}
		n := min(len(r.rest), length-len(r.long))
		r.long = append(r.long, r.rest[:n]...)
		r.rest = r.rest[n:]
	}
	return r.long, nil
}

// block reads and checks the next block.
func (r *Reader) block() error {
	r.start = r.offset
	if err := r.fill(r.frame[:headerSize]); err != nil {
		return err
	}
	h := parseHeader(r.frame)
	if h.raw == 0 || h.raw > BlockSize || h.stored == 0 || h.stored > h.raw {
		return r.corrupt("a block has an impossible length")
	}
	end := headerSize + int(h.stored)
	if err := r.fill(r.frame[headerSize:end]); err != nil {
		return err
	}
	if checksum(r.frame[:end], r.start) != h.sum {
		return r.corrupt("the checksum is wrong")
	}
	r.rest = r.frame[headerSize:end]
	if h.stored < h.raw {
		return r.decompress(int(h.raw))
	}
	return nil
}

func (r *Reader) decompress(length int) error {
	if n, err := s2.DecodedLen(r.rest); err != nil || n != length {
		return r.corrupt("the length of a compressed block is wrong")
	}
	if r.raw == nil {
		r.raw = make([]byte, BlockSize)
	}
	raw, err := s2.Decode(r.raw, r.rest)
	if err != nil {
		return r.corrupt(err.Error())
	}
	r.rest = raw
	return nil
}

// fill reads the file's next bytes.
func (r *Reader) fill(b []byte) error {
	if int64(len(b)) > r.run.size-r.offset {
		return r.corrupt("the last block is incomplete")
	}
	n, err := r.run.file.ReadAt(b, r.offset)
	switch {
	case n == len(b):
		r.offset += int64(n)
		return nil
	case errors.Is(err, io.EOF):
		return r.corrupt(fmt.Sprintf("it has less than the %d bytes written", r.run.size))
	default:
		return fmt.Errorf("read spill file %s: %w", r.run.file.Name(), err)
	}
}

func (r *Reader) corrupt(why string) error {
	return fmt.Errorf("%w: %s, block at byte %d: %s", ErrCorrupt, r.run.file.Name(), r.start, why)
}
