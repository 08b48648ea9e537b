package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/bobbin-yarn/bobbin/dataflow/operator/packing"
)

// Writer writes runs, one after the other, with the same buffers. It belongs to one
// goroutine.
type Writer struct {
	dirs   *Dirs
	block  []byte // the header and the records of the current block
	packer *packing.Packer
	run    *Run  // the one being written
	failed error // of run's file
}

// NewWriter makes a writer. It allocates all its memory.
func (d *Dirs) NewWriter() *Writer {
	return &Writer{dirs: d, block: newBlock(), packer: d.newPacker()}
}

func newBlock() []byte { return make([]byte, headerSize, headerSize+BlockSize) }

// newPacker makes what compresses blocks, if they are compressed. It leaves room for their headers.
func (d *Dirs) newPacker() *packing.Packer {
	if d.compression != S2 {
		return nil
	}
	return packing.New(headerSize, BlockSize)
}

// WriterMemory is the most memory of a Writer, in bytes.
func WriterMemory() int64 {
	return headerSize + BlockSize + packing.Memory(headerSize, BlockSize)
}

// Write writes a run of the records that fill appends. The run is not empty if fill
// has appended a record. If a file cannot be written, Write begins again in the next
// directory and calls fill once more. If no directory is left, the error is ErrWrite
// with the cause of each. An error of fill ends Write and is returned as it is.
func (w *Writer) Write(fill func() error) (*Run, error) {
	causes := []error{ErrWrite}
	for _, dir := range w.dirs.order() {
		run, err := w.writeIn(dir, fill)
		if err != nil && w.failed == nil {
			return nil, err
		}
		w.dirs.result(dir, err)
		if err == nil {
			return run, nil
		}
		causes = append(causes, w.failed)
	}
	if len(causes) == 1 {
		return nil, fmt.Errorf("%w: the worker has no local directory", ErrWrite)
	}
	return nil, errors.Join(causes...)
}

func (w *Writer) writeIn(dir int, fill func() error) (_ *Run, err error) {
	w.block = w.block[:headerSize]
	w.run, w.failed = w.dirs.create(dir)
	if w.failed != nil {
		return nil, w.failed
	}
	whole := false
	defer func() { // also after a panic of user code in fill
		if !whole {
			err = errors.Join(err, w.run.file.Close())
		}
	}()
	if err = fill(); err == nil {
		err = w.flush()
	}
	if err != nil {
		return nil, err
	}
	whole = true
	return w.run, nil
}

// create makes a run in a directory.
func (d *Dirs) create(dir int) (*Run, error) {
	file, err := d.fs.Create(d.paths[dir])
	if err != nil {
		return nil, fmt.Errorf("create spill file in %s: %w", d.paths[dir], err)
	}
	return &Run{file: file}, nil
}

// Append adds a record, whose bytes are those of parts. Only fill may call it. It
// copies the parts. After an error of the file it does nothing, and returns that
// error again.
func (w *Writer) Append(parts ...[]byte) error {
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	if length > MaxRecord {
		return fmt.Errorf("%w: it has %d bytes", ErrTooLarge, length)
	}
	if UvarintLen(length)+length > cap(w.block)-len(w.block) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.run.records++
	w.run.longest = max(w.run.longest, length)
	w.block = binary.AppendUvarint(w.block, uint64(length))
	for _, part := range parts {
		for len(part) > cap(w.block)-len(w.block) {
			room := cap(w.block) - len(w.block)
			w.block = append(w.block, part[:room]...)
			part = part[room:]
			if err := w.flush(); err != nil {
				return err
			}
		}
		w.block = append(w.block, part...)
	}
	return nil
}

// flush writes the current block, if it has records, and begins the next one.
func (w *Writer) flush() error {
	if len(w.block) == headerSize || w.failed != nil {
		return w.failed
	}
	w.failed = w.dirs.store(w.run, w.block, w.packer)
	w.block = w.block[:headerSize]
	return w.failed
}

// store appends a block to a run.
func (d *Dirs) store(run *Run, block []byte, packer *packing.Packer) error {
	raw := len(block) - headerSize
	if packed := packer.Pack(block[headerSize:]); packed != nil {
		block = packed
	}
	seal(block, raw, run.size)
	n, err := run.file.Write(block)
	run.size += int64(n)
	d.spilled.Add(int64(n))
	if err != nil {
		return fmt.Errorf("write spill file %s: %w", run.file.Name(), err)
	}
	return nil
}

// spans reports whether a record of this length exceeds a block.
func spans(length int) bool { return UvarintLen(length)+length > BlockSize }

// UvarintLen is the length of n, which is not negative, as a uvarint, in bytes.
func UvarintLen(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }
