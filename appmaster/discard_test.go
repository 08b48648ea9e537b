package appmaster

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
)

// Unfinished parts of these tests' job, of the same job in the next attempt, and of another job.
const (
	ourPart   = "_temporary/" + string(testJob) + "/e1/1/part-00000"
	nextPart  = "_temporary/" + string(testJob) + "/e2/1/part-00000"
	theirPart = "_temporary/other/e1/1/part-00000"
)

// TestWhatAJobHasWrittenGoesWithTheJob would catch an ApplicationMaster that YARN has given up, and that removes what the
// next attempt of the same job has written. It would also catch unfinished parts that stay, for example because the client
// sees the end of the application before they are removed, and parts of a finished job or of another job that are removed.
func TestWhatAJobHasWrittenGoesWithTheJob(t *testing.T) {
	t.Parallel()
	away := errors.New("YARN is away")
	for name, c := range map[string]struct {
		deregister error // what YARN says
		finished   bool  // the job
		refused    bool  // by this attempt
		part       string
		recorded   bool // the part is there until YARN has recorded the end
		left       []string
	}{
		"it has failed":                     {nil, false, false, ourPart, false, []string{theirPart}},
		"it has begun only before":          {nil, false, true, ourPart, true, []string{theirPart}},
		"it has finished":                   {nil, true, false, ourPart, true, []string{ourPart, theirPart}},
		"another attempt has taken over":    {amrm.ErrAttemptGone, false, false, nextPart, true, []string{nextPart, theirPart}},
		"another attempt is about to start": {amrm.ErrAttemptGone, false, false, ourPart, false, []string{theirPart}},
		"YARN does not answer":              {away, false, false, ourPart, false, []string{theirPart}},
		"it has finished, by another, too":  {amrm.ErrAttemptGone, true, false, ourPart, true, []string{ourPart, theirPart}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := written(t, c.part, theirPart)
			content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
			w := newWorkers(t, content)
			w.deregister = func(context.Context) error {
				if got := slices.Contains(there(out, c.part), c.part); got != c.recorded {
					t.Errorf("before YARN has recorded the end, the part is there: %t", got)
				}
				return c.deregister
			}
			s := runMaster(t, t.Context(), w, content, func(e *environment) { e.launch.Attached = c.finished }, func(_ *process, l *led) {
				read := &l.mode.(*perJob).staged.graph.Vertices[0]
				read.Outputs = []string{"file://" + out}
				if !c.finished {
					content.Write("/in/a", "another")
				}
				if c.refused {
					read.Parallelism = 0
				}
			})
			if c.finished {
				s.fetch(t)
			}
			if err := <-s.ended; !errors.Is(err, c.deregister) {
				t.Errorf("run = %v, want %v", err, c.deregister)
			}
			if want := map[bool]msg.ApplicationStatus{true: msg.ApplicationSucceeded, false: msg.ApplicationFailed}[c.finished]; s.outcome.Status != want {
				t.Errorf("the application is %s, want %s: %s", s.outcome.Status, want, s.outcome.Diagnostics)
			}
			if got := there(out, c.part, theirPart); !slices.Equal(got, c.left) {
				t.Errorf("left are %q, want %q", got, c.left)
			}
		})
	}
}

// TestJobsThatEndWithTheirClusterLeaveNothing would catch a session or an application that leaves
// unfinished output of its jobs at its end. It would also catch an attempt that YARN has given up and that
// removes what its successor writes.
func TestJobsThatEndWithTheirClusterLeaveNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode       launch.Mode
		deregister error // what YARN says
		left       []string
	}{
		"a session's":      {launch.Session, nil, []string{theirPart}},
		"an application's": {launch.Application, nil, []string{theirPart}},
		"a session's that another has taken over": {launch.Session, amrm.ErrAttemptGone, []string{ourPart, theirPart}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := written(t, ourPart, theirPart)
			content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
			reading, goOn := make(chan struct{}), make(chan struct{})
			begin := sync.OnceFunc(func() { close(reading) })
			w := newWorkers(t, content.View(func(call dataflowtest.Call) error {
				if call.Op == "Load" && !call.Done {
					begin()
					<-goOn
				}
				return nil
			}))
			t.Cleanup(func() { close(goOn) })
			w.deregister = recordsEnd(t, out, c.deregister)
			s := runMaster(t, t.Context(), w, content, func(e *environment) {
				e.launch.Mode, e.workDir, e.logDir, e.config = c.mode, t.TempDir(), t.TempDir(), roomy(t, nil)
			}, func(_ *process, l *led) { l.mode = idle{l.component} })
			graph := planned(t, content, "/in", nil)
			graph.Vertices[0].Outputs = []string{"file://" + out}
			if err := s.component().Submit(t.Context(), dispatcher.Submission{Job: testJob, Graph: graph, Program: s.env.launch.ProgramRef}); err != nil {
				t.Fatal(err)
			}
			<-reading
			if err := s.component().Dispatcher.ShutDown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-s.ended; !errors.Is(err, c.deregister) {
				t.Errorf("run = %v, want %v", err, c.deregister)
			}
			if got := there(out, ourPart, theirPart); !slices.Equal(got, c.left) {
				t.Errorf("left are %q, want %q", got, c.left)
			}
		})
	}
}

// idle is a cluster that does nothing without a request.
type idle struct{ *Component }

func (i idle) run(ctx context.Context, taken func()) (dispatcher.Outcome, error) {
	taken()
	return i.Dispatcher.Outcome(ctx)
}

// recordsEnd is YARN's answer to the end of an application. Before it, both parts must be in the job's
// output.
func recordsEnd(t *testing.T, out string, answer error) func(context.Context) error {
	return func(context.Context) error {
		if got := there(out, ourPart, theirPart); len(got) < 2 {
			t.Errorf("before YARN has recorded the end there is only %q", got)
		}
		return answer
	}
}

// written makes a directory with these files.
func written(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range files {
		file = filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// there returns those of the files that exist in a directory.
func there(dir string, files ...string) (found []string) {
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			found = append(found, file)
		}
	}
	return found
}

// remembered is of how many jobs an output may have to be removed.
func remembered(o *outputs) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.running) + len(o.left)
}

// TestAJobWithoutAResultLeavesNothingInItsOutput would catch unfinished parts that fill the quota which has
// failed their job, a removal for which the next run does not wait, and a removal of others' files.
func TestAJobWithoutAResultLeavesNothingInItsOutput(t *testing.T) {
	t.Parallel()
	const theirs, ours, marker = "/out/" + theirPart, "/out/" + ourPart, "/out/_committing-" + string(testJob) + "-1"
	for name, c := range map[string]struct {
		end    func(t *testing.T, c *cluster, files *dataflowtest.Files)
		before []string
		status msg.JobStatus
		left   []string
	}{
		"it has failed": {
			func(_ *testing.T, _ *cluster, files *dataflowtest.Files) { files.Write("/in/a", "another") },
			[]string{theirs, ours},
			msg.JobFailed,
			[]string{theirs},
		},
		"it was cancelled": {
			func(t *testing.T, c *cluster, _ *dataflowtest.Files) {
				if err := c.Dispatcher.CancelJob(t.Context(), testJob); err != nil && !errors.Is(err, msg.ErrJobEnded) {
					t.Error(err)
				}
			},
			[]string{theirs, ours},
			msg.JobCanceled,
			[]string{theirs},
		},
		"its commit had begun": {
			func(_ *testing.T, _ *cluster, files *dataflowtest.Files) { files.Write("/in/a", "another") },
			[]string{ours, marker},
			msg.JobFailed,
			[]string{marker, ours},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
			for _, file := range c.before {
				files.Write(file, "x")
			}
			ready := make(chan struct{})
			cluster := startCluster(t, dispatcher.Session, files.View(func(c dataflowtest.Call) error {
				if c.Op == "Load" && !c.Done {
					<-ready
				}
				return nil
			}))
			graph := planned(t, files, "/in", nil)
			graph.Vertices[0].Outputs = []string{"mem:///out"}
			cluster.submit(t, graph)
			c.end(t, cluster, files)
			close(ready)
			if ended := cluster.result(t); ended.Status != c.status {
				t.Fatalf("job is %s: %v", ended.Status, ended.Failure)
			}
			if n := remembered(cluster.outputs); n > 0 {
				t.Errorf("%d jobs are remembered that have ended", n)
			}
			var left []string
			for name := range files.Files() {
				if name != "/in/a" {
					left = append(left, name)
				}
			}
			slices.Sort(left)
			if !slices.Equal(left, c.left) {
				t.Errorf("left are %q, want %q", left, c.left)
			}
		})
	}
}

// TestWhatCannotBeRemovedIsTriedAgain would catch parts of a failed job that stay, and use the user's quota,
// because HDFS did not answer when the job ended. It would also catch a list of folders without a bound, and a
// folder that is dropped from the list without a warning.
func TestWhatCannotBeRemovedIsTriedAgain(t *testing.T) {
	t.Parallel()
	const theirs, ours = "/out/" + theirPart, "/out/" + ourPart
	const begun, marker = "/begun/" + ourPart, "/begun/_committing-" + string(testJob) + "-1"
	files := dataflowtest.NewFiles(map[string]string{ours: "x", theirs: "x", begun: "x", marker: "x"})
	var away atomic.Bool
	logger, logged := logtest.NewNullLogger()
	o := newOutputs(ComponentConfig{Epoch: 1, Config: roomy(t, nil), Mode: dispatcher.Session, Files: files.View(func(c dataflowtest.Call) error {
		if away.Load() && strings.HasPrefix(c.URI, "mem:///out") {
			return errors.New("HDFS is away")
		}
		return nil
	})}, logger)
	fail := func(job ids.JobID, dirs ...string) {
		o.begin(job, &jobgraph.JobGraph{Vertices: []jobgraph.Vertex{{Outputs: dirs}}})
		o.end(t.Context(), job, msg.JobFailed)
	}
	away.Store(true)
	fail("forgotten", "mem:///out/forgotten")
	fail(testJob, "mem:///begun", "mem:///out") // a commit that had begun is not tried again
	for range mostLeft - 2 {
		fail("other", "mem:///out/others")
	}
	if len(o.left) != mostLeft || o.left[1] != (leftover{testJob, "mem:///out"}) || len(o.running) > 0 {
		t.Fatalf("%d folders are remembered, and %d jobs", len(o.left), len(o.running))
	}
	logged.Reset()
	fail("last", "mem:///out/last")
	if last := logged.LastEntry(); len(o.left) != mostLeft || !strings.Contains(last.Message, "mem:///out/forgotten/_temporary/forgotten") {
		t.Errorf("%d folders are remembered, and the warning is %q", len(o.left), last.Message)
	}
	away.Store(false)
	o.discardAll(t.Context())
	if got, want := slices.Sorted(maps.Keys(files.Files())), []string{marker, begun, theirs}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// TestOthersAreListedWhileTheRestOfAJobIsRemoved would catch a list of all jobs that waits while HDFS
// removes one job's output, and an end that is reported before the removal.
func TestOthersAreListedWhileTheRestOfAJobIsRemoved(t *testing.T) {
	t.Parallel()
	const ours = "/out/" + ourPart
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n", ours: "x"})
	removing, remove := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(removing) })
	cluster := startCluster(t, dispatcher.Session, files.View(func(c dataflowtest.Call) error {
		if c.Op == "RemoveAll" && !c.Done {
			begin()
			<-remove
		}
		return nil
	}))
	graph := planned(t, files, "/in", nil)
	graph.Vertices[0].Outputs = []string{"mem:///out"}
	files.Write("/in/a", "another")
	cluster.submit(t, graph)
	<-removing

	jobs, err := cluster.Dispatcher.Jobs(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].Status != msg.JobFailing {
		t.Errorf("jobs are %+v, error %v", jobs, err)
	}
	details, err := cluster.Dispatcher.JobDetails(t.Context(), testJob)
	if err != nil || details.Status != msg.JobFailing || !details.End.IsZero() {
		t.Errorf("details are %+v, error %v", details, err)
	}
	if ended, err := cluster.Dispatcher.JobResult(t.Context(), testJob, 0); err != nil || ended.Status != msg.JobFailing {
		t.Errorf("result is %+v, error %v", ended, err)
	}
	close(remove)
	if ended := cluster.result(t); ended.Status != msg.JobFailed {
		t.Errorf("job is %s: %v", ended.Status, ended.Failure)
	}
}
