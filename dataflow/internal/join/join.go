// Package join joins two inputs of records by their keys, in bounded memory.
//
// Hash is a hybrid hash join. It divides the records of its build side into
// partitions, and keeps them in memory. When memory is full, the largest partition
// goes to a file, and so do its later records. Then each record of the probe side
// looks for its partners. If their partition is in a file, the record goes to a file
// beside it. At the end, each pair of files is joined in the same way, with another
// hash function. If a hash cannot divide a partition, because most of it has one key,
// Merge joins it.
//
// Merge is a sort-merge join. It sorts both sides together, so that for each key the
// build side comes first. The build records of a key are held in memory. If there are
// too many, both sides of this key go to files, and for each part of the build side
// that fits into memory, the probe side is read once.
//
// So any key may exceed memory on both sides. The memory is MinMemory, plus what the
// budget grants. Larger records than about a tenth of it are added: up to five of them,
// as in package extsort.
//
// The package has no goroutines. It imports nothing of Bobbin outside dataflow.
package join

import (
	"context"
	"encoding/binary"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// MinMemory is what a join holds in any case, in bytes. Its budget must grant it.
const MinMemory = 1 << 20

// Side is one of the two inputs.
type Side int

const (
	// Build is the side that memory should hold: the smaller one.
	Build Side = iota
	// Probe is the other one.
	Probe
)

// Config is what a join works with.
type Config struct {
	// Budget is the memory of the join. Nobody else uses it.
	Budget Budget
	// Dirs are for the files.
	Dirs *spill.Dirs
	// Outer says for each side whether the records without a partner are part of the result.
	Outer [2]bool
	// Output takes the result.
	Output Output
}

// Budget is the memory that a join may use.
type Budget interface {
	extsort.Budget
	// Share is what the join may count on getting, in bytes.
	Share() int64
}

// Output takes the result of a join, in no defined order. An error ends the join, and is returned as it is. The values are valid
// during the call, and must not be changed.
type Output interface {
	// Match takes a pair of records with the same key. again says that probe is that of the call before.
	Match(build, probe []byte, again bool) error
	// Alone takes a record whose key the other side does not have.
	Alone(side Side, value []byte) error
}

// Join is a Hash or a Merge. It belongs to one goroutine. Its calls are Add for each record, End for each side, Step until it returns
// false, and Close at any time. A Hash takes all of the build side first. After an error, only Close is left.
type Join interface {
	Add(ctx context.Context, side Side, key, value []byte) error
	End(ctx context.Context, side Side) error
	Step(ctx context.Context) (more bool, err error)
	// Spilled is the number of bytes written to files.
	Spilled() int64
	// Close removes the files, and gives the memory back. More calls do nothing.
	Close() error
}

// New makes a Hash or a Merge. The error is extsort.ErrNoMemory if the budget does not grant MinMemory.
func New(hash bool, c Config) (Join, error) {
	if hash {
		h, err := NewHash(c)
		if err != nil {
			return nil, err
		}
		return h, nil
	}
	m, err := NewMerge(c)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// burst is the number of records between two looks at a context.
const burst = 1 << 10

// splitRecord takes a record of a file apart: the length of the key as a uvarint, the key, the value.
func splitRecord(record []byte) (key, value []byte, ok bool) {
	length, n := binary.Uvarint(record)
	if n <= 0 || length > uint64(len(record)-n) {
		return nil, nil, false
	}
	end := n + int(length)
	return record[n:end], record[end:], true
}
