// Package spilltest is a disk in memory for tests of spill files, with faults.
//
// The package has no goroutines. It imports nothing of Bobbin outside dataflow.
package spilltest

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// Disk is a spill.FS. The zero value is empty, takes all directories and has no
// faults. Several goroutines may use it.
type Disk struct {
	// Fault decides about each operation, before it: create, write, read or close. Its
	// error becomes the operation's. A write that fails writes half of its bytes. A
	// close that fails closes the file nevertheless. Nil: nothing fails.
	Fault func(operation, dir string) error

	mu   sync.Mutex // guards all below
	made int
	open map[*file]bool
	peak int
}

// errClosed says that a file is used after its end.
var errClosed = errors.New("file is closed")

// Create makes a file.
func (d *Disk) Create(dir string) (spill.File, error) {
	if err := d.fault("create", dir); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made++
	f := &file{disk: d, dir: dir, name: fmt.Sprintf("%s/spill-%d", dir, d.made)}
	if d.open == nil {
		d.open = map[*file]bool{}
	}
	d.open[f] = true
	d.peak = max(d.peak, len(d.open))
	return f, nil
}

// Open is the number of files.
func (d *Disk) Open() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open)
}

// Peak is the largest number of files so far.
func (d *Disk) Peak() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.peak
}

// Edit lets change replace the content of all files that are not empty.
func (d *Disk) Edit(change func(content []byte) []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for f := range d.open {
		if len(f.content) > 0 {
			f.content = change(f.content)
		}
	}
}

func (d *Disk) fault(operation, dir string) error {
	if d.Fault == nil {
		return nil
	}
	return d.Fault(operation, dir)
}

type file struct {
	disk      *Disk
	dir, name string
	content   []byte // disk.mu guards it
}

func (f *file) Name() string { return f.name }

func (f *file) Write(b []byte) (int, error) {
	err := f.disk.fault("write", f.dir)
	if err != nil {
		b = b[:len(b)/2]
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if !f.disk.open[f] {
		return 0, errClosed
	}
	f.content = append(f.content, b...)
	return len(b), err
}

func (f *file) ReadAt(b []byte, offset int64) (int, error) {
	if err := f.disk.fault("read", f.dir); err != nil {
		return 0, err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if !f.disk.open[f] {
		return 0, errClosed
	}
	n := copy(b, f.content[min(offset, int64(len(f.content))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Close() error {
	err := f.disk.fault("close", f.dir)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if !f.disk.open[f] {
		return errClosed
	}
	delete(f.disk.open, f)
	return err
}
