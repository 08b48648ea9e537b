package keytable_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/keytable"
)

// hashes range from good to hopeless: with a constant hash every lookup walks
// the same run of slots, which shows a probe that stops early or never wraps.
var hashes = map[string]func([]byte) uint64{
	"xxhash":     xxhash.Sum64,
	"same tag":   func(k []byte) uint64 { return xxhash.Sum64(k) & 0xffffffff },
	"same place": func(k []byte) uint64 { return xxhash.Sum64(k) &^ 0xffffffff },
	"constant":   func([]byte) uint64 { return ^uint64(0) },
}

// A table must act as a Go map until its limit, and say so at the limit without
// changing anything. Catches lost or doubled keys in probing, growth and Reset.
func TestTableEqualsMap(t *testing.T) {
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				limit := rapid.Int64Range(0, 200<<10).Draw(t, "limit")
				table := keytable.New[int](limit)
				model := map[string]int{}
				var order []string
				for range rapid.IntRange(0, 3000).Draw(t, "operations") {
					if rapid.IntRange(0, 999).Draw(t, "reset") == 0 {
						table.Reset()
						model, order = map[string]int{}, nil
					}
					key := fmt.Sprint(rapid.IntRange(0, 900).Draw(t, "key"))
					if rapid.IntRange(0, 99).Draw(t, "long") == 0 {
						key = strings.Repeat(key, 2000)
					}
					value, fresh := table.Upsert(hash([]byte(key)), []byte(key))
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
					if table.Bytes() > limit {
						t.Fatalf("table holds %d bytes, limit %d", table.Bytes(), limit)
					}
				}
				gotOrder, got := contents(table, hash, t.Fatalf)
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

func contents(table *keytable.Table[int], hash func([]byte) uint64, fatalf func(string, ...any)) ([]string, map[string]int) {
	var order []string
	values := map[string]int{}
	for i := range table.Len() {
		h, key, value := table.At(i)
		if h != hash(key) {
			fatalf("hash of %.20q is %x, want %x", key, h, hash(key))
		}
		order = append(order, string(key))
		values[string(key)] = *value
	}
	return order, values
}

func TestResetKeepsMemoryAndDropsChargesAndLargeKeys(t *testing.T) {
	table := keytable.New[int64](64 << 20)
	keys := make([][]byte, 5000)
	for i := range keys {
		keys[i] = fmt.Append(nil, "key", i)
	}
	fill := func() {
		for _, key := range keys {
			if v, _ := table.Upsert(xxhash.Sum64(key), key); v == nil {
				t.Fatal("table is full")
			}
		}
	}
	fill()
	before := table.Bytes()
	large := make([]byte, 2<<20)
	if v, _ := table.Upsert(xxhash.Sum64(large), large); v == nil {
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

func TestKeysHaveNoSpareCapacity(t *testing.T) {
	t.Parallel()
	table := keytable.New[int](1 << 20)
	for _, key := range []string{"a", "b"} {
		table.Upsert(xxhash.Sum64String(key), []byte(key))
	}
	_, first, _ := table.At(0)
	_ = append(first, 'x') // must not reach into the arena
	if _, second, _ := table.At(1); string(second) != "b" {
		t.Errorf("second key = %q after an append to the first", second)
	}
}

func TestUpsertOfKnownKeysAllocatesNothing(t *testing.T) {
	table := keytable.New[int64](1 << 20)
	keys := [][]byte{[]byte("to"), []byte("be"), []byte("or"), {}}
	count := func() {
		for _, key := range keys {
			v, _ := table.Upsert(xxhash.Sum64(key), key)
			*v++
		}
	}
	count()
	if allocs := testing.AllocsPerRun(100, count); allocs != 0 {
		t.Errorf("%v allocations per lookup round, want 0", allocs)
	}
}

func BenchmarkUpsert(b *testing.B) {
	for _, distinct := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(distinct), func(b *testing.B) {
			keys := make([][]byte, distinct)
			for i := range keys {
				keys[i] = []byte(fmt.Sprint("w", i*7919%distinct))
			}
			slices.SortFunc(keys, func(a, b []byte) int { return int(xxhash.Sum64(a)>>33) - int(xxhash.Sum64(b)>>33) })
			table := keytable.New[int64](1 << 30)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				key := keys[i]
				if i++; i == distinct {
					i = 0
				}
				v, _ := table.Upsert(xxhash.Sum64(key), key)
				*v++
			}
		})
	}
}
