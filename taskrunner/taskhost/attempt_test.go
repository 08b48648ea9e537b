package taskhost_test

import (
	"context"
	"path"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAttemptsAreNeverCalledTheSame would catch a name conflict between two ApplicationMasters. The
// second one counts the attempts of a subtask from 0 again, also in a host that ran tasks of the first
// one. Its tasks must not find the parts of the first one under their names, and a late commit of the
// first one must not move the parts of the second.
func TestAttemptsAreNeverCalledTheSame(t *testing.T) {
	names := make(chan string, 1)
	p := chain([]int{1}, func(_ context.Context, s operator.Subtask) error {
		names <- s.Attempt()
		return nil
	})
	w := newWorker(t, "h", p).ready()
	seen := make(map[string]bool)
	for _, epoch := range []ids.Epoch{1, 2} {
		for attempt := range 2 {
			w.send(msg.DeployTasks{Host: "h", Tasks: []msg.TaskDeployment{
				{Execution: ids.ExecutionAttemptID{Epoch: epoch, Attempt: attempt}},
			}})
			w.final()
			name := <-names
			if seen[name] || path.Base(name) != name {
				t.Errorf("attempt %d of epoch %d is called %q, as another was or as no file can be", attempt, epoch, name)
			}
			seen[name] = true
		}
	}
	w.stop()
}
