// Package extsort sorts records that may be larger than memory, for sorting,
// grouping and joining in a task.
//
// A Sorter copies records into an arena. When its budget refuses more memory, it
// sorts the arena and writes it to a file: a run. At the end it merges the runs. If
// the budget is too small for the readers of all runs, or if there are too many runs,
// it first merges some of them into larger ones. Input that fits into the budget is
// never written.
//
// The memory is MinMemory, plus what the budget grants. Input and combined records of
// up to 32 KiB never exceed it. A larger record may. If the budget refuses memory for
// it, the Sorter still holds up to five of its size: the records of two runs, a record
// that is being combined, its result, and a key. Any record up to MaxRecord works with
// any budget.
//
// The work in files is bounded. If a merge takes k runs and there are n, each record
// is written at most 2+log(n)/log(k) times.
//
// The package has no goroutines. It imports nothing of Bobbin outside dataflow.
package extsort

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

const (
	// MinMemory is what a Sorter holds of its budget from New to Close, in bytes. It
	// is enough to write a run, and to merge two.
	MinMemory = 512 << 10
	// MaxFanIn is the largest number of runs in one merge. More would make a disk seek
	// for each block of 64 KiB. If a merge takes k runs and the input made n, there are
	// at most 2k(1+log(n)/log(k)) open files.
	MaxFanIn = 128
	// MaxRecord bounds the length of key and value together, in bytes.
	MaxRecord = spill.MaxRecord - binary.MaxVarintLen32
)

// ErrNoMemory says that the budget refuses MinMemory.
var ErrNoMemory = errors.New("no memory to sort with: raise taskmanager.memory.managed.fraction or " +
	"taskmanager.memory.process.size, or use fewer slots")

// Config is what a Sorter works with.
type Config struct {
	Budget Budget
	// Dirs are for the files.
	Dirs *spill.Dirs
	// Combiner leaves one record for each key, if it is not nil.
	Combiner Combiner
}

// Sorter sorts records by bytes.Compare of their keys. Records with the same key come
// in any order. It belongs to one goroutine. Its calls are Add for each record, Sort
// once, and Close at any time. After an error, only Close is left.
type Sorter struct {
	account  account
	arena    arena
	dirs     *spill.Dirs
	combiner Combiner
	current  *buffer       // the record that the Combiner makes
	last     *buffer       // the key that was read last
	writer   *spill.Writer // nil until there is a run
	runs     []run
	fanIn    int // MaxFanIn, but for tests
	spilled  int64
}

// New makes a Sorter. Its error is ErrNoMemory if the budget refuses MinMemory.
func New(c Config) (*Sorter, error) {
	s := &Sorter{account: account{budget: c.Budget, floor: MinMemory}, dirs: c.Dirs, combiner: c.Combiner, fanIn: MaxFanIn}
	s.arena.account = &s.account
	if !s.account.open() {
		return nil, fmt.Errorf("%w: %d bytes are needed", ErrNoMemory, MinMemory)
	}
	s.account.force(spill.WriterMemory())
	s.current, s.last = newBuffer(&s.account), newBuffer(&s.account)
	return s, nil
}

// Add copies a record. It may write a run, and merge some. Then it checks ctx, whose
// cause is an error. A record above MaxRecord gives spill.ErrTooLarge.
func (s *Sorter) Add(ctx context.Context, key, value []byte) error {
	if err := checkSize(key, value); err != nil {
		return err
	}
	if s.arena.add(key, value) {
		return nil
	}
	if err := s.spill(ctx); err != nil {
		return err
	}
	if s.arena.add(key, value) {
		return nil
	}
	s.arena.release() // pages that are too small for this record
	if s.arena.add(key, value) {
		return nil
	}
	head := binary.AppendUvarint(nil, uint64(len(key)))
	if err := s.addRun(0, func() error { return s.writer.Append(head, key, value) }); err != nil {
		return err
	}
	return s.mergeFull(ctx)
}

func checkSize(key, value []byte) error {
	if len(key)+len(value) > MaxRecord {
		return fmt.Errorf("sort: %w: its key has %d bytes, its value %d", spill.ErrTooLarge, len(key), len(value))
	}
	return nil
}

// Sort ends the input.
func (s *Sorter) Sort(ctx context.Context) (*Sorted, error) {
	if len(s.runs) == 0 {
		s.arena.sort()
		return s.output(&resident{arena: &s.arena}), nil
	}
	if err := s.spill(ctx); err != nil {
		return nil, err
	}
	s.arena.release()
	for {
		slices.SortFunc(s.runs, func(a, b run) int { return cmp.Compare(a.Size(), b.Size()) })
		all := len(s.runs)
		fit, memory := s.fit(s.runs)
		if fit == all {
			return s.output(newMerge(s.runs)), nil // Close gives the memory back
		}
		s.account.give(memory)
		if err := s.merge(ctx, 0, min(fit, all-fit+1)); err != nil {
			return nil, err
		}
	}
}

// Spilled is the number of bytes written to files.
func (s *Sorter) Spilled() int64 { return s.spilled }

// Close removes the files and gives all memory back. More calls do nothing.
func (s *Sorter) Close() error {
	err := closeRuns(s.runs)
	s.runs, s.writer = nil, nil
	s.arena.release()
	s.account.close()
	return err
}

func (s *Sorter) output(in stream) *Sorted {
	return &Sorted{in: s.combined(in), last: s.last}
}

func (s *Sorter) combined(in stream) stream {
	if s.combiner == nil {
		return in
	}
	return &combining{in: in, combiner: s.combiner, current: s.current}
}
