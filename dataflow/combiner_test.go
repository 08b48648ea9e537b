package dataflow

import (
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/keytable"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// newCombiner makes a combiner that adds to numbers. emit gets what it sends: the hash, the key and the number.
func newCombiner[K, T any](t *testing.T, keys Codec[K], fold func(*int64, T, bool) error, emit func(hash uint64, key []byte, n int64)) *combiner[K, T, int64] {
	t.Helper()
	var b broker.Broker
	b.Resize(64 << 20)
	return newCombinerOf(t, &b, keys, fold, emit)
}

// newCombinerOf makes one that has its memory from a broker.
func newCombinerOf[K, T any](t *testing.T, b *broker.Broker, keys Codec[K], fold func(*int64, T, bool) error, emit func(hash uint64, key []byte, n int64)) *combiner[K, T, int64] {
	t.Helper()
	account, _ := b.Open(leastMemory, combineLimit)
	memory := &budget{Memory: account}
	numbers, err := codec.For[int64]()
	if err != nil {
		t.Fatal(err)
	}
	return &combiner[K, T, int64]{
		caller: caller{t.Context(), &chain{}, &node{name: "combine"}}, memory: memory, table: keytable.New[int64](memory),
		keys: &keys, accs: &numbers, fold: fold,
		emit: func(r keyedRecord) {
			key, value, err := codec.SplitKV(r.record)
			if err != nil {
				t.Fatal(err)
			}
			n, err := numbers.Decode(value)
			if err != nil {
				t.Fatal(err)
			}
			emit(r.hash, key, n)
		},
	}
}

// It would catch a table that is filled for nothing when all keys differ, one that is not tried again when the keys repeat, and elements
// that are lost or counted twice where the combiner changes over.
func TestTheCombinerLeavesOutItsTableWhileAllKeysDiffer(t *testing.T) {
	t.Parallel()
	records, elements := 0, int64(0)
	c := newCombiner(t, codec.String(), func(acc *int64, _ string, _ bool) error { *acc++; return nil },
		func(_ uint64, _ []byte, n int64) {
			records++
			elements += n
		})
	take := c.taker(func(s string) string { return s })
	const distinct, repeated = 1_000_000, 5_000_000
	full, tables := 0, 0 // elements in the table when it was full
	for i := range distinct {
		take(fmt.Sprint("key ", i))
		if n := c.table.Len(); n < full {
			tables++
			full = 0
		} else {
			full = n
		}
	}
	if tables == 0 || tables > 3 {
		t.Errorf("%d tables were filled with keys that all differ", tables)
	}
	before := records
	for range repeated {
		take("the same key")
	}
	if after := records - before; after > repeated/2 {
		t.Errorf("%d records for %d elements of one key", after, repeated)
	}
	if err := c.event(0, operator.EndOfData); err != nil || c.chain.err != nil {
		t.Fatal(err, c.chain.err)
	}
	if elements != distinct+repeated {
		t.Errorf("%d elements are counted, want %d", elements, distinct+repeated)
	}
}

// A function may change its element, of which the key may be a part. It would catch a key that is read after that.
func TestTheCombinerReadsTheKeyBeforeTheElementChanges(t *testing.T) {
	t.Parallel()
	const elements = 300_000 // more than a table holds
	seen := make(map[string]bool, elements)
	fold := func(acc *int64, v []byte, _ bool) error {
		*acc++
		clear(v)
		return nil
	}
	c := newCombiner(t, codec.Bytes(), fold, func(hash uint64, key []byte, n int64) {
		if hash != xxhash.Sum64(key) || n != 1 || seen[string(key)] {
			t.Fatalf("key %q with hash %x and %d elements, and it has come: %v", key, hash, n, seen[string(key)])
		}
		seen[string(key)] = true
	})
	take := c.taker(func(v []byte) []byte { return v[:8] })
	for i := range elements {
		take(fmt.Appendf(nil, "%08d and more", i))
	}
	if err := c.event(0, operator.EndOfData); err != nil || c.chain.err != nil || len(seen) != elements {
		t.Errorf("%d elements were sent, want %d; errors %v, %v", len(seen), elements, err, c.chain.err)
	}
}

// It would catch a combiner that keeps its table to the end of its input while others, below their shares, get no memory.
func TestTheCombinerGivesBackWhatOthersNeed(t *testing.T) {
	t.Parallel()
	var b broker.Broker
	b.Resize(4 << 20)
	fold := func(acc *int64, _ string, _ bool) error { *acc++; return nil }
	c := newCombinerOf(t, &b, codec.String(), fold, func(uint64, []byte, int64) {})
	take := c.taker(func(s string) string { return s })
	n := 0
	for before := 0; c.table.Len() >= before; n++ { // until its table is full
		before = c.table.Len()
		take(fmt.Sprint(n))
	}
	kept := c.table.Bytes()
	other, _ := b.Open(leastMemory, 0)
	if other.Take(other.Share()) || kept < 2<<20 {
		t.Fatalf("the other operator gets its share at once, and the combiner has %d bytes", kept)
	}
	c.flush()
	if left := c.table.Bytes(); left != 0 || !other.Take(other.Share()) {
		t.Errorf("the table keeps %d bytes, and the other operator does not get its share of %d", left, other.Share())
	}
}
