package dataflow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

type movingArgs struct {
	Way     string
	Readers int
	Next    int // parallelism behind the exchange
}

// moving tells for each number the subtask that gets it: "subtask: number".
var moving = dataflow.Job("moving", func(p *dataflow.Plan, a movingArgs) error {
	read := dataflow.Map(dataflow.ReadTextWith(p, []string{"/in"}, dataflow.Parallelism(a.Readers)), parse, dataflow.Parallelism(a.Readers))
	var moved dataflow.Stream[int64]
	switch a.Way {
	case "rebalance":
		moved = dataflow.Rebalance(read, dataflow.Parallelism(a.Next))
	case "partition":
		moved = dataflow.Partition(read, func(n int64, channels int) int { return int(n) % channels }, dataflow.Parallelism(a.Next))
	case "too large":
		moved = dataflow.Partition(read, func(_ int64, channels int) int { return channels }, dataflow.Parallelism(a.Next), dataflow.Named("ours"))
	case "negative":
		moved = dataflow.Partition(read, func(int64, int) int { return -1 }, dataflow.Parallelism(a.Next), dataflow.Named("ours"))
	}
	told := dataflow.FlatMapWith(moved, func(s dataflow.Subtask) func(int64, func(dataflow.KV[int, int64])) {
		return func(n int64, emit func(dataflow.KV[int, int64])) {
			emit(dataflow.KV[int, int64]{Key: s.Index(), Value: n})
		}
	}, dataflow.Parallelism(a.Next))
	dataflow.Collect(told, places)
	return nil
})

var places = dataflow.NewCollector[dataflow.KV[int, int64]]("places")

// It would catch a rebalance that leaves elements in their subtasks, or that gives some subtasks more than others, and a partition
// whose elements move again on their way to the next operator.
func TestElementsMoveAsThePlanSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 50).Draw(rt, "elements")
		a := movingArgs{rapid.SampledFrom([]string{"rebalance", "partition"}).Draw(rt, "way"), rapid.IntRange(1, 3).Draw(rt, "readers"), rapid.IntRange(1, 4).Draw(rt, "next")}
		files, want := map[string]string{"/in/0": ""}, map[int64]int{}
		for i := range n {
			files[fmt.Sprint("/in/", i%2)] += fmt.Sprintln(i)
			want[int64(i)] = i % a.Next
		}
		result := execute(rt, moving, a, dataflowtest.Options{FileSystem: dataflowtest.NewFiles(files)})
		got, perSubtask := map[int64]int{}, make([]int, a.Next)
		for _, kv := range collected(rt, result, places) {
			if _, twice := got[kv.Value]; twice {
				rt.Fatalf("%d comes twice", kv.Value)
			}
			got[kv.Value] = kv.Key
			perSubtask[kv.Key]++
		}
		if a.Way == "rebalance" {
			for i := range want {
				want[i] = got[i]
			}
			for _, count := range perSubtask {
				if least := n/a.Next - a.Readers; count < least || count > n/a.Next+a.Readers {
					rt.Fatalf("subtasks have %v elements", perSubtask)
				}
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			rt.Fatalf("places (-want +got):\n%s", diff)
		}
	})
}

// It would catch an element that is dropped because no subtask has its number, and attempts that meet the same error again.
func TestAPartitionThatDoesNotExistFailsTheJob(t *testing.T) {
	t.Parallel()
	for way, chosen := range map[string]string{"too large": "chose channel 3", "negative": "chose channel -1"} {
		env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "1\n"})})
		_, err := env.Execute(t.Context(), moving, movingArgs{way, 1, 3})
		if !errors.Is(err, dataflow.ErrNoChannel) || !errors.Is(err, operator.ErrPermanent) {
			t.Fatalf("%s: error %v, want a permanent ErrNoChannel", way, err)
		}
		for _, part := range []string{"ours (choose) (1/1): ", chosen, "less than 3"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q does not say %q", way, err, part)
			}
		}
	}
}
