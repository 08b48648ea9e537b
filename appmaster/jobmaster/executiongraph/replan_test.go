package executiongraph

import (
	"slices"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAReplannedJobHasNewAttempts would catch an id of an attempt that comes twice, an earlier attempt that users do not see any more, and
// a graph that is replanned while a task runs.
func TestAReplannedJobHasNewAttempts(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	g := New(job([]int{1, 1, 1}, allToAll(1, 2)), 2, 16)
	for e := range g.All() {
		g.mustTransition(e, msg.ExecutionScheduled, now)
	}
	first, second := &g.executions[0], &g.executions[1]
	g.Deploy(first, Place{Host: "h1"}, now)
	g.Deploy(second, Place{Host: "h1"}, now)
	if g.mustTransition(first, msg.ExecutionFinished, now); g.Idle() {
		t.Error("a task runs, and the graph is idle")
	}
	if g.mustTransition(second, msg.ExecutionFailed, now); !g.Idle() {
		t.Error("no task runs, and the graph is not idle")
	}
	blocking, err := g.job.WithBlockingExchanges()
	if err != nil {
		t.Fatal(err)
	}
	next := g.Replan(blocking, now)
	var attempts, earlier []int
	for e := range next.All() {
		if e.State != msg.ExecutionCreated || e.ID.Epoch != 2 {
			t.Errorf("%s is %s", e.ID, e.State)
		}
		attempts, earlier = append(attempts, e.ID.Attempt), append(earlier, next.Others(e))
	}
	if want := []int{1, 1, 0}; !slices.Equal(attempts, want) || !slices.Equal(earlier, want) || next.Regions() != 3 || g.Regions() != 2 {
		t.Errorf("attempts %v, and %v before them, in %d regions after %d", attempts, earlier, next.Regions(), g.Regions())
	}
	if e, err := next.Current(ids.ExecutionAttemptID{Epoch: 2, Vertex: 1}); err == nil {
		t.Errorf("an attempt of the graph before is %s", e.ID)
	}
}
