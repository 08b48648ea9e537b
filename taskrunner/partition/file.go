package partition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/s2"
)

// File is a partition that is open for reading. Any goroutine may use it, each with cursors and room of its own.
type File struct {
	file   *os.File
	footer footer
}

// Open opens a file that a Writer has finished, and checks its footer. The error is fs.ErrNotExist if it is not there, and ErrCorrupt if
// it is damaged.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open partition file: %w", err)
	}
	f := &File{file: file}
	if f.footer, err = readFooter(file); err != nil {
		file.Close()
		return nil, f.failed(err)
	}
	return f, nil
}

func readFooter(file *os.File) (footer, error) {
	info, err := file.Stat()
	if err != nil {
		return footer{}, err
	}
	at := info.Size() - footerSize
	if at < 0 {
		return footer{}, damaged(0, "it has only %d bytes", info.Size())
	}
	var b [footerSize]byte
	if _, err := file.ReadAt(b[:], at); err != nil {
		return footer{}, err
	}
	return parseFooter(b[:], at)
}

// Subpartitions is the number of subpartitions.
func (f *File) Subpartitions() int { return int(f.footer.subpartitions) }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// failed names the file.
func (f *File) failed(err error) error {
	if errors.Is(err, io.EOF) { // a task must not take it for the end of its input
		err = damaged(f.footer.table, "the file has become shorter")
	}
	return fmt.Errorf("read partition file %s: %w", f.file.Name(), err)
}

// Cursor is a place in a subpartition. It stays valid when its file is closed and opened again.
type Cursor struct {
	subpartition int
	region       uint32 // the next one
	at, end      int64  // of the blocks that are left in the current region
	raw          int64  // bytes of records in them
}

// Done tells whether the cursor is at the end of its subpartition.
func (c *Cursor) Done() bool { return c.at == c.end }

// Cursor gives a place at the start of a subpartition.
func (f *File) Cursor(subpartition int) (Cursor, error) {
	c := Cursor{subpartition: subpartition}
	if subpartition < 0 || subpartition >= f.Subpartitions() {
		return c, fmt.Errorf("read subpartition %d of partition file %s, which has %d: %w", subpartition, f.file.Name(), f.Subpartitions(), ErrCorrupt)
	}
	if err := f.advance(&c); err != nil {
		return c, f.failed(err)
	}
	return c, nil
}

// advance moves a cursor that has read a region to the next one that has records for it.
func (f *File) advance(c *Cursor) error {
	for c.Done() && c.region < f.footer.regions {
		r, err := f.run(c.region, c.subpartition)
		if err != nil {
			return err
		}
		c.region++
		c.at, c.end, c.raw = r.offset, r.offset+int64(r.stored), int64(r.raw)
	}
	return nil
}

// run looks up where a region has the blocks of a subpartition.
func (f *File) run(region uint32, subpartition int) (run, error) {
	var b [entrySize]byte
	at := f.footer.table + int64(region)*placeSize
	place := b[:placeSize]
	if _, err := f.file.ReadAt(place, at); err != nil {
		return run{}, err
	}
	fields, intact := readChecked(place, at)
	if !intact {
		return run{}, damaged(at, "the checksum of a place is wrong")
	}
	index := int64(binary.BigEndian.Uint64(fields))
	if index < 0 || index > f.footer.table-int64(f.footer.subpartitions)*entrySize {
		return run{}, damaged(at, "no index can begin at %d", index)
	}
	at = index + int64(subpartition)*entrySize
	if _, err := f.file.ReadAt(b[:], at); err != nil {
		return run{}, err
	}
	return parseRun(b[:], at, index)
}

// Room is memory for reading. Cursors of one goroutine share one.
type Room struct{ block [blockHeader + MaxBlock]byte }

// Read reads the next records of a subpartition into a buffer of at least MaxBlock bytes: one block, and the blocks of further regions
// as long as all of a region fits. It returns the number of bytes; io.EOF at the end of the subpartition. The error is ErrCorrupt if a
// block is damaged.
func (f *File) Read(c *Cursor, into []byte, room *Room) (n int, err error) {
	if c.Done() {
		return 0, io.EOF
	}
	for !c.Done() && (n == 0 || c.raw <= int64(len(into)-n)) {
		read, err := f.block(c, into[n:], room)
		if err != nil {
			return 0, f.failed(err)
		}
		n += read
		if err := f.advance(c); err != nil {
			return 0, f.failed(err)
		}
	}
	return n, nil
}

// block reads one block.
func (f *File) block(c *Cursor, into []byte, room *Room) (int, error) {
	b := room.block[:min(int64(len(room.block)), c.end-c.at)]
	if _, err := f.file.ReadAt(b, c.at); err != nil {
		return 0, err
	}
	payload, raw, err := parseBlock(b, c.at)
	if err != nil {
		return 0, err
	}
	if int64(raw) > c.raw {
		return 0, damaged(c.at, "a block has %d bytes of records, and its region only %d", raw, c.raw)
	}
	if len(payload) == raw {
		copy(into, payload)
	} else if length, err := s2.DecodedLen(payload); err != nil || length != raw {
		return 0, damaged(c.at, "a block has %d bytes of records, want %d", length, raw)
	} else if _, err := s2.Decode(into[:raw], payload); err != nil {
		return 0, damaged(c.at, "a block cannot be decompressed: %s", err)
	}
	c.at += blockHeader + int64(len(payload))
	c.raw -= int64(raw)
	if (c.at == c.end) != (c.raw == 0) {
		return 0, damaged(c.at, "the blocks of a region end, and %d bytes of its records are missing", c.raw)
	}
	return raw, nil
}
