package dataflow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

type coGroupArgs struct {
	Most       int  // elements of each side that the function reads; -1: all
	RightFirst bool // it reads the right side first
	Fail       string
}

// coGroups gives for each first letter the number of elements on both sides that were read.
var coGroups = dataflow.Job("co-groups", func(p *dataflow.Plan, a coGroupArgs) error {
	byFirst := func(path string) dataflow.Keyed[string, []byte] {
		return dataflow.KeyBy(dataflow.FlatMap(dataflow.ReadText(p, path), words), func(word []byte) string { return string(word[:1]) })
	}
	read := func(key string, words iter.Seq[[]byte]) (n int, err error) {
		for word := range words {
			if n == a.Most {
				break
			}
			if string(word[:1]) != key {
				err = fmt.Errorf("%q is in the group of %q", word, key)
			}
			clear(word[1:]) // it belongs to the function until the next one
			n++
		}
		return n, err
	}
	groups := dataflow.CoGroup(byFirst("/left"), byFirst("/right"), func(_ context.Context, key string, left, right iter.Seq[[]byte], emit func(string)) error {
		if key == a.Fail {
			return errGroup
		}
		if a.RightFirst {
			r, err := read(key, right)
			l, other := read(key, left)
			emit(fmt.Sprint(key, " ", l, " ", r))
			return errors.Join(err, other)
		}
		l, err := read(key, left)
		r, other := read(key, right)
		emit(fmt.Sprint(key, " ", l, " ", r))
		return errors.Join(err, other)
	}, dataflow.Named("groups"), dataflow.Parallelism(3))
	dataflow.Collect(groups, reasons)
	return nil
})

// For any words and any part of them that the function reads, each key has one group with its own elements of both sides. It would
// catch a key that only one side has, and elements that get into the next group because the function has not read them.
func TestCoGroupsHaveTheirElements(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[a-h][a-z]{0,5}`)
		left, right := rapid.SliceOfN(word, 0, 100).Draw(rt, "left"), rapid.SliceOfN(word, 0, 100).Draw(rt, "right")
		a := coGroupArgs{Most: rapid.SampledFrom([]int{-1, 0, 1, 3}).Draw(rt, "read"), RightFirst: rapid.Bool().Draw(rt, "right first")}
		count := map[string][2]int{}
		for side, all := range [][]string{left, right} {
			for _, w := range all {
				n := count[w[:1]]
				if n[side] != a.Most {
					n[side]++
				}
				count[w[:1]] = n
			}
		}
		want := []string{}
		for key, n := range count {
			want = append(want, fmt.Sprint(key, " ", n[0], " ", n[1]))
		}
		result := execute(rt, coGroups, a, dataflowtest.Options{
			FileSystem:  dataflowtest.NewFiles(map[string]string{"/left": strings.Join(left, "\n"), "/right": strings.Join(right, "\n")}),
			Parallelism: 2, LocalDirs: []string{dir},
		})
		if diff := cmp.Diff(sorted(want), sorted(collected(rt, result, reasons))); diff != "" {
			rt.Fatalf("%+v: (-want +got)\n%s", a, diff)
		}
	})
}

// A key may have more elements on both sides than the worker has memory.
func TestACoGroupMayExceedMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const lines = 30_000
	line := strings.Repeat("x", 99) + "\n"
	var metrics dataflowtest.Metrics
	result := dataflowtest.Run(t, coGroups, coGroupArgs{Most: -1, RightFirst: true}, dataflowtest.Options{
		FileSystem: dataflowtest.NewFiles(map[string]string{"/left": strings.Repeat(line, lines) + "y\n", "/right": "y\n" + strings.Repeat(line, 2*lines)}),
		Memory:     1 << 20, LocalDirs: []string{dir}, Metrics: &metrics,
	})
	if got, want := sorted(collected(t, result, reasons)), []string{"x 30000 60000", "y 1 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if metrics.Operator("groups").Counter("spilledBytes").Value() == 0 {
		t.Error("nothing was spilled: the test needs more elements")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files %v, error %v", left, err)
	}
}

// It would catch an error that is dropped, and one that does not say where it was, or of which key.
func TestACoGroupsErrorFailsTheJob(t *testing.T) {
	t.Parallel()
	env := dataflowtest.NewEnv(dataflowtest.Options{
		FileSystem: dataflowtest.NewFiles(map[string]string{"/left": "apple\n", "/right": "bread\n"}),
		Config:     map[string]string{"pipeline.errors.show-element": "true"},
	})
	_, err := env.Execute(t.Context(), coGroups, coGroupArgs{Fail: "b"})
	var failure *dataflow.OperatorError
	if !errors.Is(err, errGroup) || !errors.As(err, &failure) || failure.Operator != "groups" || failure.Key != `"b"` {
		t.Errorf("error %v, want that of the function with its key", err)
	}
}
