package spill

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Compression says how blocks are stored.
type Compression int

const (
	// S2 compresses each block that gets an eighth smaller by it.
	S2 Compression = iota
	// None stores the records as they are.
	None
)

// Dirs are the directories of spill files. New files go to them in turn. A
// directory in which a file could not be written comes last, until a file succeeds
// there. Several goroutines may use a Dirs at the same time.
type Dirs struct {
	fs          FS
	compression Compression
	paths       []string
	spilled     atomic.Int64

	mu     sync.Mutex // guards next and failed
	next   int
	failed []bool // by the index in paths
}

// NewDirs uses these directories. They must exist.
func NewDirs(fs FS, c Compression, paths ...string) *Dirs {
	return &Dirs{fs: fs, compression: c, paths: slices.Clone(paths), failed: make([]bool, len(paths))}
}

// Spilled is the number of bytes written to files since the start.
func (d *Dirs) Spilled() int64 { return d.spilled.Load() }

// order returns the indexes of all directories, the best one for a new file first.
func (d *Dirs) order() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	good, bad := make([]int, 0, len(d.paths)), []int(nil)
	for i := range d.paths {
		at := (d.next + i) % len(d.paths)
		if d.failed[at] {
			bad = append(bad, at)
		} else {
			good = append(good, at)
		}
	}
	d.next++
	return append(good, bad...)
}

// result notes whether a file could be written in a directory.
func (d *Dirs) result(dir int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed[dir] = err != nil
}
