package connectortest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/connector/connectortest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// below lists numbers.
func below(n int64) (all []int64) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 5, 1000} {
		err := connectortest.TestSource(t.Context(), connectortest.Source[int64]{
			New:  func() connector.Source[int64] { return Numbers{N: n} },
			Want: below(n),
		})
		if err != nil {
			t.Errorf("%d numbers: %v", n, err)
		}
	}
}

// tableTarget is a new table.
func tableTarget(t *testing.T) func() connectortest.Target[int64] {
	n := 0
	return func() connectortest.Target[int64] {
		n++
		name := fmt.Sprint(t.Name(), n)
		return connectortest.Target[int64]{
			New:     func() connector.Sink[int64] { return Table{name} },
			Visible: visible(name),
		}
	}
}

func visible(table string) func(context.Context) ([]string, error) {
	return func(context.Context) (texts []string, _ error) {
		for _, row := range open(table).Rows() {
			texts = append(texts, fmt.Sprint(row))
		}
		return texts, nil
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	err := connectortest.TestSink(t.Context(), connectortest.Sink[int64]{Target: tableTarget(t), Elements: []int64{4, 4, 1, 0, 7}})
	if err != nil {
		t.Error(err)
	}
}

// wantSquares checks the table of the job squares.
func wantSquares(t *testing.T, table string) {
	t.Helper()
	var want []int64
	for _, n := range below(1000) {
		want = append(want, n*n)
	}
	got := open(table).Rows()
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("table %s has %d rows, want the %d squares", table, len(got), len(want))
	}
}

// It would catch a source or a sink that works alone, but not in a job.
func TestAJobReadsAndWrites(t *testing.T) {
	t.Parallel()
	dataflowtest.Run(t, squares, t.Name(), dataflowtest.Options{Parallelism: 3})
	wantSquares(t, t.Name())
	if _, err := dataflowtest.NewEnv(dataflowtest.Options{}).Execute(t.Context(), squares, t.Name()); err == nil {
		t.Error("the second job does not see that the table has rows")
	}
}

// queued is the job squares with numbers that come later.
var queued = dataflow.Job("queued squares", func(p *dataflow.Plan, table string) error {
	numbers := dataflow.Read(p, queue{Numbers{N: 1000}})
	dataflow.Write(dataflow.Map(numbers, func(n int64) int64 { return n * n }), Table{table})
	return nil
})

// It would catch a worker whose tasks do not go on after Wake.
func TestASourceMayFindNothingOnACluster(t *testing.T) {
	t.Parallel()
	clustertest.Run(t, queued, t.Name(), clustertest.Options{Parallelism: 2, Workers: 2})
	wantSquares(t, t.Name())
}

// It would catch elements that are lost or doubled when an attempt of a reader, a writer or the commit is lost.
func TestAJobSurvivesTheLossOfWorkers(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]clustertest.Fault{
		"while it reads":    {clustertest.KillWorker("numbers").After(300)},
		"while it writes":   {clustertest.KillWorker("table").After(700)},
		"during the commit": {clustertest.KillWorker("table (commit)").After(1)},
		"again and again":   {clustertest.KillWorker("numbers"), clustertest.KillWorker("table").After(500), clustertest.KillWorker("table (commit)")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clustertest.Run(t, squares, t.Name(), clustertest.Options{Parallelism: 2, Workers: 2, Faults: faults})
			wantSquares(t, t.Name())
		})
	}
}
