package randomjobs_test

import (
	"fmt"
	"testing"

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
				s := setting{parallelism: 4, kills: kills, config: leastMemory(), spills: n.Spills()}
				s.config[shuffleMode] = []string{"AUTOMATIC", "ALL_EXCHANGES_BLOCKING"}[(i+len(place))%2]
				if difference, err := s.run(t, j); err != nil || difference != "" {
					t.Errorf("%v %v: %v\n%s\n%s", kills, s.config, err, difference, j)
				}
			})
		}
	}
}

// TestDiamondsDoNotDeadlock would catch a task that waits for an input that comes only after the other one was read, while both come
// from one producer whose buffers are full. Such a run would not end.
func TestDiamondsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	for i, j := range randomjobs.Diamonds() {
		for m, mode := range []string{"AUTOMATIC", "ALL_EXCHANGES_PIPELINED", "ALL_EXCHANGES_BLOCKING"} {
			if testing.Short() && (i+m)%3 != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d/%d/%s", j.Nodes[2].Op, j.Nodes[2].Hint, i%2, mode), func(t *testing.T) {
				t.Parallel()
				s := setting{parallelism: 2, config: leastMemory()}
				s.config[shuffleMode] = mode
				if difference, err := s.run(t, j); err != nil || difference != "" {
					t.Errorf("%v\n%s\n%s", err, difference, j)
				}
			})
		}
	}
}
