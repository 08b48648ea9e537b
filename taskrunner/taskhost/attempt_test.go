package taskhost_test

import (
	"context"
	"path"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestAttemptsAreNeverCalledTheSame would catch a name conflict between two ApplicationMasters. The
// second one starts the job and its numbers again. Its tasks must not find the parts of the first
// one under their names, and a late commit of the first one must not move the parts of the second.
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
