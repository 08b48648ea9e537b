package dataflow

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// printBuffer bounds the text that Print buffers before it writes, in bytes.
const printBuffer = 32 << 10

// Print writes each element as a line to the worker's stdout, or to the terminal
// in local mode. Each line begins with the number of the subtask: "2> text".
func Print[T any](s Stream[T], format Format[T], o ...Option) {
	p := s.out.node.plan
	set := p.settle("print", forSinks, o, format)
	n := &node{name: set.name, parallelism: set.parallelism, placement: set.placement, inputs: []connection{{from: s.out}}}
	n.attach = func(ctx context.Context, c *chain, _ any) (any, stage) {
		at, stdout := caller{ctx, c, n}, c.subtask.Stdout()
		prefix := strconv.Itoa(c.subtask.Index()+1) + "> "
		var text []byte // whole lines
		flush := func() error {
			_, err := stdout.Write(text)
			text = text[:0]
			return at.failed(err)
		}
		return func(v T) {
			text = append(format(append(text, prefix...), v), '\n')
			if len(text) < printBuffer {
				return
			}
			if err := flush(); err != nil {
				c.fail(err)
			}
		}, atEnd{end: flush}
	}
	p.add(n)
}

// Collector names a result that a job sends to its driver.
type Collector[T any] struct {
	name  string
	codec func() (Codec[T], error)
}

// NewCollector makes a collector. Keep it in a package variable, because both
// the plan function and the driver need it. The name must be unique within the
// job.
func NewCollector[T any](name string, o ...Option) Collector[T] {
	c := Collector[T]{name: name, codec: codec.For[T]}
	var p Plan
	if set := p.settle("collector "+name, optionCodec, o); set.codec != nil {
		given, ok := set.codec.(Codec[T])
		if !ok {
			p.fault(fmt.Errorf("collector %s: option WithCodec has a codec for another type", name))
		}
		c.codec = func() (Codec[T], error) { return given, nil }
	}
	if len(p.faults) > 0 {
		panic(fmt.Sprintf("dataflow: %v", p.faults[0]))
	}
	return c
}

// Collect sends the elements to the driver. Collected returns them when the job
// is done. It is meant for small results: a job that collects more than 100 MiB
// fails. Write larger results to files.
func Collect[T any](s Stream[T], to Collector[T]) {
	p := s.out.node.plan
	name := "collect " + to.name
	found, err := to.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: %w", name, err))
	}
	if to.name == "" {
		p.fault(fmt.Errorf("%s: the collector needs a name", name))
	}
	for _, n := range p.nodes {
		if n.collect == to.name {
			p.fault(fmt.Errorf("%s: two streams are collected under this name", name))
		}
	}
	n := &node{name: name, parallelism: 1, inputs: []connection{{from: s.out, exchange: true}}, collect: to.name}
	n.attach = func(ctx context.Context, c *chain, _ any) (any, stage) {
		b := &batch{caller: caller{ctx, c, n}}
		return func(v T) {
			record, err := found.Append(b.record[:0], v)
			if err != nil {
				b.fail(err)
				return
			}
			b.record = record
			if err := b.add(); err != nil {
				c.fail(err)
			}
		}, atEnd{end: b.flush}
	}
	p.add(n)
}

// batch gathers collected records, each with a uvarint length before it.
type batch struct {
	caller
	record  []byte
	records []byte
}

// add appends the record.
func (b *batch) add() error {
	size := len(b.record) + binary.MaxVarintLen32
	if size > operator.MaxCollectBatch {
		return b.failed(operator.Permanent(fmt.Errorf(
			"an element has %d bytes, at most %d can be collected: write the elements to files instead", len(b.record), operator.MaxCollectBatch-binary.MaxVarintLen32)))
	}
	if len(b.records)+size > operator.MaxCollectBatch {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.records = append(binary.AppendUvarint(b.records, uint64(len(b.record))), b.record...)
	return nil
}

func (b *batch) flush() error {
	if len(b.records) == 0 || b.chain.err != nil {
		return b.chain.err
	}
	err := b.chain.subtask.Collect(b.ctx, b.records)
	b.records = b.records[:0]
	return err
}
