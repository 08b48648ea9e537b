package dataflow

import (
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
)

// sortedInput sorts the encoded pairs of one input by their keys. When memory is full, it goes on in files.
type sortedInput struct {
	caller
	spilled *spillCounter // of all inputs of the operator
	told    int64         // the part of this input
	memory  *budget
	sorter  *extsort.Sorter
	sorted  *extsort.Sorted // when the input has ended
}

// open opens memory that may always hold least bytes.
func (s *sortedInput) open(least int64) (err error) {
	s.memory = s.chain.newBudget(least, 0)
	s.sorter, err = s.chain.newSorter(s.memory, nil)
	return s.failed(err)
}

// take takes an encoded pair.
func (s *sortedInput) take(record []byte) {
	if s.chain.err != nil {
		return
	}
	key, value, err := codec.SplitKV(record)
	if err == nil {
		err = s.sorter.Add(s.ctx, key, value)
		s.tell()
	}
	if err != nil {
		s.fail(err)
	}
}

// sort ends the input.
func (s *sortedInput) sort() (err error) {
	s.sorted, err = s.sorter.Sort(s.ctx)
	s.memory.NoMore() // the records are emitted from what it holds
	s.tell()
	return s.failed(err)
}

// tell shows what went to files.
func (s *sortedInput) tell() {
	if now := s.sorter.Spilled(); now != s.told {
		s.spilled.set(s.spilled.told + now - s.told)
		s.told = now
	}
}

// close removes the files.
func (s *sortedInput) close() error {
	if s.sorter == nil {
		return nil
	}
	return s.sorter.Close()
}
