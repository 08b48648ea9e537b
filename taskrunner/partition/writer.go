package partition

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// ErrRecordTooLarge says that a record exceeds MaxRecord.
var ErrRecordTooLarge = errors.New("record exceeds 128 MiB")

// Config is what a Writer needs to know.
type Config struct {
	// Path is that of the file. Create makes the file's directory and the one above it, if something has removed them. All above
	// must exist: a missing disk is not replaced by a directory on another one.
	Path          string
	Subpartitions int // at least 1
	// Memory bounds the memory for records that are not sorted yet, in bytes; at least 96 KiB are used. A writer needs 288 KiB and
	// 36 bytes for each subpartition beside it. With one subpartition it uses no memory for records.
	Memory   int
	Compress bool // compress blocks that S2 makes smaller by an eighth
}

// Written says what a file has.
type Written struct {
	Records int64
	Bytes   int64 // of the file
}

// maxRegion is the size from which a region of a single subpartition ends, in bytes of records.
const maxRegion = 1 << 30

// Writer writes the file of a partition. One goroutine at a time may use it. After an error, only Abort is of use.
type Writer struct {
	config Config
	blocks *blocks
	sorter *sorter // nil: one subpartition, whose records are never collected
	runs   []run   // of the last region
	spans  []span  // of the indexes of all regions
	start  int64   // of the region that is being written
	raw    int64   // bytes of records before it

	records int64
}

// span is a part of the file.
type span struct{ at, end int64 }

// Create makes the file. A file that is there, which an earlier process has left, is replaced.
func Create(c Config) (*Writer, error) {
	if c.Subpartitions < 1 || c.Subpartitions > math.MaxInt32 {
		return nil, fmt.Errorf("create partition file %s: it would have %d subpartitions", c.Path, c.Subpartitions)
	}
	file, err := create(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeDirs(filepath.Dir(c.Path)); err == nil {
			file, err = create(c.Path)
		}
	}
	if err != nil {
		return nil, unwritable(c.Path, err)
	}
	w := &Writer{config: c, blocks: newBlocks(file, c.Compress), runs: make([]run, c.Subpartitions)}
	if c.Subpartitions > 1 {
		w.sorter = newSorter(c.Subpartitions, c.Memory)
	}
	return w, nil
}

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// makeDirs makes a directory and the one above it.
func makeDirs(dir string) error {
	for _, missing := range []string{filepath.Dir(dir), dir} {
		if err := os.Mkdir(missing, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// Append adds a copy of a record to a subpartition. If memory is full, it first writes what is there.
func (w *Writer) Append(subpartition int, record []byte) error {
	if len(record) > MaxRecord {
		return fmt.Errorf("write record of %d bytes to partition file %s: %w", len(record), w.config.Path, ErrRecordTooLarge)
	}
	if err := w.append(subpartition, record); err != nil {
		return unwritable(w.config.Path, err)
	}
	w.records++
	return nil
}

func (w *Writer) append(subpartition int, record []byte) error {
	if w.sorter == nil {
		if err := w.blocks.record(record); err != nil || w.blocks.raw-w.raw < maxRegion {
			return err
		}
		return w.region(func(int) error { return nil })
	}
	if w.sorter.add(subpartition, record) {
		return nil
	}
	if err := w.sorted(); err != nil || w.sorter.add(subpartition, record) {
		return err
	}
	return w.region(func(s int) error { // the record is larger than the memory
		if s != subpartition {
			return nil
		}
		return w.blocks.record(record)
	})
}

// sorted writes the collected records as a region.
func (w *Writer) sorted() error {
	if w.sorter.count == 0 {
		return nil
	}
	w.sorter.sort()
	if err := w.region(func(s int) error { return w.sorter.copyTo(w.blocks, s) }); err != nil {
		return err
	}
	w.sorter.reset()
	return nil
}

// region writes a region with its index. fill appends the records of a subpartition that the file does not have yet.
func (w *Writer) region(fill func(subpartition int) error) error {
	b := w.blocks
	start, raw := w.start, w.raw
	for s := range w.runs {
		if err := fill(s); err != nil {
			return err
		}
		b.seal()
		w.runs[s] = run{offset: start, stored: uint32(b.at() - start), raw: uint32(b.raw - raw), subpartition: s}
		start, raw = b.at(), b.raw
	}
	index := span{at: b.at()}
	for _, r := range w.runs {
		if r.stored == 0 {
			continue
		}
		if err := b.room(entrySize); err != nil {
			return err
		}
		b.out = r.append(b.out, b.at())
	}
	index.end = b.at()
	w.spans = append(w.spans, index)
	w.start, w.raw = b.at(), b.raw
	return nil
}

// Finish writes what is left, and closes the file.
func (w *Writer) Finish() (Written, error) {
	err := w.finish()
	if err = errors.Join(err, w.blocks.file.Close()); err != nil {
		return Written{}, unwritable(w.config.Path, err)
	}
	written := Written{Records: w.records, Bytes: w.blocks.at()}
	w.sorter, w.blocks.out, w.blocks.packer, w.runs = nil, nil, nil, nil // the task may go on for long
	return written, nil
}

func (w *Writer) finish() error {
	b := w.blocks
	last := w.sorted
	if w.sorter == nil {
		last = func() error { return w.region(func(int) error { return nil }) }
	}
	if err := last(); err != nil {
		return err
	}
	w.sorter = nil // its memory is free for link
	next, err := w.link()
	if err != nil {
		return err
	}
	table := b.at()
	for _, place := range next {
		if err := b.checked(uint64(place)); err != nil {
			return err
		}
	}
	f := footer{subpartitions: uint32(len(w.runs)), table: table, records: w.records, bytes: b.raw}
	if err := b.checked(f.fields()...); err != nil {
		return err
	}
	return b.flush()
}

// link makes each entry of the indexes name the next one of its subpartition. It goes through them from the last to the first, and
// returns the first entry of each subpartition.
func (w *Writer) link() (next []int64, err error) {
	b := w.blocks
	if err := b.flush(); err != nil {
		return nil, err
	}
	next = make([]int64, len(w.runs))
	chunk := b.out[:outBytes/entrySize*entrySize] // flush has emptied it
	for i, index := range slices.Backward(w.spans) {
		for at := index.at; at < index.end; at += int64(len(chunk)) {
			part := chunk[:min(int64(len(chunk)), index.end-at)]
			if err := w.linkPart(part, at, next, i < len(w.spans)-1); err != nil {
				return nil, err
			}
		}
	}
	return next, nil
}

// linkPart links the entries of a part of an index.
func (w *Writer) linkPart(part []byte, at int64, next []int64, follows bool) error {
	if _, err := w.blocks.file.ReadAt(part, at); err != nil {
		return err
	}
	for i := 0; i < len(part); i += entrySize {
		place := at + int64(i)
		r, err := parseRun(part[i:i+entrySize], place)
		if err != nil {
			return err
		}
		r.next, next[r.subpartition] = next[r.subpartition], place
		r.append(part[:i], place)
	}
	if !follows { // nothing has changed
		return nil
	}
	_, err := w.blocks.file.WriteAt(part, at)
	return err
}

// Abort closes and removes the file. It may be called after Finish, and more than once.
func (w *Writer) Abort() error {
	err := w.blocks.file.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	if removed := os.Remove(w.config.Path); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return fmt.Errorf("remove partition file: %w", err)
	}
	return nil
}

// unwritable explains why a file cannot be written. The error of the file names it.
func unwritable(path string, err error) error {
	remedy := "the next attempt uses another disk, if the worker has one"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		remedy = "free space on this disk, or give the workers more disks (yarn.nodemanager.local-dirs)"
	}
	return fmt.Errorf("write partition file in %s: %w; %s", filepath.Dir(path), err, remedy)
}
