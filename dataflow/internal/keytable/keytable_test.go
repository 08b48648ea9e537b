package keytable

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// seeds range from good to very bad. A seed that equals a length gives all keys of
// that length the same hash. Then every lookup walks the same run of slots, which
// shows a probe that stops early or never wraps.
var seeds = map[string]func(*seed){
	"random":               func(*seed) {},
	"digits collide":       func(s *seed) { s.short[1] = 1 },
	"two digits collide":   func(s *seed) { s.short[1] = 2 },
	"three digits collide": func(s *seed) { s.short[1] = 3 },
	"weak":                 func(s *seed) { s.short = [2]uint64{} },
}

// limit is a budget of so many bytes.
type limit struct{ free int64 }

func (l *limit) Take(bytes int64) bool {
	if bytes > l.free {
		return false
	}
	l.free -= bytes
	return true
}

func (l *limit) Give(bytes int64) { l.free += bytes }

// A table must work like a Go map up to its limit. At the limit it must refuse a key
// and change nothing. Catches lost or doubled keys in probing, growth and Reset.
func TestTableEqualsMap(t *testing.T) {
	for name, spoil := range seeds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				most := rapid.Int64Range(0, 200<<10).Draw(t, "limit")
				budget := &limit{most}
				table := New[int](budget)
				spoil(&table.seed)
				model := map[string]int{}
				var order []string
				for range rapid.IntRange(0, 3000).Draw(t, "operations") {
					switch rapid.IntRange(0, 1999).Draw(t, "reset") {
					case 0:
						table.Reset()
						model, order = map[string]int{}, nil
					case 1:
						table.Release()
						model, order = map[string]int{}, nil
					}
					key := fmt.Sprint(rapid.IntRange(0, 900).Draw(t, "key"))
					if rapid.IntRange(0, 99).Draw(t, "long") == 0 {
						key = strings.Repeat(key, 2000)
					}
					if len(table.slots) > 0 { // what a table brings into the caches changes nothing
						table.Warm([][]byte{[]byte(key), []byte("unknown"), nil})
					}
					value, fresh := table.Upsert([]byte(key))
					_, known := model[key]
					switch {
					case value == nil && known:
						t.Fatalf("no room for the known key %.20q", key)
					case value != nil:
						if fresh == known {
							t.Fatalf("Upsert(%.20q) says fresh=%v, the model %v", key, fresh, !known)
						}
						if fresh {
							order = append(order, key)
						}
						*value++
						model[key]++
					}
					if free := most - table.Bytes(); free < 0 || free != budget.free {
						t.Fatalf("table holds %d bytes of %d, the budget has %d", table.Bytes(), most, budget.free)
					}
				}
				gotOrder, got := contents(table)
				if diff := cmp.Diff(order, gotOrder); diff != "" {
					t.Fatalf("order of keys (-model +table):\n%s", diff)
				}
				if !maps.Equal(model, got) {
					t.Fatalf("contents differ: model %v, table %v", model, got)
				}
			})
		})
	}
}

func contents(table *Table[int]) ([]string, map[string]int) {
	var order []string
	values := map[string]int{}
	for i := range table.Len() {
		key, value := table.At(i)
		order = append(order, string(key))
		values[string(key)] = *value
	}
	return order, values
}

func TestResetKeepsMemoryAndDropsChargesAndLargeKeys(t *testing.T) {
	table := New[int64](&limit{64 << 20})
	keys := make([][]byte, 5000)
	for i := range keys {
		keys[i] = fmt.Append(nil, "key", i)
	}
	fill := func() {
		for _, key := range keys {
			if v, _ := table.Upsert(key); v == nil {
				t.Fatal("table is full")
			}
		}
	}
	fill()
	before := table.Bytes()
	large := make([]byte, 2<<20)
	if v, _ := table.Upsert(large); v == nil {
		t.Fatal("no room for a large key")
	}
	table.Charge(1000)
	if got, least := table.Bytes(), before+2<<20+1000; got < least {
		t.Errorf("bytes = %d with a large key and a charge, want at least %d", got, least)
	}
	table.Reset()
	if got := table.Bytes(); got != before {
		t.Errorf("bytes after Reset = %d, want %d", got, before)
	}
	if allocs := testing.AllocsPerRun(10, func() { fill(); table.Reset() }); allocs != 0 {
		t.Errorf("filling again after Reset made %v allocations, want 0", allocs)
	}
}

// It would catch a page of a thousand values that is taken whole for the first one: then a table that has room for many large values would
// hold none.
func TestATableHoldsAsManyLargeValuesAsFit(t *testing.T) {
	t.Parallel()
	type large [16 << 10]byte
	const room = 4 << 20
	table := New[large](&limit{room})
	for i := 0; ; i++ {
		if v, _ := table.Upsert(fmt.Append(nil, i)); v == nil {
			break
		}
	}
	if n := table.Len(); n < room/len(large{})*9/10 {
		t.Errorf("%d values of %d bytes are in a table of %d", n, len(large{}), room)
	}
}

// Values that grow beyond the budget are there already, so that only the end of the table mends it. It would catch memory that is taken
// twice, or given back twice.
func TestChargesMayExceedTheBudget(t *testing.T) {
	t.Parallel()
	budget := &limit{1 << 20}
	table := New[int](budget)
	table.Upsert([]byte("a"))
	own := table.Bytes()
	table.Charge(2 << 20)
	if !table.Over() {
		t.Error("the table is not over its budget")
	}
	table.Charge(1<<20 - 2<<20 - own)
	if table.Over() || budget.free != 0 {
		t.Errorf("the budget has %d bytes after a value has become smaller; over: %v", budget.free, table.Over())
	}
	table.Charge(1)
	table.Reset()
	if table.Over() || budget.free != 1<<20-own {
		t.Errorf("the budget has %d bytes after Reset, the table %d; over: %v", budget.free, own, table.Over())
	}
}

func TestKeysHaveNoSpareCapacity(t *testing.T) {
	t.Parallel()
	table := New[int](&limit{1 << 20})
	for _, key := range []string{"a", "b"} {
		table.Upsert([]byte(key))
	}
	first, _ := table.At(0)
	_ = append(first, 'x') // must not reach into the arena
	if second, _ := table.At(1); string(second) != "b" {
		t.Errorf("second key = %q after an append to the first", second)
	}
}

func TestUpsertOfKnownKeysAllocatesNothing(t *testing.T) {
	table := New[int64](&limit{1 << 20})
	keys := [][]byte{[]byte("to"), []byte("be"), []byte("or"), {}}
	count := func() {
		for _, key := range keys {
			v, _ := table.Upsert(key)
			*v++
		}
	}
	count()
	if allocs := testing.AllocsPerRun(100, count); allocs != 0 {
		t.Errorf("%v allocations per lookup round, want 0", allocs)
	}
}

// A table must distinguish keys that differ in only one byte, whether the record or
// the arena holds that byte.
func TestKeysThatDifferInOneByteAreDifferent(t *testing.T) {
	t.Parallel()
	for length := range 40 {
		table := New[int](&limit{1 << 20})
		base := bytes.Repeat([]byte("k"), length)
		want := 1
		table.Upsert(base)
		for at := range base {
			for _, b := range []byte{0, 'l'} {
				other := bytes.Clone(base)
				other[at] = b
				if _, fresh := table.Upsert(other); !fresh {
					t.Errorf("%q was taken for another key", other)
				}
				want++
			}
		}
		if _, fresh := table.Upsert(append(base, 0)); !fresh {
			t.Errorf("%q with a zero byte behind it was taken for another key", base)
		}
		if table.Len() != want+1 {
			t.Errorf("%d keys, want %d", table.Len(), want+1)
		}
	}
}

// longestRun returns the length of the longest run of used slots.
func longestRun(slots []uint64) (longest int) {
	run := 0
	for _, s := range slots {
		if run++; s == 0 {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// The longest run of used slots bounds the steps of a lookup. With well spread hashes
// it is about a hundred at this load, far below the bound.
func TestSimilarKeysAreSpread(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"%d", "w%05d", "%08d", "1%09d", "%016d", "a rather long key %d", "%c"} {
		table := New[int](&limit{64 << 20})
		for i := range 90_000 { // of 131,072 slots
			table.Upsert(fmt.Appendf(nil, format, i+'a'))
		}
		if longest := longestRun(table.slots); longest > 2000 {
			t.Errorf("keys like %q fill %d slots in a row", format, longest)
		}
	}
}

// TestEverySeedSpreadsSimilarKeys would catch a hash that is good for most tables, but makes
// some tables walk through thousands of slots for each key. The bound is as above: in 60,000
// tables with a good hash the longest run had 202 slots.
func TestEverySeedSpreadsSimilarKeys(t *testing.T) {
	t.Parallel()
	const slots, keys, seeds = 1 << 13, 5_600, 1000
	for _, format := range []string{"%d", "w%05d", "%08d", "1%09d", "%016d"} {
		all := make([][]byte, keys)
		for i := range all {
			all[i] = fmt.Appendf(nil, format, i)
		}
		used := make([]uint64, slots)
		for range seeds {
			clear(used)
			s := newSeed()
			for _, key := range all {
				_, hash := s.hash(key)
				at := hash % slots
				for used[at] != 0 {
					at = (at + 1) % slots
				}
				used[at] = 1
			}
			if longest := longestRun(used); longest > 500 {
				t.Fatalf("with the seed %x, keys like %q fill %d slots in a row", s.short, format, longest)
			}
		}
	}
}

func BenchmarkUpsert(b *testing.B) {
	for _, distinct := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(distinct), func(b *testing.B) {
			keys := make([][]byte, distinct)
			for i := range keys {
				keys[i] = fmt.Append(nil, "w", i)
			}
			rand.New(rand.NewPCG(1, 2)).Shuffle(distinct, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			table := New[int64](&limit{1 << 30})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				key := keys[i]
				if i++; i == distinct {
					i = 0
				}
				v, _ := table.Upsert(key)
				*v++
			}
		})
	}
}

// BenchmarkSorted sorts a table of random keys.
func BenchmarkSorted(b *testing.B) {
	const count = 4_000_000
	table := New[int64](&limit{1 << 30})
	random := rand.New(rand.NewPCG(1, 2))
	for range count {
		table.Upsert(base64.RawURLEncoding.AppendEncode(nil, binary.BigEndian.AppendUint64(nil, random.Uint64())))
	}
	for b.Loop() {
		table.Sorted() // the slots are of no use afterwards
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/key")
}

// It would catch an order by the first bytes alone, a key that comes after another one which it begins, and a record that is there twice or not at all.
func TestSortedIsTheOrderOfTheKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := New[int](&limit{1 << 20})
		var keys []string
		for i, key := range rapid.SliceOfNDistinct(rapid.StringMatching(`(abcdefg)?[ab\x00]{0,12}`), 0, 400, func(s string) string { return s }).Draw(t, "keys") {
			value, _ := table.Upsert([]byte(key))
			*value = i
			keys = append(keys, key)
		}
		var got []string
		for _, at := range table.sorted(rapid.IntRange(4, 5).Draw(t, "bytes beside an index")) {
			key, value := table.At(int(at))
			if keys[*value] != string(key) {
				t.Fatalf("key %q has the value of %q", key, keys[*value])
			}
			got = append(got, string(key))
		}
		want := slices.Sorted(slices.Values(keys))
		if !slices.Equal(got, want) {
			t.Fatalf("order %q, want %q", got, want)
		}
		table.Reset()
		if value, fresh := table.Upsert([]byte("a")); value == nil || !fresh || table.Len() != 1 {
			t.Fatal("the table is no use after Reset")
		}
	})
}
