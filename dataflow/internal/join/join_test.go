package join

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill/spilltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record is a record of an input.
type record struct{ key, value string }

// collected counts the results: pairs as "build|probe", and records without a partner as "build|" or "|probe".
type collected struct {
	t     *rapid.T
	count map[string]int
	probe string
	fail  int // the call that fails; 0: none
}

var errOutput = errors.New("the function has failed")

func (c *collected) called() error {
	if c.fail--; c.fail == 0 {
		return errOutput
	}
	return nil
}

func (c *collected) Match(build, probe []byte, again bool) error {
	if again && c.probe != string(probe) {
		c.t.Fatalf("probe %q is not %q, as in the call before", probe, c.probe)
	}
	c.probe = string(probe)
	c.count[string(build)+"|"+string(probe)]++
	return c.called()
}

func (c *collected) Alone(side Side, value []byte) error {
	c.count[[]string{string(value) + "|", "|" + string(value)}[side]]++
	return c.called()
}

// naive is the join as two loops.
func naive(sides [2][]record, outer [2]bool) map[string]int {
	count := map[string]int{}
	for side, mine := range sides {
		partners := map[string][]string{}
		for _, r := range sides[1-side] {
			partners[r.key] = append(partners[r.key], r.value)
		}
		for _, r := range mine {
			if len(partners[r.key]) == 0 && outer[side] {
				count[[]string{r.value + "|", "|" + r.value}[side]]++
			}
			for _, other := range partners[r.key] {
				if side == int(Build) {
					count[r.value+"|"+other]++
				}
			}
		}
	}
	return count
}

// drawSide draws the records of a side. Keys are unique, or shared by some records, or nearly all records have one.
func drawSide(t *rapid.T, name string) []record {
	count := int(math.Exp(rapid.Float64Range(0, 7).Draw(t, name+": log of the count"))) - 1
	keys := rapid.SampledFrom([]int{1, 3, 100, 2000}).Draw(t, name+": keys")
	hot := rapid.SampledFrom([]float64{0, 0, 0.1, 0.9}).Draw(t, name+": part of the hot key")
	length := rapid.SampledFrom([]int{0, 20, 500}).Draw(t, name+": length")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name+": seed"), 0))
	all := make([]record, count)
	budget := 300 // of records of the hot key, because the result has their product
	for i := range all {
		key := fmt.Sprint("key", r.IntN(keys))
		if keys < 100 && budget < 0 || r.Float64() < hot && budget > 0 {
			key = "hot"
		}
		if key == "hot" || keys < 100 {
			if budget--; budget < -200 {
				key = fmt.Sprint("more", name, i)
			}
		}
		if i%97 == 0 {
			key = ""
		}
		value := fmt.Sprint(name, i)
		if length > 0 {
			value += string(make([]byte, r.IntN(length)))
		}
		if length == 500 && r.IntN(100) == 0 {
			value += string(make([]byte, 3000)) // larger than a page
		}
		all[i] = record{key, value}
	}
	return all
}

// newJoin makes a join with far less memory than a job gives, so that a few records fill files.
func newJoin(t *rapid.T, c Config) Join {
	if rapid.Bool().Draw(t, "hash") {
		h, err := NewHash(c)
		if err != nil {
			t.Fatal(err)
		}
		h.table.pageSize = rapid.SampledFrom([]int{128, 1 << 10, 1 << 14}).Draw(t, "page")
		h.table.limit = int64(rapid.SampledFrom([]int{0, 3 << 10, 30 << 10, 1 << 20}).Draw(t, "memory"))
		h.table.coldSlots = rapid.SampledFrom([]int{1, 64, coldSlots}).Draw(t, "slots from which on probes wait for each other")
		return h
	}
	m, err := NewMerge(c)
	if err != nil {
		t.Fatal(err)
	}
	m.block.limit = int64(rapid.SampledFrom([]int{0, blockPage, 1 << 20}).Draw(t, "memory"))
	return m
}

// run runs a join from its first record to its end.
func run(ctx context.Context, j Join, sides [2][]record) error {
	for side, records := range sides {
		for _, r := range records {
			key, value := []byte(r.key), []byte(r.value)
			if err := j.Add(ctx, Side(side), key, value); err != nil {
				return err
			}
			clear(key) // the join has its own copy
			clear(value)
		}
		if err := j.End(ctx, Side(side)); err != nil {
			return err
		}
	}
	for {
		if more, err := j.Step(ctx); !more || err != nil {
			return err
		}
	}
}

// fickle is a budget of MinMemory that sometimes grants more, and sometimes wants it back.
type fickle struct {
	random *rand.Rand
	refuse int // percent
	share  int64
	held   int64
}

func (f *fickle) often() bool  { return f.random.IntN(100) < f.refuse }
func (f *fickle) Share() int64 { return f.share }

func (f *fickle) Take(bytes int64) bool {
	if f.held+bytes > MinMemory && f.often() {
		return false
	}
	f.held += bytes
	return true
}

func (f *fickle) Give(bytes int64) {
	if f.held -= bytes; f.held < 0 || bytes < 0 {
		panic("a join gives back more than it has taken")
	}
}

func (f *fickle) Excess() int64 {
	if f.held > MinMemory && f.often() {
		return f.held - MinMemory
	}
	return 0
}

func drawBudget(t *rapid.T) *fickle {
	return &fickle{
		random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed of the budget"), 0)),
		refuse: rapid.SampledFrom([]int{0, 10, 90, 100}).Draw(t, "percent that the budget refuses"),
		share:  rapid.SampledFrom([]int64{0, MinMemory, 8 << 20}).Draw(t, "share"),
	}
}

func drawConfig(t *rapid.T, disk *spilltest.Disk, to Output) Config {
	return Config{
		Budget: drawBudget(t), Dirs: spill.NewDirs(disk, spill.S2, "/a", "/b"), Output: to,
		Outer: [2]bool{rapid.Bool().Draw(t, "outer build"), rapid.Bool().Draw(t, "outer probe")},
	}
}

func closed(t *rapid.T, j Join, c Config, disk *spilltest.Disk) {
	held := func() int64 { return c.Budget.(*fickle).held }
	if err := errors.Join(j.Close(), j.Close()); err != nil || disk.Open() != 0 || held() != 0 {
		t.Errorf("close: error %v, %d files and %d bytes are left", err, disk.Open(), held())
	}
}

// For any inputs, kinds and memory, a join equals two loops. It would catch a pair that is lost or doubled between memory, files, the
// next division and the blocks of a large key, and an outer record that is passed on although it has a partner.
func TestJoinEqualsTwoLoops(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		disk, got := &spilltest.Disk{}, &collected{t: t, count: map[string]int{}}
		c := drawConfig(t, disk, got)
		sides := [2][]record{drawSide(t, "build"), drawSide(t, "probe")}
		j := newJoin(t, c)
		if err := run(t.Context(), j, sides); err != nil {
			t.Fatal(err)
		}
		closed(t, j, c, disk)
		want := naive(sides, c.Outer)
		for pair, n := range want {
			if got.count[pair] != n {
				t.Fatalf("%.60q comes %d times, want %d", pair, got.count[pair], n)
			}
		}
		if len(got.count) != len(want) {
			t.Fatalf("%d different results, want %d", len(got.count), len(want))
		}
	})
}

// Any operation of the disk fails, a bit of each file changes, the output fails or the context ends. It would catch a result that is
// wrong without an error, an error without its cause, and files that are left.
func TestAFailedJoinSaysWhy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		disk, got := &spilltest.Disk{}, &collected{t: t, count: map[string]int{}}
		c := drawConfig(t, disk, got)
		sides := [2][]record{drawSide(t, "build"), drawSide(t, "probe")}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		at := int(math.Exp(rapid.Float64Range(0, 5).Draw(t, "log of the operation")))
		fails, operation := error(nil), ""
		happened := false
		switch operation = rapid.SampledFrom([]string{"write", "read", "corrupt", "output", "cancel"}).Draw(t, "failure"); operation {
		case "output":
			fails, got.fail = errOutput, at
		case "cancel":
			fails = errors.New("region restarts")
			cancel(fails)
		case "corrupt":
			fails = spill.ErrCorrupt
		default:
			fails = errors.New("input/output error")
		}
		operations := 0
		disk.Fault = func(op, _ string) error {
			switch {
			case op == operation:
				if operations++; operations >= at {
					happened = true
					return fails
				}
			case op == "read" && operation == "corrupt":
				if operations++; operations == at {
					happened = true
					disk.Edit(func(content []byte) []byte {
						content[len(content)-1] ^= 1
						return content
					})
				}
			}
			return nil
		}
		j := newJoin(t, c)
		err := run(ctx, j, sides)
		happened = happened || got.fail <= 0 && operation == "output"
		if err != nil && !errors.Is(err, fails) || err == nil && (happened && operation != "corrupt" || operation == "cancel") {
			t.Fatalf("error %v, want %v", err, fails)
		}
		if err == nil && fmt.Sprint(got.count) != fmt.Sprint(naive(sides, c.Outer)) {
			t.Fatal("the result is wrong, and there is no error")
		}
		closed(t, j, c, disk)
	})
}

// Two keys whose records alternate between both sides would mix if one key with its side could sort between the sides of the other one.
func TestKeysDoNotSortIntoEachOther(t *testing.T) {
	t.Parallel()
	var keys [][]byte
	for _, key := range []string{"", "a", "a\x00", "a\x00\x01", "a\x01", "\x00"} {
		for side := range Side(2) {
			keys = append(keys, appendTagged(nil, []byte(key), side))
		}
	}
	sorted := slices.SortedFunc(slices.Values(keys), bytes.Compare)
	for i := 0; i < len(sorted); i += 2 {
		if a, b := sorted[i], sorted[i+1]; string(a[:len(a)-1]) != string(b[:len(b)-1]) {
			t.Errorf("%q stands beside %q", a, b)
		}
	}
}

// The memory of a join must not grow with its inputs: one key, whose records exceed memory on both sides, and many keys.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key   func(n int) int
		merge bool
	}{
		"many keys": {func(n int) int { return n }, false}, "one key": {func(int) int { return 1 }, false}, "one key, sorted": {func(int) int { return 1 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := &spilltest.Disk{}
			pairs := &counter{}
			budget := &fickle{random: rand.New(rand.NewPCG(1, 0)), refuse: 100, share: MinMemory}
			j := newJoinOf(t, c.merge, Config{Budget: budget, Dirs: spill.NewDirs(disk, spill.None, "/a"), Output: pairs})
			const builds, probes = 6000, 700
			value := make([]byte, 500)
			var key [8]byte
			for side, count := range []int{builds, probes} {
				for n := range count {
					binary.BigEndian.PutUint64(key[:], uint64(c.key(n)))
					if err := j.Add(t.Context(), Side(side), key[:], value); err != nil {
						t.Fatal(err)
					}
				}
				if err := j.End(t.Context(), Side(side)); err != nil {
					t.Fatal(err)
				}
			}
			for more := true; more; {
				var err error
				if more, err = j.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
				if held := holds(j); held > budget.held || budget.held > MinMemory {
					t.Fatalf("the join holds %d bytes, and has taken %d", held, budget.held)
				}
			}
			want := probes
			if c.key(0) == c.key(1) {
				want = builds * probes
			}
			if pairs.pairs != want {
				t.Errorf("%d pairs, want %d", pairs.pairs, want)
			}
			if disk.Peak() == 0 {
				t.Error("nothing went to files: the test needs more records")
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func newJoinOf(t testing.TB, merge bool, c Config) Join {
	j, err := New(!merge, c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// A budget that does not grant MinMemory is no reason for a panic, and nothing of it stays with the join.
func TestAJoinNeedsMemory(t *testing.T) {
	t.Parallel()
	for _, held := range []int64{900 << 10, 600 << 10} { // nothing is left for the sorter, or for the rest
		budget := &fickle{random: rand.New(rand.NewPCG(1, 0)), refuse: 100, held: held}
		c := Config{Budget: budget, Dirs: spill.NewDirs(&spilltest.Disk{}, spill.None, "/a")}
		if _, err := NewMerge(c); !errors.Is(err, extsort.ErrNoMemory) || budget.held != held {
			t.Errorf("a merge: error %v, %d bytes are held", err, budget.held)
		}
		if _, err := NewHash(c); !errors.Is(err, extsort.ErrNoMemory) || budget.held != held {
			t.Errorf("a hash join: error %v, %d bytes are held", err, budget.held)
		}
	}
}

// holds is the memory of a join, without that of readers.
func holds(j Join) int64 {
	h, is := j.(*Hash)
	if !is {
		return j.(*Merge).block.held
	}
	n := int64(len(h.table.index)) * 8
	for _, page := range slices.Concat(h.table.pages, h.table.spare) {
		n += int64(cap(page))
	}
	for i := range h.partitions {
		for _, file := range h.partitions[i].files {
			if file != nil {
				n += spill.AppenderMemory
			}
		}
	}
	if h.merge != nil {
		n += h.merge.block.held
	}
	return n
}

// counter counts the results.
type counter struct{ pairs, alone int }

func (c *counter) Match([]byte, []byte, bool) error { c.pairs++; return nil }
func (c *counter) Alone(Side, []byte) error         { c.alone++; return nil }
