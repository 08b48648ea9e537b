package dataflow

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/ranges"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// ranged adds the operators that send each record to the subtask of its key's range:
//
//	encode ──── records, held back ────▶ partition ──▶ (the sorter)
//	   └── samples ──▶ ranges ── bounds ──▶┘
//
// The samples are a side output of the operator that encodes. One task computes the bounds, and sends them to each subtask of the
// partition, which then takes the records. Records and bounds come from the same tasks, so the edges into the partition are blocking.
func (b *sorting[T, K]) ranged() *node {
	const samples = "samples"
	encoder := b.encoded(func(c *chain) *sampler {
		return &sampler{keys: ranges.NewReservoir(uint64(c.subtask.Index())), emit: c.sides[samples].(func([]byte))}
	})
	side := recordsPort(encoder, "sample", forward)
	encoder.sides = map[string]*port{samples: side}

	bounds := &node{name: b.name + " (ranges)", parallelism: 1, inputs: []connection{{from: side, exchange: true}}}
	bounds.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		r := &chooser{sorterStage: newSorterStage(caller{ctx, c, bounds}), ranges: b.parallelism, bound: down.(func([]byte))}
		return r.take, r
	}
	encoder.plan.add(bounds)
	bounds.out = recordsPort(bounds, "bound", toAll)

	partition := &node{
		name: b.name + " (partition)", parallelism: encoder.parallelism,
		inputs: []connection{{from: encoder.out, held: true}, {from: bounds.out, exchange: true}},
	}
	partition.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		p := &partitioner{caller: caller{ctx, c, partition}, most: b.parallelism, emit: down.(func(inRange))}
		return heads{p.take, p.takeBound}, p
	}
	encoder.plan.add(partition)
	partition.out = rangesPort(partition, b.pairs)
	return partition
}

// sampler is the stage that takes a sample of the keys. At the end it emits the sample: for each of its keys a pair of the key and
// the number of keys that it stands for.
type sampler struct {
	idle
	keys *ranges.Reservoir
	emit func(record []byte)
}

// event implements stage.
func (s *sampler) event(_ int, e operator.Item) error {
	if e != operator.EndOfData {
		return nil
	}
	var record []byte
	weight := float64(s.keys.Count()) / float64(len(s.keys.Sample()))
	for _, key := range s.keys.Sample() {
		record = binary.BigEndian.AppendUint64(codec.AppendKey(record[:0], key), math.Float64bits(weight))
		s.emit(record)
	}
	return nil
}

// chooser is the stage that computes the bounds of the ranges from all samples. It sorts them, in bounded memory as a sort does.
type chooser struct {
	*sorterStage
	ranges int
	bound  func([]byte)
	total  float64         // weight of the samples
	choice *ranges.Chooser // from the end of the input until all bounds are emitted
}

func (c *chooser) take(record []byte) {
	if c.input.chain.err != nil {
		return
	}
	_, value, err := codec.SplitKV(record)
	if err == nil {
		var weight float64
		weight, err = weightOf(value)
		c.total += weight
	}
	if err != nil {
		c.input.fail(fmt.Errorf("a key of a sample: %w", err))
		return
	}
	c.input.take(record)
}

// event implements stage.
func (c *chooser) event(input int, e operator.Item) error {
	if err := c.sorterStage.event(input, e); err != nil {
		return err
	}
	if e != operator.EndOfData {
		return nil
	}
	c.choice = ranges.NewChooser(c.ranges, c.total)
	c.each = func(key, value []byte) error {
		weight, err := weightOf(value)
		if err == nil {
			c.emit(c.choice.Add(key, weight))
		}
		return err
	}
	return nil
}

// produce emits some bounds.
func (c *chooser) produce() (progress, error) {
	made, err := c.sorterStage.produce()
	if made == done && err == nil && c.choice != nil {
		c.emit(c.choice.End())
		c.choice = nil
	}
	return made, err
}

func (c *chooser) emit(bound []byte) {
	if bound != nil {
		c.bound(bound)
	}
}

// weightOf decodes the weight of a key. It is at least 1, because a sample has no more keys than it stands for.
func weightOf(value []byte) (float64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: a weight of %d bytes, want 8", codec.ErrCorrupt, len(value))
	}
	weight := math.Float64frombits(binary.BigEndian.Uint64(value))
	if !(weight >= 1 && weight <= math.MaxInt64) {
		return 0, fmt.Errorf("%w: a weight of %g", codec.ErrCorrupt, weight)
	}
	return weight, nil
}

var errTooManyRanges = errors.New("more ranges than subtasks")

// partitioner is the stage that sends each record to its range. It takes records only when it has all bounds.
type partitioner struct {
	idle
	caller
	ranges ranges.Ranges
	most   int  // ranges
	ready  bool // all bounds were read
	emit   func(inRange)
}

// wants implements stage.
func (p *partitioner) wants(input int) bool { return p.ready || input == 1 }

// event implements stage.
func (p *partitioner) event(input int, e operator.Item) error {
	if input == 1 && e == operator.EndOfData {
		p.ready = true
	}
	return nil
}

func (p *partitioner) takeBound(bound []byte) {
	err := p.ranges.Add(bound)
	if p.ranges.Len() > p.most {
		err = errTooManyRanges
	}
	if err != nil {
		p.fail(fmt.Errorf("%w: %w", codec.ErrCorrupt, err))
	}
}

func (p *partitioner) take(record []byte) {
	key, _, err := codec.SplitKV(record)
	if err != nil {
		p.fail(err)
		return
	}
	p.emit(inRange{p.ranges.Find(key), record})
}
