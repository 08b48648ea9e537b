package spill

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/operator/packing"
)

// Appenders are writers of several files at once, to which records come in any order, such as the partitions of a hash join. They
// share the memory that compresses a block. All of them belong to one goroutine.
type Appenders struct {
	dirs   *Dirs
	packer *packing.Packer
}

// NewAppenders allocates the memory that appenders share.
func (d *Dirs) NewAppenders() *Appenders { return &Appenders{d, d.newPacker()} }

// AppendersMemory is the most memory of Appenders, in bytes, without that of each Appender.
func AppendersMemory() int64 { return packing.Memory(headerSize, BlockSize) }

// AppenderMemory is the memory of one Appender until Finish, in bytes.
const AppenderMemory = headerSize + BlockSize

// Appender writes records as they come. If a file cannot be written any more, the Appender goes on in a new one, in the next
// directory. The records in the first file stay there.
type Appender struct {
	shared  *Appenders
	block   []byte // the header and the records of the current block
	records int64  // in the current block
	longest int    // likewise
	runs    Runs   // the last one is being written
	dir     int    // of the last one
}

// New makes an appender, which has no file yet.
func (a *Appenders) New() *Appender { return &Appender{shared: a, block: newBlock()} }

// Append adds a record, whose bytes are those of parts. It copies them. The errors are ErrTooLarge, and ErrWrite with the cause of
// each directory. After an error, only Close is left.
func (a *Appender) Append(parts ...[]byte) error {
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	if length > MaxRecord {
		return fmt.Errorf("%w: it has %d bytes", ErrTooLarge, length)
	}
	if UvarintLen(length)+length > cap(a.block)-len(a.block) {
		if err := a.flush(); err != nil {
			return err
		}
		if spans(length) {
			return a.write(func(r *Run) error { return a.long(r, length, parts) })
		}
	}
	a.records++
	a.longest = max(a.longest, length)
	a.block = binary.AppendUvarint(a.block, uint64(length))
	for _, part := range parts {
		a.block = append(a.block, part...)
	}
	return nil
}

// Finish ends the writing, and returns the files in the order of the records. They belong to the caller.
func (a *Appender) Finish() (Runs, error) {
	if err := a.flush(); err != nil {
		return nil, err
	}
	runs := a.runs
	a.runs, a.block = nil, nil
	return runs, nil
}

// Close removes the files of an appender that was not finished.
func (a *Appender) Close() error { return a.runs.Close() }

// flush writes the current block, if it has records, and begins the next one.
func (a *Appender) flush() error {
	if a.records == 0 {
		return nil
	}
	err := a.write(func(r *Run) error { return a.store(r) })
	a.block, a.records, a.longest = a.block[:headerSize], 0, 0
	return err
}

// store writes the current block.
func (a *Appender) store(r *Run) error {
	if err := a.shared.dirs.store(r, a.block, a.shared.packer); err != nil {
		return err
	}
	r.records += a.records
	r.longest = max(r.longest, a.longest)
	return nil
}

// long writes a record that exceeds a block.
func (a *Appender) long(r *Run, length int, parts [][]byte) error {
	block := binary.AppendUvarint(a.block[:headerSize], uint64(length))
	for _, part := range parts {
		for len(part) > 0 {
			if len(block) == cap(block) {
				if err := a.shared.dirs.store(r, block, a.shared.packer); err != nil {
					return err
				}
				block = block[:headerSize]
			}
			n := min(len(part), cap(block)-len(block))
			block = append(block, part[:n]...)
			part = part[n:]
		}
	}
	if err := a.shared.dirs.store(r, block, a.shared.packer); err != nil {
		return err
	}
	r.records++
	r.longest = max(r.longest, length)
	return nil
}

// write writes to the current file, or else to a new one in the next directory that takes it.
func (a *Appender) write(to func(*Run) error) error {
	dirs, causes := a.shared.dirs, []error{ErrWrite}
	if last := len(a.runs) - 1; last >= 0 {
		err := a.runs[last].attempt(to)
		if err == nil {
			return nil
		}
		dirs.result(a.dir, err)
		causes = append(causes, err)
	}
	for _, dir := range dirs.order() {
		r, err := dirs.create(dir)
		if err == nil {
			a.runs, a.dir = append(a.runs, r), dir
			err = r.attempt(to)
		}
		dirs.result(dir, err)
		if err == nil {
			return nil
		}
		causes = append(causes, err)
	}
	if len(causes) == 1 {
		return fmt.Errorf("%w: the worker has no local directory", ErrWrite)
	}
	return errors.Join(causes...)
}

// attempt writes to a run. After an error the run has the size of before.
func (r *Run) attempt(to func(*Run) error) error {
	size := r.size
	err := to(r)
	if err != nil {
		r.size = size
	}
	return err
}
