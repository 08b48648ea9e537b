package dataflow_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

type limitArgs struct {
	N   int
	Way string
}

// some takes some numbers. The counter "read" has the lines that its source gives.
var some = dataflow.Job("some", func(p *dataflow.Plan, a limitArgs) error {
	lines := dataflow.ReadTextWith(p, []string{"/in"}, dataflow.CountAs("read"))
	all := dataflow.Map(lines, parse)
	switch a.Way {
	case "line":
		all = dataflow.Filter(all, func(n int64) bool { return n%2 == 0 })
		all = dataflow.Limit(dataflow.Filter(dataflow.Limit(all, a.N), func(int64) bool { return true }, dataflow.Parallelism(1)), a.N)
	case "fork":
		dataflow.Collect(dataflow.Count(dataflow.KeyBy(all, func(int64) string { return "all" })), counted)
		all = dataflow.Limit(all, a.N)
	case "exchange":
		all = dataflow.Limit(dataflow.Rebalance(all), a.N)
	}
	dataflow.Collect(all, amountsLeft)
	return nil
})

var amountsLeft = dataflow.NewCollector[int64]("amounts left")

// It would catch a limit for each subtask instead of all, elements that come twice or from nowhere, and other operators that lose
// elements because the source ends early.
func TestALimitHoldsForAllSubtasks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(rt, "elements")
		a := limitArgs{rapid.SampledFrom([]int{0, 1, 7, 100}).Draw(rt, "limit"), rapid.SampledFrom([]string{"line", "fork", "exchange"}).Draw(rt, "way")}
		files := map[string]string{"/in/0": ""}
		for i := range n {
			files[fmt.Sprint("/in/", i%3)] += fmt.Sprintln(2 * i)
		}
		result := execute(rt, some, a, dataflowtest.Options{FileSystem: dataflowtest.NewFiles(files), Parallelism: rapid.IntRange(1, 3).Draw(rt, "parallelism")})
		got, seen := collected(rt, result, amountsLeft), map[int64]bool{}
		for _, v := range got {
			if seen[v] || v%2 != 0 || v < 0 || v >= int64(2*n) {
				rt.Fatalf("%d in %v is there twice, or was not read", v, got)
			}
			seen[v] = true
		}
		if len(got) != min(n, a.N) {
			rt.Fatalf("%d of %d elements, and the limit is %d", len(got), n, a.N)
		}
		if count := asMap(rt, result, counted)["all"]; a.Way == "fork" && count != int64(n) {
			rt.Fatalf("another operator got %d elements of %d", count, n)
		}
	})
}

// It would catch a source that reads its input to the end although nothing needs it, and one that ends although something does.
func TestASourceEndsWhenItsLimitIsReached(t *testing.T) {
	t.Parallel()
	const lines = 100_000
	files := dataflowtest.NewFiles(map[string]string{"/in": strings.Repeat("2\n", lines)})
	for way, most := range map[string]int64{"line": 2000, "fork": lines, "exchange": lines} {
		result := dataflowtest.Run(t, some, limitArgs{5, way}, dataflowtest.Options{FileSystem: files})
		read, elements := result.Counters["read"], collected(t, result, amountsLeft)
		if len(elements) != 5 || read > most || most == lines && read != lines {
			t.Errorf("%s: %d lines are read for %d elements, and at most %d are needed", way, read, len(elements), most)
		}
	}
}
