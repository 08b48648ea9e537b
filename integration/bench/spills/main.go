// Command spills executes a job whose state exceeds its memory. It generates its input: records of 100 bytes.
//
//	spills group|aggregate|join|sort MIB OUTPUT
//
// The output is the line "records", a tab, and the number of records for which the results stand. That is the number of records of the
// input, if each is in exactly one result.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
)

// recordSize is in bytes.
const recordSize = 100

// Args are the job's arguments.
type Args struct {
	Kind   string
	MiB    int
	Output string
}

// kinds are the operators. Their results are the numbers of records for which they stand.
var kinds = map[string]func(p *dataflow.Plan, records uint64) dataflow.Stream[int64]{
	"group": func(p *dataflow.Plan, records uint64) dataflow.Stream[int64] {
		return dataflow.GroupByKey(byKey(p, generator{Records: records, Keys: records / 10}), func(_ context.Context, _ uint64, values iter.Seq[[]byte], emit func(int64)) error {
			n := int64(0)
			for range values {
				n++
			}
			emit(n)
			return nil
		})
	},
	"aggregate": func(p *dataflow.Plan, records uint64) dataflow.Stream[int64] {
		counts := dataflow.Count(byKey(p, generator{Records: records, Keys: records}))
		return dataflow.Map(counts, func(c dataflow.KV[uint64, int64]) int64 { return c.Value })
	},
	"join": func(p *dataflow.Plan, records uint64) dataflow.Stream[int64] {
		left := byKey(p, generator{Records: records / 2, Keys: records / 2, Seed: 1})
		right := byKey(p, generator{Records: records / 2, Seed: 2})
		return dataflow.Join(left, right, func(_, _ []byte, emit func(int64)) { emit(2) }, dataflow.Hint(dataflow.HashRight))
	},
	"sort": func(p *dataflow.Plan, records uint64) dataflow.Stream[int64] {
		sorted := dataflow.Sort(dataflow.Read(p, connector.Source[[]byte](generator{Records: records, Keys: records})), keyOf)
		return dataflow.Process(sorted, func(dataflow.Subtask) dataflow.Function[[]byte, int64] {
			last := uint64(0)
			return dataflow.Function[[]byte, int64]{Process: func(_ context.Context, v []byte, emit func(int64)) error {
				if keyOf(v) < last {
					return fmt.Errorf("%w: %d comes after %d", errOrder, keyOf(v), last)
				}
				last = keyOf(v)
				emit(1)
				return nil
			}}
		})
	},
}

var errOrder = errors.New("the records are not in the order of their keys")

func byKey(p *dataflow.Plan, g generator) dataflow.Keyed[uint64, []byte] {
	return dataflow.KeyBy(dataflow.Read(p, connector.Source[[]byte](g)), keyOf)
}

func keyOf(record []byte) uint64 { return binary.BigEndian.Uint64(record) }

var spills = dataflow.Job("spills", func(p *dataflow.Plan, a Args) error {
	result := kinds[a.Kind](p, uint64(a.MiB)<<20/recordSize/2*2) // a join has two halves
	all := dataflow.Sum(dataflow.KeyBy(result, func(int64) string { return "records" }), dataflow.Identity[int64])
	dataflow.WriteText(all, a.Output, func(dst []byte, c dataflow.KV[string, int64]) []byte {
		return fmt.Appendf(dst, "%s\t%d", c.Key, c.Value)
	})
	return nil
})

// generator is a source of random records. It has one split for each subtask. Each record has one of so many keys by random; 0: a key of
// its own. Both sides of a join thus have the same keys.
type generator struct{ Records, Keys, Seed uint64 }

// String implements fmt.Stringer.
func (g generator) String() string {
	return fmt.Sprintf("%+v", struct{ Records, Keys, Seed uint64 }(g))
}

// Enumerate implements connector.Source.
func (g generator) Enumerate(_ context.Context, p connector.Planning) ([]connector.Split, error) {
	splits := make([]connector.Split, p.Parallelism)
	for i := range splits {
		splits[i].Data = binary.AppendUvarint(nil, uint64(i))
		splits[i].Data = binary.AppendUvarint(splits[i].Data, g.Records/uint64(p.Parallelism))
	}
	return splits, nil
}

// NewReader implements connector.Source.
func (g generator) NewReader(context.Context, connector.Environment) (connector.Reader[[]byte], error) {
	return &reader{generator: g}, nil
}

// reader generates the records of a split. It does not go on at a position, as a batch job never asks it to.
type reader struct {
	generator
	random *rand.Rand
	next   uint64 // number of the next record, of all splits
	left   uint64
	record [recordSize]byte
}

// Open implements connector.Reader.
func (r *reader) Open(_ context.Context, split connector.Split, _ []byte) error {
	number, n := binary.Uvarint(split.Data)
	r.left, _ = binary.Uvarint(split.Data[n:])
	r.random, r.next = rand.New(rand.NewPCG(r.Seed, number)), number*r.left
	return nil
}

// Poll implements connector.Reader.
func (r *reader) Poll() ([]byte, bool, error) {
	if r.left == 0 {
		return nil, false, io.EOF
	}
	r.left--
	key := r.next
	r.next++
	if r.Keys > 0 {
		key = r.random.Uint64N(r.Keys)
	}
	const odd = 0x9e3779b97f4a7c15 // spreads keys over all numbers, and keeps them apart
	binary.BigEndian.PutUint64(r.record[:], key*odd)
	for i := 8; i+8 <= recordSize; i += 8 {
		binary.LittleEndian.PutUint64(r.record[i:], r.random.Uint64())
	}
	return r.record[:], true, nil
}

// Position implements connector.Reader.
func (r *reader) Position(dst []byte) []byte { return binary.AppendUvarint(dst, r.left) }

// At implements connector.Reader.
func (r *reader) At() string { return "" }

// Close implements connector.Reader.
func (r *reader) Close() error { return nil }

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		words := env.Args()
		if len(words) != 3 || kinds[words[0]] == nil {
			return fmt.Errorf("usage: spills group|aggregate|join|sort MIB OUTPUT, got %q", words)
		}
		a := Args{Kind: words[0], Output: words[2]}
		var err error
		if a.MiB, err = strconv.Atoi(words[1]); err != nil || a.MiB < 1 {
			return fmt.Errorf("%q: want MiB, at least 1", words[1])
		}
		_, err = env.Execute(ctx, spills, a)
		return err
	})
}
