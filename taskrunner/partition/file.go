package partition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/klauspost/compress/s2"
)

// File is a partition that is open for reading. Any goroutine may use it, each with cursors and room of its own.
type File struct {
	file   disk
	footer footer
}

// disk is what a File needs of an os.File.
type disk interface {
	io.ReaderAt
	io.Closer
	Name() string
}

// Open opens a file that a Writer has finished, and checks its footer. The error is fs.ErrNotExist if it is not there, and ErrCorrupt if
// it is damaged. Code of the job can write in its directory: a link, or a named pipe, whose open would wait for ever, is ErrCorrupt, too.
func Open(path string) (*File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("open partition file %s: %w: it is a link", path, ErrCorrupt)
	}
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
	if !info.Mode().IsRegular() {
		return footer{}, damaged(0, "it is no regular file: %s", info.Mode())
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
	at, end      int64 // of the blocks that are left in the current region
	raw          int64 // bytes of records in them
	next         int64 // the place of the next region's blocks; 0: none follows
}

// Done tells whether the cursor is at the end of its subpartition.
func (c *Cursor) Done() bool { return c.at == c.end }

// Cursor gives a place at the start of a subpartition.
func (f *File) Cursor(subpartition int) (Cursor, error) {
	c := Cursor{subpartition: subpartition}
	if subpartition < 0 || subpartition >= f.Subpartitions() {
		return c, fmt.Errorf("read subpartition %d of partition file %s, which has %d: %w", subpartition, f.file.Name(), f.Subpartitions(), ErrCorrupt)
	}
	var err error
	var room [entrySize]byte
	if c.next, err = f.first(subpartition, room[:placeSize]); err == nil {
		err = f.advance(&c, room[:])
	}
	if err != nil {
		return c, f.failed(err)
	}
	return c, nil
}

// first looks up the first entry of a subpartition.
func (f *File) first(subpartition int, room []byte) (next int64, err error) {
	at := f.footer.table + int64(subpartition)*placeSize
	if _, err := f.file.ReadAt(room, at); err != nil {
		return 0, err
	}
	fields, intact := readChecked(room, at)
	if !intact {
		return 0, damaged(at, "the checksum of a place is wrong")
	}
	return int64(binary.BigEndian.Uint64(fields)), nil
}

// advance moves a cursor that has read a region to the next one that has records for it. It looks at no other region.
func (f *File) advance(c *Cursor, room []byte) error {
	if !c.Done() || c.next == 0 {
		return nil
	}
	at := c.next
	if at < 0 || at > f.footer.table-entrySize {
		return damaged(at, "no index is there")
	}
	if _, err := f.file.ReadAt(room, at); err != nil {
		return err
	}
	r, err := parseRun(room, at)
	if err != nil {
		return err
	}
	if r.subpartition != c.subpartition {
		return damaged(at, "the place of subpartition %d stands for subpartition %d", r.subpartition, c.subpartition)
	}
	c.at, c.end, c.raw, c.next = r.offset, r.offset+int64(r.stored), int64(r.raw), r.next
	return nil
}

// Room is memory for reading. Cursors of one goroutine share one.
type Room struct{ block [blockHeader + MaxBlock]byte }

// Read reads the next records of a subpartition into a buffer of at least MaxBlock bytes: one block, and the blocks of further regions
// as long as all of a region fits. It returns the number of bytes; io.EOF at the end of the subpartition. The error is ErrCorrupt if a
// block is damaged. After an error the cursor is where it was, so the caller may try again.
func (f *File) Read(c *Cursor, into []byte, room *Room) (n int, err error) {
	if c.Done() {
		return 0, io.EOF
	}
	next := *c
	for !next.Done() && (n == 0 || next.raw <= int64(len(into)-n)) {
		read, err := f.block(&next, into[n:], room)
		if err != nil {
			return 0, f.failed(err)
		}
		n += read
		if err := f.advance(&next, room.block[:entrySize]); err != nil {
			return 0, f.failed(err)
		}
	}
	*c = next
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
