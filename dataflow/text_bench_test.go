package dataflow_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// reading is a host that gives splits.
type reading struct {
	host
	left []jobgraph.Split
}

func (r *reading) PollSplit(context.Context) (jobgraph.Split, bool, error) {
	if len(r.left) == 0 {
		return jobgraph.Split{}, false, io.EOF
	}
	next := r.left[0]
	r.left = r.left[1:]
	return next, true, nil
}

// BenchmarkReadText reads lines of 20 bytes, which a filter drops: what the source costs for each element.
func BenchmarkReadText(b *testing.B) {
	files := dataflowtest.NewFiles(map[string]string{"/in": strings.Repeat("a line of 20 bytes.\n", 1<<20)})
	c, err := compile(b, "dropped", dataflow.PlanOptions{Parallelism: 1})
	if err != nil {
		b.Fatal(err)
	}
	graph, err := c.Prepare(b.Context(), files, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(20 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Tasks[0].Run(b.Context(), &reading{host{files: files}, graph.Vertices[0].Splits}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<20), "ns/line")
}
