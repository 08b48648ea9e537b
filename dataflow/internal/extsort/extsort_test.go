package extsort

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill/spilltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is a budget of so many bytes.
type limit struct {
	free, taken, peak int64
	excess            func() bool // whether it wants memory back
}

func (l *limit) Excess() int64 {
	if l.excess != nil && l.excess() {
		return l.taken
	}
	return 0
}

func (l *limit) Take(bytes int64) bool {
	if bytes > l.free {
		return false
	}
	l.free -= bytes
	l.taken += bytes
	l.peak = max(l.peak, l.taken)
	return true
}

func (l *limit) Give(bytes int64) {
	l.free += bytes
	l.taken -= bytes
	if l.taken < 0 || bytes < 0 {
		panic("a sorter gives back more than it has taken")
	}
}

// input draws records for a sort in files, or for one in memory. Many keys are
// short, equal, beginnings of others, or have a long common beginning.
type input struct {
	keys   func(*rand.Rand) []byte
	values func(*rand.Rand) []byte
	count  int
	seed   uint64
}

func drawInput(t *rapid.T) input {
	fill := func(r *rand.Rand, length, symbols int) []byte {
		b := make([]byte, length)
		bits := uint64(0)
		for i := range b {
			if i%8 == 0 {
				bits = r.Uint64()
			}
			b[i] = byte(int(byte(bits)) % symbols * (255 / (symbols - 1)))
			bits >>= 8
		}
		return b
	}
	keys := map[string]func(r *rand.Rand) []byte{
		"random": func(r *rand.Rand) []byte { return fill(r, r.IntN(20), 256) },
		"short":  func(r *rand.Rand) []byte { return fill(r, r.IntN(10), 2) },
		"beginning": func(r *rand.Rand) []byte {
			return append(bytes.Repeat([]byte("x"), 8*r.IntN(3)+30), fill(r, r.IntN(12), 3)...)
		},
		"deep":   func(r *rand.Rand) []byte { return append(make([]byte, maxDepth+r.IntN(9)), fill(r, r.IntN(3), 3)...) },
		"skewed": func(r *rand.Rand) []byte { return fmt.Appendf(nil, "key-%d", int(1/(r.Float64()+1e-5))) },
		"equal":  func(*rand.Rand) []byte { return []byte("always the same key") },
	}
	values := map[string]func(r *rand.Rand) []byte{
		"none":   func(*rand.Rand) []byte { return nil },
		"small":  func(r *rand.Rand) []byte { return fill(r, r.IntN(200), 16) },
		"blocks": func(r *rand.Rand) []byte { return fill(r, r.IntN(3000)*(r.IntN(8)/7)*4, 16) },
	}
	return input{
		keys:   keys[rapid.SampledFrom(slices.Sorted(maps.Keys(keys))).Draw(t, "keys")],
		values: values[rapid.SampledFrom(slices.Sorted(maps.Keys(values))).Draw(t, "values")],
		count:  int(math.Exp(rapid.Float64Range(0, 9).Draw(t, "log of the count"))),
		seed:   rapid.Uint64().Draw(t, "seed"),
	}
}

// each calls f for each record, always with the same ones.
func (in input) each(f func(key, value []byte) error) error {
	r := rand.New(rand.NewPCG(in.seed, 0))
	for range in.count {
		if err := f(in.keys(r), in.values(r)); err != nil {
			return err
		}
	}
	return nil
}

// rig is a Sorter with all that it works with.
type rig struct {
	*Sorter
	disk   *spilltest.Disk
	budget *limit
}

func newRig(t *rapid.T, combiner Combiner) *rig {
	total := MinMemory + rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 3<<20)).Draw(t, "memory beyond the minimum")
	excess := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed of the excess"), 0))
	often := rapid.SampledFrom([]int{0, 1, 10}).Draw(t, "tenths of the times when the budget wants memory back")
	r := &rig{disk: &spilltest.Disk{}, budget: &limit{free: int64(total), excess: func() bool { return excess.IntN(10) < often }}}
	c := rapid.SampledFrom([]spill.Compression{spill.S2, spill.None}).Draw(t, "compression")
	s, err := New(Config{Budget: r.budget, Dirs: spill.NewDirs(r.disk, c, "/a", "/b"), Combiner: combiner})
	if err != nil {
		t.Fatal(err)
	}
	r.Sorter = s
	r.fanIn = rapid.IntRange(2, 5).Draw(t, "fan-in")
	return r
}

// pair is a record. A group of records with the same key has its values in order.
type pair struct{ key, value string }

// sorted runs a sort from its first Add to its end, and stops at its first error.
func (r *rig) sorted(ctx context.Context, t *rapid.T, in input) ([]pair, error) {
	n := 0
	err := in.each(func(key, value []byte) error {
		if n++; n%500 == 0 {
			r.check(t)
		}
		err := r.Add(ctx, key, value)
		clear(key) // the Sorter has its own copy
		clear(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	out, err := r.Sort(ctx)
	if err != nil {
		return nil, err
	}
	var got []pair
	for begin := 0; ; {
		key, value, err := out.Next()
		if err == nil && out.SameKey() != (len(got) > 0 && string(key) == got[len(got)-1].key) {
			t.Fatalf("SameKey is %v for key %q after %q", out.SameKey(), key, got[max(0, len(got)-1):])
		}
		if err != nil || !out.SameKey() {
			slices.SortFunc(got[begin:], func(a, b pair) int { return strings.Compare(a.value, b.value) })
			begin = len(got)
		}
		if err != nil {
			r.check(t)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return got, err
		}
		got = append(got, pair{string(key), string(value)})
	}
}

// holds is the memory of the sorter, without that of readers.
func (r *rig) holds() int64 {
	n := spill.WriterMemory() + int64(cap(r.arena.index))*entrySize + int64(cap(r.current.bytes)+cap(r.last.bytes))
	for _, page := range r.arena.pages {
		n += int64(cap(page))
	}
	return n
}

// check compares the memory that the sorter has with what it has taken, if all
// records are small.
func (r *rig) check(t *rapid.T) {
	used, held := r.account.used, r.account.held
	if r.holds() > used || used > held || held < MinMemory || held != r.budget.taken {
		t.Fatalf("the sorter has %d bytes, uses %d, holds %d; the budget has given %d", r.holds(), used, held, r.budget.taken)
	}
}

// close checks that nothing is left.
func (r *rig) close(t *rapid.T) error {
	err := r.Close()
	if again := r.Close(); again != nil {
		t.Errorf("second Close: %v", again)
	}
	if r.disk.Open() != 0 || r.budget.taken != 0 {
		t.Errorf("%d files and %d bytes are left", r.disk.Open(), r.budget.taken)
	}
	return err
}

// model sorts without the package.
func model(in input) []pair {
	var all []pair
	_ = in.each(func(key, value []byte) error {
		all = append(all, pair{string(key), string(value)})
		return nil
	})
	slices.SortFunc(all, func(a, b pair) int {
		if a.key != b.key {
			return strings.Compare(a.key, b.key)
		}
		return strings.Compare(a.value, b.value)
	})
	return all
}

func compare(t *rapid.T, got, want []pair) {
	if slices.Equal(got, want) {
		return
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("record %d of %d is %.60q, want %.60q", i, len(got), got[i], want[i])
		}
	}
	t.Fatalf("%d records, want %d", len(got), len(want))
}

// Catches records that are lost, doubled or out of order in the arena, the radix
// sort, the files or the merges; memory beyond the budget; and merges that copy more
// than promised.
func TestSortEqualsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		r := newRig(t, nil)
		got, err := r.sorted(t.Context(), t, in)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, got, model(in))
		if err := r.close(t); err != nil {
			t.Error(err)
		}
	})
}

// concat is a Combiner whose results grow.
type concat struct {
	bytes []byte
	ended bool
}

func (c *concat) Begin(_, value []byte) error {
	c.bytes, c.ended = append(c.bytes[:0], value...), false
	return nil
}

func (c *concat) Fold(value []byte) error {
	if c.ended {
		return errors.New("fold after the result")
	}
	c.bytes = append(c.bytes, value...)
	return nil
}

func (c *concat) Result(dst []byte) ([]byte, error) {
	c.ended = true
	slices.Sort(c.bytes)
	return append(dst, c.bytes...), nil
}

func letter(r *rand.Rand) []byte { return []byte{byte('a' + r.IntN(26))} }

// Catches values that are folded twice or never, and a key that comes twice.
func TestCombineEqualsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.values = letter
		r := newRig(t, &concat{})
		got, err := r.sorted(t.Context(), t, in)
		if err != nil {
			t.Fatal(err)
		}
		var want []pair
		for _, p := range model(in) {
			if n := len(want); n > 0 && want[n-1].key == p.key {
				want[n-1].value += p.value
			} else {
				want = append(want, p)
			}
		}
		compare(t, got, want)
		if err := r.close(t); err != nil {
			t.Error(err)
		}
	})
}

var errDisk = errors.New("input/output error")

// Any operation of the disk fails, once or for ever. Catches a wrong result without
// an error, an error without its cause, and files or memory that are left.
func TestDiskErrorsAreReportedOrOvercome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		combiner := Combiner(nil)
		if rapid.Bool().Draw(t, "combine") {
			combiner, in.values = &concat{}, letter
		}
		r := newRig(t, combiner)
		first := int(math.Exp(rapid.Float64Range(0, 6).Draw(t, "log of the first failure")))
		last := first + rapid.SampledFrom([]int{0, 1, math.MaxInt32}).Draw(t, "more failures")
		operations, failed := 0, false
		r.disk.Fault = func(operation, dir string) error {
			operations++
			if operations < first || operations > last {
				return nil
			}
			failed = true
			return fmt.Errorf("%s in %s: %w", operation, dir, errDisk)
		}
		got, err := r.sorted(t.Context(), t, in)
		switch {
		case err == nil && combiner == nil:
			compare(t, got, model(in))
		case err != nil && !(failed && errors.Is(err, errDisk)):
			t.Fatalf("error %v, want the disk's", err)
		}
		if err := r.close(t); err != nil && !errors.Is(err, errDisk) {
			t.Errorf("close: %v", err)
		}
	})
}

// A bit of each file changes at any time. Catches a changed record in the result, and
// one that is missing there.
func TestCorruptFilesFail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.count += 3000
		in.values = func(r *rand.Rand) []byte { return make([]byte, 300+r.IntN(100)) }
		r := newRig(t, nil)
		at, bit := rapid.IntRange(1, 30).Draw(t, "read"), rapid.IntRange(0, 7).Draw(t, "bit")
		reads := 0
		r.disk.Fault = func(operation, _ string) error {
			if operation != "read" {
				return nil
			}
			if reads++; reads == at {
				r.disk.Edit(func(content []byte) []byte {
					content[len(content)-1] ^= 1 << bit
					return content
				})
			}
			return nil
		}
		got, err := r.sorted(t.Context(), t, in)
		switch {
		case err == nil && at > 1: // perhaps all was already read
			compare(t, got, model(in))
		case !errors.Is(err, spill.ErrCorrupt) && reads > 0:
			t.Fatalf("error %v, want ErrCorrupt", err)
		}
		if err := r.close(t); err != nil {
			t.Error(err)
		}
	})
}

// Catches files and memory that are left by a task that ends early.
func TestCloseAtAnyTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		r := newRig(t, nil)
		stop := errors.New("stop")
		left := rapid.IntRange(0, 2*in.count).Draw(t, "steps")
		step := func() bool { left--; return left < 0 }
		err := in.each(func(key, value []byte) error {
			if step() {
				return stop
			}
			return r.Add(t.Context(), key, value)
		})
		if err == nil {
			out, err := r.Sort(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for !step() {
				if _, _, err := out.Next(); err != nil {
					break
				}
			}
		}
		if err := r.close(t); err != nil {
			t.Error(err)
		}
	})
}
