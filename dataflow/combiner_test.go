package dataflow

import (
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/keytable"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// It would catch a table that is filled for nothing when all keys differ, one that is not tried again when the keys repeat, and elements
// that are lost or counted twice where the combiner changes over.
func TestTheCombinerLeavesOutItsTableWhileAllKeysDiffer(t *testing.T) {
	t.Parallel()
	var b broker.Broker
	b.Resize(64 << 20)
	account, _ := b.Open(leastMemory, combineLimit)
	memory := &budget{Memory: account}
	records, elements := 0, int64(0)
	keys := codec.String()
	counts, err := codec.For[int64]()
	if err != nil {
		t.Fatal(err)
	}
	c := &combiner[string, string, int64]{
		caller: caller{t.Context(), &chain{}, &node{name: "count"}}, memory: memory, table: keytable.New[int64](memory),
		keys: &keys, accs: &counts,
		fold: func(acc *int64, _ string, _ bool) error { *acc++; return nil },
		emit: func(r keyedRecord) {
			_, value, err := codec.SplitKV(r.record)
			if err != nil {
				t.Fatal(err)
			}
			n, err := counts.Decode(value)
			if err != nil {
				t.Fatal(err)
			}
			records++
			elements += n
		},
	}
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
