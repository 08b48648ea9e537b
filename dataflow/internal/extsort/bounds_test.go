package extsort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill/spilltest"
)

// Catches merges that copy records too often, and too many open files.
func TestTheWorkInFilesIsBounded(t *testing.T) {
	t.Parallel()
	const records, size = 2000, 10_000
	for _, k := range []int{2, 3, 8} {
		disk := &spilltest.Disk{}
		add := func(fanIn int) *Sorter {
			s, err := New(Config{
				Budget: &limit{free: MinMemory + int64(k)*(3*spill.BlockSize)},
				Dirs:   spill.NewDirs(disk, spill.None, "/a"),
			})
			if err != nil {
				t.Fatal(err)
			}
			s.fanIn = fanIn
			random := rand.New(rand.NewPCG(1, 2))
			value := make([]byte, size)
			for range records {
				if err := s.Add(t.Context(), randomKey(random, nil), value); err != nil {
					t.Fatal(err)
				}
			}
			return s
		}
		closeAll := func(s *Sorter) {
			if err := s.Close(); err != nil || disk.Open() != 0 {
				t.Errorf("close: %v, %d files are left", err, disk.Open())
			}
		}
		unmerged := add(math.MaxInt / 2)
		runs := len(unmerged.runs) + 1
		closeAll(unmerged)

		*disk = spilltest.Disk{}
		s := add(k)
		if _, err := s.Sort(t.Context()); err != nil {
			t.Fatal(err)
		}
		levels := math.Log(float64(runs)) / math.Log(float64(k))
		if copies := float64(s.Spilled()) / (records * size); copies > 1.02*(2+levels) { // 2 % are lengths and headers
			t.Errorf("%d runs, %d at once: each record was written %.1f times", runs, k, copies)
		}
		if most := 2 * float64(k) * (levels + 1); float64(disk.Peak()) > most {
			t.Errorf("%d runs, %d at once: %d open files, want at most %.0f", runs, k, disk.Peak(), most)
		}
		closeAll(s)
	}
}

// Records that exceed the budget come among small ones. Catches one that is lost, and
// memory for more than five of them.
func TestRecordsBeyondTheBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := []int{0, 10, 100, 10_000, smallBuffer, spill.BlockSize, 300_000, MinMemory, 1_000_000}
		in := input{
			keys: func(r *rand.Rand) []byte {
				return fmt.Appendf(nil, "%*d", sizes[r.IntN(len(sizes))]*r.IntN(2)*r.IntN(2), r.IntN(5))
			},
			values: func(r *rand.Rand) []byte { return make([]byte, sizes[r.IntN(len(sizes))]) },
			count:  rapid.IntRange(0, 12).Draw(t, "count"),
			seed:   rapid.Uint64().Draw(t, "seed"),
		}
		combiner, longest := Combiner(nil), int64(2_000_020)
		if rapid.Bool().Draw(t, "combine") {
			combiner, longest = &concat{}, 14_000_000
		}
		r := newRig(t, combiner)
		r.disk.Fault = func(string, string) error { // looks into the middle of Add, Sort and Next
			if beyond := r.account.used - r.account.held; beyond > 5*longest {
				t.Fatalf("%d bytes beyond the budget", beyond)
			}
			if r.holds() > r.account.used {
				t.Fatalf("the sorter has %d bytes, uses %d", r.holds(), r.account.used)
			}
			return nil
		}
		if err := in.each(func(key, value []byte) error { return r.Add(t.Context(), key, value) }); err != nil {
			t.Fatal(err)
		}
		out, err := r.Sort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]int{}, map[string]int{}
		for _, p := range model(in) {
			want[p.key] += len(p.value)
		}
		for last := ""; ; {
			key, value, err := out.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || string(key) < last {
				t.Fatalf("error %v, key order %v", err, string(key) >= last)
			}
			last = string(key)
			got[last] += len(value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("bytes of values by key (-want +got):\n%.1000s", diff)
		}
		if err := r.close(t); err != nil {
			t.Error(err)
		}
	})
}

func TestTheLargestRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a gigabyte of memory; TestRecordsBeyondTheBudget does the same with smaller records")
	}
	s, err := New(Config{Budget: &limit{free: MinMemory}, Dirs: spill.NewDirs(&spilltest.Disk{}, spill.S2, "/a")})
	if err != nil {
		t.Fatal(err)
	}
	value := make([]byte, MaxRecord)
	if err := s.Add(t.Context(), []byte("k"), value); !errors.Is(err, spill.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
	if err := s.Add(t.Context(), []byte("k"), value[1:]); err != nil {
		t.Fatal(err)
	}
	out, err := s.Sort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if key, got, err := out.Next(); string(key) != "k" || len(got) != len(value)-1 || err != nil {
		t.Errorf("key %q, %d bytes, error %v", key, len(got), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestABudgetBelowTheMinimum(t *testing.T) {
	t.Parallel()
	budget := &limit{free: MinMemory - 1}
	if _, err := New(Config{Budget: budget}); !errors.Is(err, ErrNoMemory) || budget.taken != 0 {
		t.Errorf("error %v, want ErrNoMemory; %d bytes are taken", err, budget.taken)
	}
	if need := spill.WriterMemory() + 2*(&spill.Run{}).ReaderMemory() + 2*smallBuffer; need > MinMemory {
		t.Errorf("the minimum is less than the %d bytes that a merge of two needs", need)
	}
}

// Catches a cancelled task that goes on merging for minutes.
func TestCancelEndsMerges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.count += 2000
		r := newRig(t, nil)
		gone := errors.New("the job was cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		at := rapid.IntRange(1, 20).Draw(t, "created file")
		r.disk.Fault = func(operation, _ string) error {
			if operation == "create" {
				if at--; at == 0 {
					cancel(gone)
				}
			}
			return nil
		}
		if _, err := r.sorted(ctx, t, in); (err != nil || at <= 0) && !errors.Is(err, gone) {
			t.Errorf("error %v, want the cause of the context", err)
		}
		if err := r.close(t); err != nil {
			t.Error(err)
		}
	})
}

// failing is a Combiner whose n-th call fails.
type failing struct {
	concat
	n int
}

var errCombine = errors.New("value cannot be decoded")

func (f *failing) fail() error {
	if f.n--; f.n == 0 {
		return errCombine
	}
	return nil
}

func (f *failing) Begin(key, value []byte) error {
	return errors.Join(f.concat.Begin(key, value), f.fail())
}
func (f *failing) Fold(value []byte) error { return errors.Join(f.concat.Fold(value), f.fail()) }
func (f *failing) Result(dst []byte) ([]byte, error) {
	dst, _ = f.concat.Result(dst)
	return dst, f.fail()
}

// Catches an error of user code that is lost, or taken for one of the disk.
func TestCombinerErrorsEndTheSort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.values = letter
		combiner := &failing{n: rapid.IntRange(1, 5000).Draw(t, "call")}
		r := newRig(t, combiner)
		_, err := r.sorted(t.Context(), t, in)
		if failed := combiner.n <= 0; failed != errors.Is(err, errCombine) || errors.Is(err, spill.ErrWrite) {
			t.Errorf("error %v, the combiner has failed: %v", err, failed)
		}
		if err := r.close(t); err != nil {
			t.Error(err)
		}
	})
}

func TestNextAllocatesNothing(t *testing.T) {
	s, err := New(Config{Budget: &limit{free: MinMemory + 1<<20}, Dirs: spill.NewDirs(&spilltest.Disk{}, spill.S2, "/a")})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, 100)
	for range 30_000 {
		if err := s.Add(t.Context(), randomKey(random, nil), value); err != nil {
			t.Fatal(err)
		}
	}
	out, err := s.Sort(t.Context())
	if err != nil || s.Spilled() == 0 {
		t.Fatalf("error %v, %d bytes were spilled", err, s.Spilled())
	}
	next := func() {
		if _, _, err := out.Next(); err != nil {
			t.Fatal(err)
		}
	}
	next()
	if allocs := testing.AllocsPerRun(10_000, next); allocs != 0 {
		t.Errorf("%v allocations for each record, want 0", allocs)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
