package dataflow_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// tally points to memory that all consumers of a stream share.
type tally struct {
	Counts map[string]int
	Lines  []string
}

// tallies are what the operators of the job "tallied" make of the same elements.
var tallies = []dataflow.Collector[string]{
	dataflow.NewCollector[string]("first"), dataflow.NewCollector[string]("second"), dataflow.NewCollector[string]("top"), dataflow.NewCollector[string]("plain"),
}

var tallied = dataflow.Job("tallied", func(p *dataflow.Plan, apart bool) error {
	each := dataflow.Map(dataflow.ReadText(p, "/in"), func(line []byte) tally {
		return tally{map[string]int{string(line): 1}, append(make([]string, 0, 8), string(line))} // with room to append
	})
	if apart {
		each = dataflow.Rebalance(each)
	}
	all := dataflow.KeyBy(each, func(tally) bool { return true })
	add := func(a, b tally) tally { // changes what its first argument points to
		for line, n := range b.Counts {
			a.Counts[line] += n
		}
		a.Lines = append(a.Lines, b.Lines...)
		slices.Sort(a.Lines)
		return a
	}
	sum := func(kv dataflow.KV[bool, tally]) string { return fmt.Sprint(kv.Value.Counts, kv.Value.Lines) }
	dataflow.Collect(dataflow.Map(dataflow.Reduce(all, add), sum), tallies[0])
	dataflow.Collect(dataflow.Map(dataflow.Reduce(all, add), sum), tallies[1])
	show := func(v tally) string { return fmt.Sprint(v.Counts, v.Lines) }
	top := dataflow.TopNOfAll(each, 9, dataflow.By(func(v tally) string { return v.Lines[0] }))
	dataflow.Collect(dataflow.Map(top, show), tallies[2])
	dataflow.Collect(dataflow.Map(each, show), tallies[3])
	return nil
})

// Several operators keep the elements of one stream. It would catch one that lets its function change an element that others have.
func TestOperatorsDoNotChangeSharedElements(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		result := dataflowtest.Run(t, tallied, apart, dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "a\nbb\nccc\na\n"})})
		single := []string{"map[ccc:1] [ccc]", "map[bb:1] [bb]", "map[a:1] [a]", "map[a:1] [a]"}
		want := [][]string{{"map[a:2 bb:1 ccc:1] [a a bb ccc]"}, {"map[a:2 bb:1 ccc:1] [a a bb ccc]"}, single, sorted(slices.Clone(single))}
		for i, c := range tallies {
			got := collected(t, result, c)
			if i == 3 {
				got = sorted(got)
			}
			if diff := cmp.Diff(want[i], got); diff != "" {
				t.Errorf("apart %v, operator %d (-want +got):\n%s", apart, i, diff)
			}
		}
	}
}

// borrowed has bytes of its source.
type borrowed struct{ Line []byte }

var kept = dataflow.NewCollector[string]("kept")

var borrowing = dataflow.Job("borrowing", func(p *dataflow.Plan, way string) error {
	each := dataflow.Map(dataflow.ReadText(p, "/in"), func(line []byte) borrowed { return borrowed{line} })
	text := func(v borrowed) string { return string(v.Line) }
	all := dataflow.KeyBy(each, func(borrowed) bool { return true })
	var greatest dataflow.Stream[dataflow.KV[bool, borrowed]]
	switch way {
	case "reduce":
		greatest = dataflow.Reduce(all, func(a, b borrowed) borrowed {
			if text(b) > text(a) {
				return b
			}
			return a
		})
	case "max":
		greatest = dataflow.Max(all, text)
	case "top n":
		greatest = dataflow.Map(dataflow.TopN(all, 1, dataflow.By(text)), func(kv dataflow.KV[bool, []borrowed]) dataflow.KV[bool, borrowed] {
			return dataflow.KV[bool, borrowed]{Value: kv.Value[0]}
		})
	}
	dataflow.Collect(dataflow.Map(greatest, func(kv dataflow.KV[bool, borrowed]) string { return text(kv.Value) }), kept)
	return nil
})

// The source uses the memory of a line again for the next one. It would catch an operator that keeps it within another type.
func TestOperatorsCopyBorrowedBytes(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"reduce", "max", "top n"} {
		result := dataflowtest.Run(t, borrowing, way, dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "bbb\nccc\naaa\n"})})
		if got := collected(t, result, kept); !slices.Equal(got, []string{"ccc"}) {
			t.Errorf("%s: %q, want ccc", way, got)
		}
	}
}
