package taskhost_test

import (
	"context"
	"path"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestAttemptsAreNeverCalledTheSame would catch a second ApplicationMaster, which
// begins the job and its numbers anew, whose tasks find the parts of the first
// one's in their way, and a late commit of the first one that moves the parts of
// the second.
func TestAttemptsAreNeverCalledTheSame(t *testing.T) {
	names := make(chan string, 1)
	p := chain([]int{1}, func(_ context.Context, s operator.Subtask) error {
		names <- s.Attempt()
		return nil
	})
	seen := make(map[string]bool)
	for _, host := range []ids.HostID{"first", "second"} {
		w := newWorker(t, host, p).ready()
		deploy(p, w)
		w.final()
		name := <-names
		if seen[name] || path.Base(name) != name {
			t.Errorf("execution 0 of host %s is called %q, as another was or as no file can be", host, name)
		}
		seen[name] = true
		w.stop()
	}
}
