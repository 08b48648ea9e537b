package dataflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// aggregating aggregates the lengths of words in one way. Its counter "results" has the number of keys.
var aggregating = dataflow.Job("aggregating", func(p *dataflow.Plan, way string) error {
	type element = dataflow.KV[[4]byte, int64]
	byWord := dataflow.KeyBy(dataflow.Map(dataflow.ReadText(p, "/in"), func(line []byte) element {
		return element{Key: [4]byte(line), Value: int64(line[4])}
	}), func(e element) [4]byte { return e.Key })
	value, drop := func(e element) int64 { return e.Value }, func(dst []byte, _ int64) []byte { return dst }
	results := dataflow.CountAs("results")
	switch way {
	case "sum":
		dataflow.Print(dataflow.Map(dataflow.Sum(byWord, value, results), func(dataflow.KV[[4]byte, int64]) int64 { return 0 }), drop)
	case "aggregate":
		sum := dataflow.Aggregator[element, int64, int64]{
			Add: func(n int64, e element) int64 { return n + e.Value }, Merge: func(a, b int64) int64 { return a + b }, Result: dataflow.Identity[int64],
		}
		dataflow.Print(dataflow.Map(dataflow.Aggregate(byWord, sum, results), func(dataflow.KV[[4]byte, int64]) int64 { return 0 }), drop)
	case "avg":
		dataflow.Print(dataflow.Map(dataflow.Avg(byWord, value, results), func(dataflow.KV[[4]byte, float64]) int64 { return 0 }), drop)
	case "max":
		dataflow.Print(dataflow.Map(dataflow.Max(byWord, value, results), func(dataflow.KV[[4]byte, element]) int64 { return 0 }), drop)
	case "top 10":
		dataflow.Print(dataflow.Map(dataflow.TopN(byWord, 10, dataflow.By(value), results), func(dataflow.KV[[4]byte, []element]) int64 { return 0 }), drop)
	}
	return nil
})

// BenchmarkAggregations aggregates a million elements of a thousand keys. Beside Sum it tells what the functions of the others cost.
func BenchmarkAggregations(b *testing.B) {
	const elements, keys = 1_000_000, 1000
	var text strings.Builder
	for n := range elements {
		fmt.Fprintf(&text, "%04d%c\n", n%keys, ' '+n%61)
	}
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": text.String()})})
	for _, way := range []string{"sum", "aggregate", "avg", "max", "top 10"} {
		b.Run(way, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				result, err := env.Execute(b.Context(), aggregating, way)
				if err != nil || result.Counters["results"] != keys {
					b.Fatal(err, result)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/elements, "ns/element")
		})
	}
}
