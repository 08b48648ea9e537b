package dataflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/cespare/xxhash/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// GroupFunc is called once for each key, with all elements of the key in any order. An element is valid until the next one is asked
// for. values gives each element once: a second loop goes on where the first one has ended. The function need not read all of them,
// and must not use values after it has returned. Its error fails the attempt; see FunctionError.
type GroupFunc[K, T, U any] func(ctx context.Context, key K, values iter.Seq[T], emit func(U)) error

// GroupByKey calls f for each key of a stream, in the order of the keys' encodings within a subtask. A key may have more elements
// than the worker has memory: what does not fit is sorted in files on the worker's disks.
//
// Use Count, Sum or Reduce where they do: they combine elements before they send them over the network.
func GroupByKey[K, T, U any](k Keyed[K, T], f GroupFunc[K, T, U], o ...Option) Stream[U] {
	upstream := k.stream.out.node
	p := upstream.plan
	set := p.settle("group by key", forStreams, o)
	keys, err := k.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: key: %w", set.name, err))
	}
	values, err := k.stream.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: %w", set.name, err))
	}
	before := &node{
		name: set.name + " (partition)", parallelism: upstream.parallelism, inputs: []connection{{from: k.stream.out}},
		attach: func(_ context.Context, c *chain, down any) (any, stage) {
			emit := down.(func(partial))
			var key, record []byte
			return func(v T) {
				encoded, err := keys.Append(key[:0], k.key(v))
				if err == nil {
					key = encoded
					encoded, err = values.Append(codec.AppendKey(record[:0], key), v)
				}
				if err != nil {
					c.fail(err)
					return
				}
				record = encoded
				emit(partial{xxhash.Sum64(key), record})
			}, idle{}
		},
	}
	p.add(before)
	before.out = partialsPort(before, codec.OfKV(keys, values).Name)

	after := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement, keepsState: true,
		inputs: []connection{{from: before.out, exchange: true}},
		attach: func(ctx context.Context, c *chain, down any) (any, stage) {
			g := &grouper[K, T, U]{
				ctx: ctx, chain: c, name: set.name, keys: &keys, values: &values, group: f, emit: down.(func(U)),
				budget: budget{c.memory}, spilled: c.metrics().Gauge(spilledBytes),
			}
			return g.add, g
		},
	}
	p.add(after)
	return newStream(after, set, codec.For[U])
}

// grouper is the stage behind the exchange. It sorts the elements by key.
type grouper[K, T, U any] struct {
	idle
	ctx    context.Context //nolint:containedctx // of the attempt
	chain  *chain
	name   string
	keys   *Codec[K]
	values *Codec[T]
	group  GroupFunc[K, T, U]
	emit   func(U)

	budget  budget
	spilled *operator.Gauge
	told    int64 // by spilled
	sorter  *extsort.Sorter
	sorted  *extsort.Sorted // when the input has ended
	key     []byte          // of the record that was read last
	value   []byte          // likewise
	read    bool            // there is such a record, and no group has used it
	given   bool            // the function has got it
	over    bool            // all elements of the key were read
	err     error           // of the sorter or a codec, while the elements of a key are read
}

func (g *grouper[K, T, U]) open() (err error) {
	g.sorter, err = g.chain.newSorter(&g.budget, nil)
	return g.named(err)
}

func (g *grouper[K, T, U]) add(record []byte) {
	if g.chain.err != nil {
		return
	}
	key, value, err := codec.SplitKV(record)
	if err == nil {
		err = g.sorter.Add(g.ctx, key, value)
		g.tell()
	}
	if err != nil {
		g.chain.fail(g.named(err))
	}
}

// tell shows what went to files.
func (g *grouper[K, T, U]) tell() {
	if bytes := g.sorter.Spilled(); bytes != g.told {
		g.told = bytes
		g.spilled.Set(float64(bytes))
	}
}

// event implements stage.
func (g *grouper[K, T, U]) event(_ int, e operator.Item) (err error) {
	if e != operator.EndOfData {
		return nil
	}
	g.sorted, err = g.sorter.Sort(g.ctx)
	g.tell()
	if err != nil {
		return g.named(err)
	}
	return g.named(g.advance())
}

// produce emits what the function makes of one key.
func (g *grouper[K, T, U]) produce() (progress, error) {
	if !g.read {
		return done, nil
	}
	key, err := g.keys.Decode(g.key)
	if err == nil && g.keys.Own != nil {
		key, err = g.keys.Own(key)
	}
	if err != nil {
		return done, g.named(err)
	}
	g.over, g.given = false, false
	err = g.group(g.ctx, key, g.elements, g.emit)
	if fault := g.chain.fault(); fault != nil { // of another operator, or a cancellation
		return done, fault
	}
	switch {
	case g.err != nil:
		return done, g.named(g.err)
	case err != nil:
		return done, g.chain.failed(g.name, err)
	}
	for !g.over && g.err == nil { // elements that the function has not read
		if err := g.chain.fault(); err != nil {
			return done, err
		}
		g.step()
	}
	return more, g.named(g.err)
}

// elements gives the function the elements of the key that it has not read yet.
func (g *grouper[K, T, U]) elements(yield func(T) bool) {
	for {
		if g.given { // only now: the function may still use it, or read on in another loop
			g.step()
		}
		if g.over || g.err != nil {
			return
		}
		v, err := g.values.Decode(g.value)
		if err == nil {
			err = g.chain.fault()
		}
		if err != nil {
			g.err = err
			return
		}
		if g.given = true; !yield(v) {
			return
		}
	}
}

// step reads the next record, which may be the first one of another key.
func (g *grouper[K, T, U]) step() {
	g.given = false
	g.err = g.advance()
	g.over = !g.read || !g.sorted.SameKey()
}

// advance reads a record. At the end, there is none.
func (g *grouper[K, T, U]) advance() (err error) {
	g.key, g.value, err = g.sorted.Next()
	g.read = err == nil
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (g *grouper[K, T, U]) named(err error) error { return ofSorter(g.name, err) }

// close removes the files.
func (g *grouper[K, T, U]) close() error {
	if g.sorter == nil {
		return nil
	}
	return g.sorter.Close()
}
