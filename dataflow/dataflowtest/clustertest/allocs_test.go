package clustertest_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

type point struct {
	X int32
	Y int64
}

// movePoints moves elements of a fixed size between its tasks, and adds up one half by the other.
var movePoints = dataflow.Job("move-points", func(p *dataflow.Plan, input string) error {
	points := dataflow.Map(dataflow.ReadText(p, input), func(line []byte) point { return point{int32(len(line)), 2} })
	byX := dataflow.KeyBy(dataflow.Rebalance(points), func(p point) int32 { return p.X })
	dataflow.Collect(dataflow.Sum(byX, func(p point) int64 { return p.Y }), pointSums)
	return nil
})

var pointSums = dataflow.NewCollector[dataflow.KV[int32, int64]]("point sums")

// It would catch memory that is allocated for each element of a fixed size, from a function through an exchange of two workers to the next
// function and its key.
func TestElementsOfAFixedSizeAllocateNothing(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	allocated := func(lines int) uint64 {
		o := clustertest.Options{Files: dataflowtest.NewFiles(map[string]string{"/in": strings.Repeat("to be\n", lines)}), Parallelism: 2}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result := clustertest.Run(t, movePoints, "/in", o)
		runtime.ReadMemStats(&after)
		got, err := dataflow.Collected(result, pointSums)
		if err != nil || len(got) != 1 || got[0] != (dataflow.KV[int32, int64]{Key: 5, Value: int64(2 * lines)}) {
			t.Fatalf("%v, %v", got, err)
		}
		return after.Mallocs - before.Mallocs
	}
	allocated(1) // what is made once
	const lines = 1_000_000
	one, all := allocated(1), allocated(lines)
	t.Logf("%d allocations for one element, %d for %d", one, all, lines)
	if all > one+lines/10 {
		t.Errorf("%d allocations for one element, and %d for %d", one, all, lines)
	}
}
