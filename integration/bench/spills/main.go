// Command spills executes a job whose state exceeds its memory. It generates its input: records of 100 bytes.
//
//	spills group|aggregate|join|sort MIB OUTPUT
//
// The output is one number: the records of the result.
package main

import (
	"context"
	"encoding/binary"
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

// kinds are the operators. The keys of the input are random numbers below keys, except that both sides of a join share no more
// than a few.
var kinds = map[string]func(p *dataflow.Plan, records uint64) dataflow.Stream[[]byte]{
	"group": func(p *dataflow.Plan, records uint64) dataflow.Stream[[]byte] {
		return dataflow.GroupByKey(byKey(p, generator{Records: records, Keys: records / 10}), func(_ context.Context, _ uint64, values iter.Seq[[]byte], emit func([]byte)) error {
			for v := range values {
				emit(v)
				return nil
			}
			return nil
		})
	},
	"aggregate": func(p *dataflow.Plan, records uint64) dataflow.Stream[[]byte] {
		counts := dataflow.Count(byKey(p, generator{Records: records, Keys: records}))
		return dataflow.Map(counts, func(dataflow.KV[uint64, int64]) []byte { return nil })
	},
	"join": func(p *dataflow.Plan, records uint64) dataflow.Stream[[]byte] {
		left := byKey(p, generator{Records: records / 2, Keys: records, Seed: 1})
		right := byKey(p, generator{Records: records / 2, Keys: records, Seed: 2})
		return dataflow.Join(left, right, func(l, _ []byte, emit func([]byte)) { emit(l) }, dataflow.Hint(dataflow.HashRight))
	},
	"sort": func(p *dataflow.Plan, records uint64) dataflow.Stream[[]byte] {
		return dataflow.Sort(dataflow.Read(p, connector.Source[[]byte](generator{Records: records, Keys: records})), keyOf)
	},
}

func byKey(p *dataflow.Plan, g generator) dataflow.Keyed[uint64, []byte] {
	return dataflow.KeyBy(dataflow.Read(p, connector.Source[[]byte](g)), keyOf)
}

func keyOf(record []byte) uint64 { return binary.BigEndian.Uint64(record) }

var spills = dataflow.Job("spills", func(p *dataflow.Plan, a Args) error {
	result := kinds[a.Kind](p, uint64(a.MiB)<<20/recordSize)
	all := dataflow.Count(dataflow.KeyBy(result, func([]byte) string { return "records" }))
	dataflow.WriteText(all, a.Output, func(dst []byte, c dataflow.KV[string, int64]) []byte { return strconv.AppendInt(dst, c.Value, 10) })
	return nil
})

// generator is a source of random records. It has one split for each subtask.
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
	left   uint64
	record [recordSize]byte
}

// Open implements connector.Reader.
func (r *reader) Open(_ context.Context, split connector.Split, _ []byte) error {
	number, n := binary.Uvarint(split.Data)
	r.left, _ = binary.Uvarint(split.Data[n:])
	r.random = rand.New(rand.NewPCG(r.Seed, number))
	return nil
}

// Poll implements connector.Reader.
func (r *reader) Poll() ([]byte, bool, error) {
	if r.left == 0 {
		return nil, false, io.EOF
	}
	r.left--
	binary.BigEndian.PutUint64(r.record[:], r.random.Uint64N(r.Keys))
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
