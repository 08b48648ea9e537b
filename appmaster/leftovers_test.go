package appmaster

import (
	"runtime"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
)

// TestNothingIsLeftOfForgottenJobs runs hundreds of jobs in one session that remembers the last few. It
// would catch a map entry, a goroutine or a stream that a job leaves in any role, and that kills a session
// of weeks. The workers are in this process, too.
func TestNothingIsLeftOfForgottenJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\ny\nx\n"})
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.JobStoreMaxCapacity.Name(): "5"}})
	if err != nil {
		t.Fatal(err)
	}
	c := startClusterWith(t, options, dispatcher.Session, files)
	graph := planned(t, files, "/in", nil)
	const warm, more = 20, 100
	for range warm {
		c.runToEnd(t, graph)
	}
	heap, goroutines := heaptest.InUse(), runtime.NumGoroutine()
	for range more {
		c.runToEnd(t, graph)
	}
	// A JobMaster has 50 KiB. For a while each job leaves six timers of the workers, of 0.5 KiB each, which
	// do nothing when they fire; and there is one worker more.
	const most = 8 << 10
	end, ends := t.Deadline()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for ; ; <-again.C { // streams take a second to close
		heapNow, goroutinesNow := heaptest.InUse(), runtime.NumGoroutine()
		grown, started := (heapNow-heap)/more, goroutinesNow-goroutines
		if grown < most && started < more/4 {
			break
		}
		if ends && time.Until(end) < 10*time.Second { // only here the error says how much is left
			t.Fatalf("%d jobs leave %d bytes each, and %d goroutines", more, grown, started)
		}
	}
	if jobs, err := c.Dispatcher.Jobs(t.Context()); err != nil || len(jobs) > 5 {
		t.Errorf("%d jobs are known, error %v", len(jobs), err)
	}
}

// runToEnd runs a job without a client for its results.
func (c *cluster) runToEnd(t *testing.T, graph *jobgraph.JobGraph) {
	t.Helper()
	job := ids.JobID(ids.Random())
	err := c.Dispatcher.Submit(t.Context(), dispatcher.Submission{
		Job: job, Graph: graph, Program: msg.Program{Name: "counting", SHA256: programHash}, Detached: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if ended, err := c.Wait(t.Context(), job); err != nil || ended.Status != msg.JobFinished {
		t.Fatalf("job is %s: %v; error %v", ended.Status, ended.Failure, err)
	}
}
