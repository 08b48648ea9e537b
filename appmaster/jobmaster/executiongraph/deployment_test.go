package executiongraph

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestTimeOfDeploying would catch time that counts as deployment while a task runs already, time that ends with the first of several
// deployments, and a restart whose deployment is not added.
func TestTimeOfDeploying(t *testing.T) {
	t.Parallel()
	g := New(job([]int{2}), 1, 0)
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	first, second := &g.executions[0], &g.executions[1]
	check := func(wantSince time.Time, wantBefore time.Duration) {
		t.Helper()
		if since, before := g.Deploying(); !since.Equal(wantSince) || before != wantBefore {
			t.Errorf("deploys since %v, and before that for %v; want %v, %v", since, before, wantSince, wantBefore)
		}
	}
	step := func(e *Execution, to msg.ExecutionState, s int) {
		t.Helper()
		if err := g.Transition(e, to, at(s)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []*Execution{first, second} {
		step(e, msg.ExecutionScheduled, 0)
	}
	check(time.Time{}, 0)
	g.Deploy(first, Place{Host: "h"}, at(1))
	g.Deploy(second, Place{Host: "h"}, at(2))
	check(at(1), 0)
	step(first, msg.ExecutionRunning, 5)
	check(time.Time{}, 4*time.Second)
	step(first, msg.ExecutionFailed, 6) // the second one is DEPLOYING still
	check(at(6), 4*time.Second)
	step(second, msg.ExecutionFailed, 8)
	check(time.Time{}, 6*time.Second)
	g.Restart(first, at(9))
	step(first, msg.ExecutionScheduled, 9)
	g.Deploy(first, Place{Host: "h"}, at(10))
	check(at(10), 6*time.Second)
}
