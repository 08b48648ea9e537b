package ranges_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/ranges"
)

type weighted struct {
	key    []byte
	weight float64
}

// It would catch bounds that are out of order, and a range that is much larger than the others although no key is.
func TestRangesHaveAboutTheSameWeight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.Custom(func(t *rapid.T) weighted {
			return weighted{rapid.SliceOfN(rapid.ByteRange('a', 'c'), 0, 4).Draw(t, "key"), float64(rapid.IntRange(1, 100).Draw(t, "weight"))}
		})).Draw(t, "keys")
		n := rapid.IntRange(1, 12).Draw(t, "ranges")
		slices.SortStableFunc(keys, func(a, b weighted) int { return bytes.Compare(a.key, b.key) })
		total, heaviest, of := 0.0, 0.0, map[string]float64{}
		for _, k := range keys {
			total += k.weight
			of[string(k.key)] += k.weight
			heaviest = max(heaviest, of[string(k.key)])
		}
		chooser := ranges.NewChooser(n, total)
		var found ranges.Ranges
		add := func(bound []byte) {
			if bound == nil {
				return
			}
			if err := found.Add(bound); err != nil {
				t.Fatalf("bound %q: %v", bound, err)
			}
		}
		for _, k := range keys {
			add(chooser.Add(k.key, k.weight))
		}
		add(chooser.End())
		if found.Len() > n {
			t.Fatalf("%d ranges, want at most %d", found.Len(), n)
		}
		weights, last := make([]float64, found.Len()), 0
		for _, k := range keys {
			at := found.Find(k.key)
			if at < last {
				t.Fatalf("%q is in range %d, and a smaller key in %d", k.key, at, last)
			}
			last = at
			weights[at] += k.weight
		}
		for at, weight := range weights {
			if most := total/float64(n) + heaviest; weight > most+1e-6 {
				t.Fatalf("range %d weighs %g, want at most %g: %v", at, weight, most, keys)
			}
		}
	})
}

// It would catch a bound that is chosen by the weight of a part of a key, and a heavy key that shares a range though a range of its own
// would be nearer to even shares.
func TestBoundsAreNearestToEvenShares(t *testing.T) {
	t.Parallel()
	for want, keys := range map[string][]weighted{
		"aa":  {{[]byte("a"), 2}, {[]byte("a"), 1}, {[]byte("aa"), 2}},
		"c x": {{[]byte("a"), 2}, {[]byte("b"), 2}, {[]byte("c"), 1}, {[]byte("d"), 1}, {[]byte("x"), 3}, {[]byte("x"), 3}},
	} {
		total := 0.0
		for _, k := range keys {
			total += k.weight
		}
		chooser := ranges.NewChooser(3, total)
		var bounds []string
		for _, k := range keys {
			if bound := chooser.Add(k.key, k.weight); bound != nil {
				bounds = append(bounds, string(bound))
			}
		}
		if bound := chooser.End(); bound != nil {
			bounds = append(bounds, string(bound))
		}
		if got := strings.Join(bounds, " "); got != want {
			t.Errorf("bounds %q, want %q", got, want)
		}
	}
}

// The model counts the bounds that are not above a key.
func TestFindIsTheModels(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 3)
		all := rapid.SliceOf(key).Draw(t, "bounds")
		slices.SortFunc(all, bytes.Compare)
		all = slices.CompactFunc(all, bytes.Equal)
		var r ranges.Ranges
		for _, bound := range all {
			if err := r.Add(bound); err != nil {
				t.Fatal(err)
			}
		}
		k := key.Draw(t, "key")
		if got, want := r.Find(k), sort.Search(len(all), func(i int) bool { return bytes.Compare(all[i], k) > 0 }); got != want {
			t.Fatalf("range %d, want %d", got, want)
		}
	})
}

func TestBoundsMustBeInOrder(t *testing.T) {
	t.Parallel()
	for _, second := range []string{"b", "a", ""} {
		var r ranges.Ranges
		if err := errors.Join(r.Add([]byte("b")), r.Add([]byte(second))); !errors.Is(err, ranges.ErrOrder) {
			t.Errorf("%q behind b: error %v", second, err)
		}
	}
}

// It would catch a sample that depends on where a key is in the input: half of each sample must be of each half of the input, also
// if long keys make the sample smaller in the middle.
func TestASampleIsOfTheWholeInput(t *testing.T) {
	t.Parallel()
	const n = 100_000
	long := bytes.Repeat([]byte("x"), 2*ranges.MaxKey)
	r := ranges.NewReservoir(7)
	for i := range n {
		key := fmt.Appendf(nil, "%06d", i)
		if i >= n/4 && i < n/2 {
			key = append(key, long...)
		}
		r.Add(key)
	}
	size, second := 0, 0
	for _, key := range r.Sample() {
		size += len(key)
		if string(key) >= fmt.Sprintf("%06d", n/2) {
			second++
		}
	}
	if all := len(r.Sample()); all < 256 || size > ranges.MaxSampleBytes || second < all*4/10 || second > all*6/10 {
		t.Errorf("%d keys with %d bytes, %d of the second half", all, size, second)
	}
	if r.Count() != n {
		t.Errorf("%d keys were counted, want %d", r.Count(), n)
	}
}

// Two attempts of a task must agree.
func TestASampleDependsOnTheSeedAlone(t *testing.T) {
	t.Parallel()
	sample := func(seed uint64) []byte {
		r := ranges.NewReservoir(seed)
		for i := range 5000 {
			r.Add(fmt.Appendf(nil, "%d", i))
		}
		return bytes.Join(r.Sample(), []byte(" "))
	}
	if !bytes.Equal(sample(1), sample(1)) || bytes.Equal(sample(1), sample(2)) {
		t.Error("samples with the same seed differ, or samples with two seeds are equal")
	}
}

func BenchmarkReservoir(b *testing.B) {
	r, key := ranges.NewReservoir(1), []byte("0123456789")
	b.ReportAllocs()
	for b.Loop() {
		r.Add(key)
	}
}

func BenchmarkFind(b *testing.B) {
	var r ranges.Ranges
	for i := range 999 {
		if err := r.Add(fmt.Appendf(nil, "%04d", i)); err != nil {
			b.Fatal(err)
		}
	}
	key := []byte("0567 and more")
	b.ReportAllocs()
	for b.Loop() {
		r.Find(key)
	}
}
