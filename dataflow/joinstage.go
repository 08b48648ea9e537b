package dataflow

import (
	"context"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	joins "github.com/bobbin-yarn/bobbin/dataflow/internal/join"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// joiner is the stage of a join. It implements joins.Output.
type joiner[A, B, U any] struct {
	idle
	caller
	build  int  // the side that is in memory
	hashed bool // and is read first
	config joins.Config
	pair   func(ctx context.Context, left *A, right *B, emit func(U)) error
	emit   func(U)

	core    joins.Join
	ended   [2]bool
	left    partner[A]
	right   partner[B]
	failure error // of pair, or of the task while pair was called
	spilled *spillCounter
}

func (j *joiner[A, B, U]) open() (err error) {
	j.core, err = joins.New(j.hashed, j.config)
	return j.failed(err)
}

// side is the part of an input in the core.
func (j *joiner[A, B, U]) side(input int) joins.Side {
	if input == j.build {
		return joins.Build
	}
	return joins.Probe
}

// wants implements stage.
func (j *joiner[A, B, U]) wants(input int) bool {
	return !j.hashed || input == j.build || j.ended[j.build]
}

// taker returns the function that takes the records of an input.
func (j *joiner[A, B, U]) taker(input int) func([]byte) {
	side := j.side(input)
	return func(record []byte) {
		if j.chain.err != nil {
			return
		}
		key, value, err := codec.SplitKV(record)
		if err == nil {
			err = j.core.Add(j.ctx, side, key, value)
			j.tell()
		}
		if err != nil {
			j.chain.fail(j.ofCore(err))
		}
	}
}

// event implements stage.
func (j *joiner[A, B, U]) event(input int, e operator.Item) error {
	if e != operator.EndOfData {
		return nil
	}
	j.ended[input] = true
	err := j.core.End(j.ctx, j.side(input))
	j.tell()
	return j.ofCore(err)
}

// produce implements stage.
func (j *joiner[A, B, U]) produce() (progress, error) {
	if !j.ended[leftSide] || !j.ended[rightSide] {
		return done, nil
	}
	some, err := j.core.Step(j.ctx)
	j.tell()
	if err != nil || !some {
		return done, j.ofCore(err)
	}
	return more, nil
}

// tell shows what went to files.
func (j *joiner[A, B, U]) tell() { j.spilled.set(j.core.Spilled()) }

// ofCore adds the operator to an error of the core. Others have their own names.
func (j *joiner[A, B, U]) ofCore(err error) error {
	if j.failure != nil {
		return j.failure
	}
	return j.failed(err)
}

// Match implements joins.Output.
func (j *joiner[A, B, U]) Match(build, probe []byte, again bool) error {
	if j.build == leftSide {
		return j.call(build, probe, false, again)
	}
	return j.call(probe, build, again, false)
}

func (j *joiner[A, B, U]) call(left, right []byte, sameLeft, sameRight bool) error {
	a, err := j.left.read(left, sameLeft)
	if err != nil {
		return err
	}
	b, err := j.right.read(right, sameRight)
	if err != nil {
		return err
	}
	return j.called(a, b)
}

// Alone implements joins.Output.
func (j *joiner[A, B, U]) Alone(side joins.Side, value []byte) error {
	if side == j.side(leftSide) {
		a, err := j.left.read(value, false)
		if err != nil {
			return err
		}
		return j.called(a, nil)
	}
	b, err := j.right.read(value, false)
	if err != nil {
		return err
	}
	return j.called(nil, b)
}

// called calls the function. It keeps the function's error, or that of another operator or a cancellation.
func (j *joiner[A, B, U]) called(left *A, right *B) error {
	err := j.pair(j.ctx, left, right, j.emit)
	if fault := j.chain.fault(); fault != nil {
		j.failure = fault
	} else if err != nil {
		j.failure = failedAtPair(j.caller, left, right, err)
	}
	return j.failure
}

// close removes the files.
func (j *joiner[A, B, U]) close() error {
	if j.core == nil {
		return nil
	}
	return j.core.Close()
}

// partner decodes the elements of a side for the function.
type partner[T any] struct {
	codec *Codec[T]
	value T
	bytes []byte // of the value, which the function may change
}

// read decodes an element. same says that it is that of the last call.
func (p *partner[T]) read(encoded []byte, same bool) (_ *T, err error) {
	switch {
	case p.codec.Own != nil: // the value may share the memory of the record, which others need as it is
		p.bytes = append(p.bytes[:0], encoded...)
		p.value, err = p.codec.Decode(p.bytes)
	case !same:
		p.value, err = p.codec.Decode(encoded)
	}
	return &p.value, err
}
