package dataflow_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// measured passes elements on, and counts them in metrics of all kinds.
func measured(s dataflow.Subtask) func(line []byte, emit func([]byte)) {
	seen, last, rate, length := s.Counter("seen"), s.Gauge("last"), s.Meter("rate"), s.Histogram("length")
	return func(line []byte, emit func([]byte)) {
		seen.Add(1)
		last.Set(float64(len(line)))
		rate.Mark(2)
		length.Update(float64(len(line)))
		emit(line)
	}
}

var measuring = dataflow.Job("measuring", func(p *dataflow.Plan, input string) error {
	first := dataflow.FlatMapWith(dataflow.ReadText(p, input), measured, dataflow.Named("first"), dataflow.CountAs("passed"))
	short := dataflow.Filter(first, func(line []byte) bool { return len(line) < 10 })
	second := dataflow.FlatMapWith(short, measured, dataflow.Named("second"), dataflow.CountAs("passed"))
	dataflow.Print(second, func(dst, line []byte) []byte { return append(dst, line...) })
	return nil
})

// TestOperatorsOfAChainHaveMetricsOfTheirOwn would catch an operator that counts into the metrics of its neighbour, a
// counter of the job that has only the part of one of them, and a number of elements that lacks the last few.
func TestOperatorsOfAChainHaveMetricsOfTheirOwn(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	const lines, short = 1000, 99
	for n := range lines {
		fmt.Fprintf(&b, "%04d %s\n", n, strings.Repeat("x", 10*min(1, n/short)))
	}
	for name, parallelism := range map[string]int{"one subtask": 1, "several": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got dataflowtest.Metrics
			files := dataflowtest.NewFiles(map[string]string{"/in": b.String()})
			o := dataflowtest.Options{FileSystem: files, Parallelism: parallelism, Stdout: &bytes.Buffer{}, Metrics: &got}
			for range 2 { // metrics are those of the last run
				result := dataflowtest.Run(t, measuring, "/in", o)
				if seen, passed := result.Counters["seen"], result.Counters["passed"]; seen != lines+short || passed != lines+short {
					t.Errorf("the job has seen %d and passed %d, want the sum of both operators", seen, passed)
				}
			}
			for name, want := range map[string]int64{"first": lines, "second": short} {
				m := got.Operator(name)
				lengths := m.Histogram("length").Summary()
				if m.Counter("seen").Value() != want || m.Meter("rate").Count() != 2*want || lengths.Count != want || lengths.Min != 5 {
					t.Errorf("%s has seen %d, marked %d, and lengths %+v", name, m.Counter("seen").Value(), m.Meter("rate").Count(), lengths)
				}
			}
			if last := got.Operator("second").Gauge("last").Value(); last != 5 {
				t.Errorf("the last line of the second operator has %v bytes, want 5", last)
			}
		})
	}
}
