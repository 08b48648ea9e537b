package clustertest_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

// fourTimes counts lines by four operators that exceed the memory of their workers.
var fourTimes = dataflow.Job("four-times", func(p *dataflow.Plan, input string) error {
	lines := dataflow.Map(dataflow.ReadText(p, input), func(line []byte) string { return string(line) })
	byLine := dataflow.KeyBy(lines, dataflow.Identity[string])
	type count = dataflow.KV[string, int64]
	grouped := dataflow.GroupByKey(byLine, func(_ context.Context, key string, values iter.Seq[string], emit func(count)) error {
		emit(count{Key: "grouped " + key, Value: int64(len(slices.Collect(values)))})
		return nil
	})
	aggregated := dataflow.Aggregate(byLine, dataflow.Aggregator[string, []string, int64]{
		Add:    func(all []string, line string) []string { return append(all, line) },
		Merge:  func(a, b []string) []string { return append(a, b...) },
		Result: func(all []string) int64 { return int64(len(all)) },
	})
	top := dataflow.Map(dataflow.TopN(byLine, 10, strings.Compare), func(kv dataflow.KV[string, []string]) count {
		return count{Key: "top " + kv.Key, Value: int64(len(kv.Value))}
	})
	again := dataflow.Map(aggregated, func(c count) count { return count{Key: "aggregated " + c.Key, Value: c.Value} })
	all := dataflow.Union(grouped, dataflow.Count(byLine), again, top)
	dataflow.WriteText(all, "/out", func(dst []byte, c count) []byte { return fmt.Appendf(dst, "%s: %d", c.Key, c.Value) })
	return nil
})

// It would catch elements that an attempt finds in the files of another one, and those that it does not find again in its own.
func TestWhatGoesToFilesSurvivesTheLossOfAWorker(t *testing.T) {
	t.Parallel()
	const keys = 30_000
	content := make(map[string]string)
	for file := range 4 {
		var b strings.Builder
		for n := range keys {
			fmt.Fprintf(&b, "a line that takes some memory %d\n", (n+file*keys/4)%keys)
		}
		content[fmt.Sprint("/in/", file)] = b.String()
	}
	for name, faults := range map[string][]clustertest.Fault{
		"in the group":         {clustertest.KillWorker("group by key").After(2 * keys)},
		"in the count":         {clustertest.KillWorker("count").After(2 * keys)},
		"in the accumulators":  {clustertest.KillWorker("aggregate").After(2 * keys)},
		"in the top":           {clustertest.KillWorker("top n").After(2 * keys)},
		"while files are read": {clustertest.KillWorker("write text").After(keys / 2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dataflowtest.NewFiles(content)
			result := clustertest.Run(t, fourTimes, "/in", clustertest.Options{
				Files: files, Parallelism: 2, Workers: 2, Faults: faults,
				Config: map[string]string{"taskmanager.memory.managed.size": "2m"},
			})
			if result.Counters["spilledBytes"] == 0 {
				t.Error("no operator has written to files: the job needs more input")
			}
			var written []string
			for name, content := range files.Files() {
				if strings.HasPrefix(name, "/out/part-") {
					written = append(written, strings.Split(strings.TrimSuffix(content, "\n"), "\n")...)
				}
			}
			slices.Sort(written)
			if distinct := slices.Compact(slices.Clone(written)); len(written) != 4*keys || len(distinct) != 4*keys {
				t.Fatalf("%d lines, and %d different ones; want %d", len(written), len(distinct), 4*keys)
			}
			for _, line := range written {
				if !strings.HasSuffix(line, ": 4") {
					t.Fatalf("%q, want 4 of each", line)
				}
			}
		})
	}
}
