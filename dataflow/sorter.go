package dataflow

import (
	"errors"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// sorterStage is the stage that sorts encoded pairs by their keys. At the end of its input it emits them.
type sorterStage struct {
	idle
	input sortedInput
	each  func(key, value []byte) error // takes the sorted pairs
}

func newSorterStage(at caller) *sorterStage {
	return &sorterStage{input: sortedInput{caller: at, spilled: at.chain.spillCounter()}}
}

func (s *sorterStage) open() error { return s.input.open(leastMemory) }

// event implements stage.
func (s *sorterStage) event(_ int, e operator.Item) error {
	if e != operator.EndOfData {
		return nil
	}
	return s.input.sort()
}

// produce emits some pairs.
func (s *sorterStage) produce() (progress, error) {
	if s.input.sorted == nil {
		return done, nil
	}
	for range burst {
		if err := s.input.chain.fault(); err != nil {
			return done, err
		}
		key, value, err := s.input.sorted.Next()
		if errors.Is(err, io.EOF) {
			s.input.sorted = nil
			return done, nil
		}
		if err == nil {
			err = s.each(key, value)
		}
		if err != nil {
			return done, s.input.failed(err)
		}
	}
	return more, nil
}

// close removes the files.
func (s *sorterStage) close() error { return s.input.close() }
