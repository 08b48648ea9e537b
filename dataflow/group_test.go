package dataflow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

type groupArgs struct {
	Most int    // elements that the function reads; -1: all
	Fail string // the key at which it fails
}

var errGroup = errors.New("no such group")

// groups gives for each first letter the number of elements that were read, and the sum of their lengths.
var groups = dataflow.Job("groups", func(p *dataflow.Plan, a groupArgs) error {
	lines := dataflow.FlatMap(dataflow.ReadText(p, "/in"), words)
	byFirst := dataflow.KeyBy(lines, func(word []byte) string { return string(word[:1]) })
	sums := dataflow.GroupByKey(byFirst, func(_ context.Context, key string, values iter.Seq[[]byte], emit func(dataflow.KV[string, int64])) error {
		if key == a.Fail {
			return errGroup
		}
		read, bytes := 0, int64(0)
		for word := range values {
			if read == a.Most {
				break
			}
			if string(word[:1]) != key {
				return fmt.Errorf("%q is in the group of %q", word, key)
			}
			read++
			bytes += int64(len(word))
		}
		emit(dataflow.KV[string, int64]{Key: key + strconv.Itoa(read), Value: bytes})
		return nil
	}, dataflow.Named("groups"), dataflow.Parallelism(3))
	dataflow.Collect(sums, counted)
	return nil
})

// For any words and any part of them that the function reads, each key has one group with its own elements. It would catch an element
// that gets into the next group because the function has not read it, and one that is lost between memory and files.
func TestGroupsHaveTheirElements(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.StringMatching(`[a-e][a-z]{0,5}`), 0, 300).Draw(rt, "words")
		most := rapid.SampledFrom([]int{-1, 0, 1, 3}).Draw(rt, "read")
		count := map[string]int{}
		bytes := map[string]int64{}
		for _, w := range all {
			count[w[:1]]++
			bytes[w[:1]] += int64(len(w))
		}
		result := execute(rt, groups, groupArgs{Most: most}, dataflowtest.Options{
			FileSystem: dataflowtest.NewFiles(map[string]string{"/in": strings.Join(all, "\n")}), Parallelism: 2, LocalDirs: []string{dir},
		})
		got := asMap(rt, result, counted)
		if len(got) != len(count) {
			rt.Fatalf("%d groups, want %d: %v", len(got), len(count), got)
		}
		for key, n := range count {
			if most >= 0 {
				n = min(n, most)
			}
			sum, is := got[key+strconv.Itoa(n)]
			if !is || most < 0 && sum != bytes[key] {
				rt.Fatalf("group %s has not %d elements of %d bytes: %v", key, n, bytes[key], got)
			}
		}
	})
}

// A key may have more elements than the worker has memory.
func TestAGroupMayExceedMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const lines = 100_000
	line := strings.Repeat("x", 99)
	var metrics dataflowtest.Metrics
	result := dataflowtest.Run(t, groups, groupArgs{Most: -1}, dataflowtest.Options{
		FileSystem: dataflowtest.NewFiles(map[string]string{"/in": strings.Repeat(line+"\n", lines) + "y\n"}),
		Memory:     1 << 20, LocalDirs: []string{dir}, Metrics: &metrics,
	})
	want := map[string]int64{"x" + strconv.Itoa(lines): lines * 99, "y1": 1}
	if diff := cmp.Diff(want, asMap(t, result, counted)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if metrics.Operator("groups").Counter("spilledBytes").Value() == 0 {
		t.Error("nothing was spilled: the test needs more elements")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files %v, error %v", left, err)
	}
}

// It would catch an error that is dropped, one that does not say where it was, and one that shows a key although the user has not
// allowed it.
func TestAGroupsErrorFailsTheJob(t *testing.T) {
	t.Parallel()
	for show, key := range map[string]string{"true": `"b"`, "false": ""} {
		env := dataflowtest.NewEnv(dataflowtest.Options{
			FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "apple\nbread\n"}),
			Config:     map[string]string{"pipeline.errors.show-element": show},
		})
		_, err := env.Execute(t.Context(), groups, groupArgs{Fail: "b"})
		var failure *dataflow.OperatorError
		if !errors.Is(err, errGroup) || !errors.As(err, &failure) || failure.Operator != "groups" || failure.Parallelism != 3 || failure.Key != key {
			t.Errorf("error %v, want that of the function with the key %s", err, key)
		}
	}
}

// damagedGroups reads elements whose encoding cannot be decoded.
var damagedGroups = dataflow.Job("damaged-groups", func(p *dataflow.Plan, _ string) error {
	damaged := pickyCodec
	damaged.Decode = func([]byte) (picky, error) { return picky{}, codec.ErrCorrupt }
	all := dataflow.Map(dataflow.ReadText(p, "/in"), func(line []byte) picky { return picky{string(line)} }, dataflow.WithCodec(damaged))
	sizes := dataflow.GroupByKey(dataflow.KeyBy(all, func(picky) int { return 0 }), func(_ context.Context, _ int, values iter.Seq[picky], emit func(int)) error {
		emit(len(slices.Collect(values)))
		return nil
	})
	dataflow.Collect(sizes, numbers)
	return nil
})

// An element that was damaged on its way must fail the job, and not be left out.
func TestADamagedElementFailsItsGroup(t *testing.T) {
	t.Parallel()
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "apple\n"})})
	if _, err := env.Execute(t.Context(), damagedGroups, ""); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt", err)
	}
}

// readTwice reads the elements of a key in loops within each other, and by a puller and a loop.
var readTwice = dataflow.Job("read-twice", func(p *dataflow.Plan, way string) error {
	byFirst := dataflow.KeyBy(dataflow.FlatMap(dataflow.ReadText(p, "/in"), words), func(word []byte) string { return string(word[:1]) })
	joined := dataflow.GroupByKey(byFirst, func(_ context.Context, key string, values iter.Seq[[]byte], emit func(string)) error {
		var all []string
		take := func(word []byte) { all = append(all, string(word)) }
		switch way {
		case "nested":
			for first := range values {
				take(first)
				for rest := range values {
					take(rest)
				}
			}
		case "pulled":
			next, stop := iter.Pull(values)
			first, _ := next()
			take(first)
			for rest := range values {
				take(rest)
			}
			stop()
		}
		slices.Sort(all)
		emit(key + ": " + strings.Join(all, " "))
		return nil
	})
	dataflow.Collect(joined, reasons)
	return nil
})

// It would catch an element that is lost, comes twice, or gets into another group because the function does not read in one loop.
func TestElementsOfAGroupComeOnce(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"nested", "pulled"} {
		result := dataflowtest.Run(t, readTwice, way, dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "a1 b1 a2 c1 b2 a3"})})
		if got, want := collected(t, result, reasons), []string{"a: a1 a2 a3", "b: b1 b2", "c: c1"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", way, got, want)
		}
	}
}
