package randomjobs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/randomjobs"
)

// TestEachOperatorSurvivesTheLossOfAWorker would catch an operator whose state or spilled files a new attempt takes over, one that
// reads a part of its input twice, and one that ends without its input when the other worker is gone.
func TestEachOperatorSurvivesTheLossOfAWorker(t *testing.T) {
	t.Parallel()
	for i, j := range randomjobs.Each() {
		const at = 2 // the operator, behind two sources
		n := j.Nodes[at]
		least, operator, err := j.Elements(at)
		if err != nil {
			t.Fatal(err)
		}
		kills := map[string][]randomjobs.Kill{"none": nil, "source": {{Operator: "n0", After: 1}}}
		if least > 0 {
			kills["first"] = []randomjobs.Kill{{Operator: operator}}
			kills["middle and last"] = []randomjobs.Kill{{Operator: operator, After: least / 2}, {Operator: operator, After: least - 1}}
		}
		for place, kills := range kills {
			if testing.Short() && n.Spills() && place != "middle and last" { // they take longer
				continue
			}
			t.Run(fmt.Sprintf("%s/%d/%s", n.Op, n.Hint, place), func(t *testing.T) {
				t.Parallel()
				s := setting{parallelism: 4, kills: kills, config: leastMemory()}
				s.config[shuffleMode] = []string{"AUTOMATIC", "ALL_EXCHANGES_BLOCKING"}[(i+len(place))%2]
				out, err := s.run(t, j)
				if err != nil || out.difference != "" {
					t.Fatalf("%v %v: %v\n%s\n%s", kills, s.config, err, out.difference, j)
				}
				if n.Spills() && !out.spilled {
					t.Errorf("no operator has written to files: the job needs more input\n%s", j)
				}
				if (out.restarts > 0) != (len(kills) > 0) {
					t.Errorf("%d restarts after %v", out.restarts, kills)
				}
			})
		}
	}
}

// TestDiamondsDoNotDeadlock would catch a task that waits for an input that comes only after the other one was read, while both come
// from one producer whose buffers are full, and an input that is held back and takes the buffers of the other one. Such a run would not
// end. Jobs whose edges are all pipelined must be diamonds that need no blocking edge: the planner refuses others.
func TestDiamondsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	for m, mode := range []string{"AUTOMATIC", pipelined, "ALL_EXCHANGES_BLOCKING"} {
		all := randomjobs.Diamonds()
		if mode == pipelined {
			all = randomjobs.PipelinedDiamonds()
		}
		for i, j := range all {
			if testing.Short() && (i+m)%3 != 0 {
				continue
			}
			met := j.Nodes[slices.IndexFunc(j.Nodes, func(n randomjobs.Node) bool { return len(n.Inputs) == 2 })]
			t.Run(fmt.Sprintf("%s/%d/%d/%s", met.Op, met.Hint, i%2, mode), func(t *testing.T) {
				t.Parallel()
				s := setting{parallelism: 2, config: leastMemory()}
				s.config[shuffleMode] = mode
				if out, err := s.run(t, j); err != nil || out.difference != "" {
					t.Errorf("%v\n%s\n%s", err, out.difference, j)
				}
			})
		}
	}
}

// TestDiamondsThatWouldDeadlockAreRefused would catch an operator that holds an input back, and does not tell the planner.
func TestDiamondsThatWouldDeadlockAreRefused(t *testing.T) {
	t.Parallel()
	all := randomjobs.StuckDiamonds()
	for _, j := range all {
		args, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		_, err = dataflow.Compile(randomjobs.Registered.Name(), args, dataflow.PlanOptions{Parallelism: 2, Config: map[string]string{shuffleMode: pipelined}})
		if !errors.Is(err, dataflow.ErrWouldDeadlock) {
			t.Errorf("error %v, want %v\n%s", err, dataflow.ErrWouldDeadlock, j)
		}
	}
	if len(all) == 0 {
		t.Error("there is no such diamond")
	}
}
