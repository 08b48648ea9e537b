package dataflow

import (
	"context"
	"errors"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// sorterStage is the stage that sorts encoded pairs by their keys. At the end of its input it emits them.
type sorterStage struct {
	idle
	ctx     context.Context //nolint:containedctx // of the attempt
	chain   *chain
	name    string
	each    func(key, value []byte) error // takes the sorted pairs
	spilled spillGauge
	sorter  *extsort.Sorter
	sorted  *extsort.Sorted // when the input has ended
}

func newSorterStage(ctx context.Context, c *chain, name string) *sorterStage {
	return &sorterStage{ctx: ctx, chain: c, name: name, spilled: c.spillGauge()}
}

func (s *sorterStage) open() (err error) {
	s.sorter, err = s.chain.newSorter(s.chain.newBudget(leastMemory, 0), nil)
	return s.named(err)
}

// take takes an encoded pair.
func (s *sorterStage) take(record []byte) {
	if s.chain.err != nil {
		return
	}
	key, value, err := codec.SplitKV(record)
	if err == nil {
		err = s.sorter.Add(s.ctx, key, value)
		s.spilled.set(s.sorter.Spilled())
	}
	if err != nil {
		s.chain.fail(s.named(err))
	}
}

// event implements stage.
func (s *sorterStage) event(_ int, e operator.Item) (err error) {
	if e != operator.EndOfData {
		return nil
	}
	s.sorted, err = s.sorter.Sort(s.ctx)
	s.spilled.set(s.sorter.Spilled())
	return s.named(err)
}

// produce emits some pairs.
func (s *sorterStage) produce() (progress, error) {
	if s.sorted == nil {
		return done, nil
	}
	for range burst {
		if err := s.chain.fault(); err != nil {
			return done, err
		}
		key, value, err := s.sorted.Next()
		if errors.Is(err, io.EOF) {
			s.sorted = nil
			return done, nil
		}
		if err == nil {
			err = s.each(key, value)
		}
		if err != nil {
			return done, s.named(err)
		}
	}
	return more, nil
}

func (s *sorterStage) named(err error) error { return ofSorter(s.name, err) }

// close removes the files.
func (s *sorterStage) close() error {
	if s.sorter == nil {
		return nil
	}
	return s.sorter.Close()
}
