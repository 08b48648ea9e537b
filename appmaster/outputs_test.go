package appmaster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestOnlyTheStoreSaysThatALaterMasterLeads would catch a session that ends because somebody has made a directory in the
// output of one of its jobs, and a master that does not end although another one leads.
func TestOnlyTheStoreSaysThatALaterMasterLeads(t *testing.T) {
	t.Parallel()
	for name, leads := range map[string]error{"it leads": nil, "it does not lead": ha.ErrSuperseded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logger, _ := logtest.NewNullLogger()
			o := newOutputs(ComponentConfig{
				Epoch: 2, Config: roomy(t, nil), Mode: dispatcher.Session,
				Files:   dataflowtest.NewFiles(map[string]string{"/out/_temporary/" + string(testJob) + "/e7/1/part-00000": "x"}),
				Confirm: func(context.Context) error { return leads },
			}, logger)
			err := o.open(t.Context(), testJob, writing("mem:///out"), false, nil)
			if !errors.Is(err, dataflow.ErrFenced) || errors.Is(err, ha.ErrSuperseded) != (leads != nil) {
				t.Errorf("open the output: %v", err)
			}
			if leads == nil && !strings.Contains(err.Error(), "remove mem:///out/_temporary/"+string(testJob)) {
				t.Errorf("the error names no remedy: %v", err)
			}
		})
	}
}

// changing counts the outputs that change, by their calls op, on an HDFS that is away until back is closed.
type changing struct {
	op   string
	mu   sync.Mutex
	now  int
	most int
	back chan struct{}
}

func (o *changing) note(c dataflowtest.Call) error {
	if c.Op != o.op || c.Done {
		return nil
	}
	o.mu.Lock()
	o.now++
	o.most = max(o.most, o.now)
	o.mu.Unlock()
	<-o.back
	o.mu.Lock()
	o.now--
	o.mu.Unlock()
	return nil
}

// TestFewOutputsChangeAtOnce would catch a master that asks the NameNode for a thousand jobs at the same time, just when it
// has come back, or when all of them are cancelled, and one whose jobs on one HDFS wait for another one.
func TestFewOutputsChangeAtOnce(t *testing.T) {
	t.Parallel()
	for op, change := range map[string]func(ctx context.Context, o *outputs, job ids.JobID, graph *jobgraph.JobGraph) error{
		"MkdirAll": func(ctx context.Context, o *outputs, job ids.JobID, graph *jobgraph.JobGraph) error {
			return o.open(ctx, job, graph, false, nil)
		},
		"List": func(ctx context.Context, o *outputs, job ids.JobID, graph *jobgraph.JobGraph) error {
			o.begin(job, graph)
			o.end(ctx, job, msg.JobCanceled)
			return nil
		},
	} {
		t.Run(op, func(t *testing.T) { checkChangesAtOnce(t, op, change) })
	}
}

func checkChangesAtOnce(t *testing.T, op string, change func(ctx context.Context, o *outputs, job ids.JobID, graph *jobgraph.JobGraph) error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		logger, _ := logtest.NewNullLogger()
		calls := changing{op: op, back: make(chan struct{})}
		o := newOutputs(ComponentConfig{
			Epoch: 1, Config: roomy(t, nil), Mode: dispatcher.Session, Files: dataflowtest.NewFiles(nil).View(calls.note),
		}, logger)
		failed := make(chan error, 3*outputsAtOnce)
		for i := range cap(failed) {
			go func() {
				failed <- change(t.Context(), o, ids.JobID(fmt.Sprint("job-", i)), writing(fmt.Sprint("mem:///out/", i)))
			}()
		}
		synctest.Wait()
		if calls.now != outputsAtOnce {
			t.Errorf("%d outputs change now, want %d", calls.now, outputsAtOnce)
		}
		leave, err := o.enter(t.Context(), "hdfs://other/out")
		if err != nil {
			t.Errorf("an output of another file system: %v", err)
		} else {
			leave()
		}
		close(calls.back)
		for range cap(failed) {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		if calls.most != outputsAtOnce || len(o.gates) > 0 {
			t.Errorf("%d outputs changed at the same time, want %d; %d file systems are remembered", calls.most, outputsAtOnce, len(o.gates))
		}
	})
}

// writing is the graph of a job with this output.
func writing(dir string) *jobgraph.JobGraph {
	return &jobgraph.JobGraph{Vertices: []jobgraph.Vertex{{Outputs: []string{dir}}}}
}

// TestOutputsAreOpenedByRegion would catch parts that are removed, although they are recorded, or of finished tasks that do not
// run again; and an output that a master makes again, or gives up, because its reader has moved it away.
func TestOutputsAreOpenedByRegion(t *testing.T) {
	t.Parallel()
	logger, _ := logtest.NewNullLogger()
	part := func(out string) string { return "/" + out + "/_temporary/" + string(testJob) + "/" }
	files := dataflowtest.NewFiles(map[string]string{
		part("recorded") + "e1/1/part-00000": "x", part("open") + "e1/1/part-00000": "x", part("other") + "e1/1/part-00000": "x",
	})
	o := newOutputs(ComponentConfig{Epoch: 2, Config: roomy(t, nil), Mode: dispatcher.Session, Files: files}, logger)
	graph := &jobgraph.JobGraph{Vertices: []jobgraph.Vertex{
		{Outputs: []string{"mem:///recorded"}}, {Commit: true}, {Outputs: []string{"mem:///open", "mem:///other"}}, {Outputs: []string{"mem:///moved-away"}}, {Commit: true},
	}}
	err := o.open(t.Context(), testJob, graph, true, map[int]commitrecord.Record{
		0: {Winners: map[int][]string{1: {"1"}}, Finished: []commitrecord.Finished{{Vertex: 0}}},
		2: {Winners: map[int][]string{4: {"1"}}, Finished: []commitrecord.Finished{{Vertex: 3}}, Committed: true},
	})
	want := []string{part("open") + "e2/1/part-00000", part("other") + "e2/1/part-00000", part("recorded") + "e2/1/part-00000"}
	if got := slices.Sorted(maps.Keys(files.Files())); err != nil || !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q; error %v", got, want, err)
	}
}

// TestARecoveredJobThatDoesNotRunLeavesNothing would catch unfinished output of a job that an earlier master has begun, and
// that fails before this one opens its output, or has failed already, so that nobody removes it.
func TestARecoveredJobThatDoesNotRunLeavesNothing(t *testing.T) {
	t.Parallel()
	stays := "/d/" + theirPart
	content := map[string]string{stays: "x"}
	recovered := func(dir string, err error) dispatcher.RecoveredJob {
		job := ids.JobID("job-" + dir)
		content["/"+dir+"/_temporary/"+string(job)+"/e1/1/part-00000"] = "x"
		return dispatcher.RecoveredJob{Submission: dispatcher.Submission{Job: job, Graph: writing("mem:///" + dir)}, Err: err, Commits: map[int]ha.Commit{}}
	}
	r := dispatcher.Recovered{
		Jobs: []dispatcher.RecoveredJob{
			recovered("a", errors.New("a commit record is malformed")),
			recovered("b", nil), // its program is gone
			recovered("c", errors.New("its graph is not valid")),
		},
		Leftovers: []dispatcher.RecoveredJob{recovered("d", nil)},
		Results:   []ha.ResultEntry{{ID: "job-d", Status: msg.JobFailed}},
	}
	w, err := memory.WorkerOf(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	term, err := ha.NewMemory().Election(2).Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, removed := dataflowtest.NewFiles(content), make(chan ids.JobID)
	component, err := NewComponent(ComponentConfig{
		Epoch: 2, Mode: dispatcher.Session, Worker: resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 1, Slots: 1, Memory: w},
		Config: roomy(t, nil), Files: files, Store: removing{term.Store, removed},
		JobRecovered: func(context.Context, *dispatcher.Submission) error { return errors.New("its program is gone") },
	}, newWorkers(t, files), quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- component.Run(ctx) }()
	if err := component.Recover(ctx, r); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		<-removed
	}
	if left := files.Files(); left[stays] == "" || len(slices.DeleteFunc(slices.Collect(maps.Keys(left)), isDir)) > 1 {
		t.Errorf("left are %q, want %q", left, stays)
	}
	if left := remembered(component.outputs); left > 0 {
		t.Errorf("%d jobs are remembered that have ended", left)
	}
	end(errTestOver)
	if err := <-ended; !errors.Is(err, errTestOver) {
		t.Errorf("Run = %v, want the cause of its context", err)
	}
}

func isDir(name string) bool { return strings.HasSuffix(name, "/") }

// removing is a Store that tells which accepted jobs are removed, because they have ended.
type removing struct {
	ha.Store
	removed chan<- ids.JobID
}

func (s removing) RemoveJob(ctx context.Context, job ids.JobID) error {
	defer func() { s.removed <- job }()
	return s.Store.RemoveJob(ctx, job)
}

// TestTheAttemptAfterTheEndRemovesUnfinishedOutput would catch output that stays for ever, because the attempt that has ended
// the application died before YARN knew that, and the next one does not know its jobs.
func TestTheAttemptAfterTheEndRemovesUnfinishedOutput(t *testing.T) {
	t.Parallel()
	for _, mode := range []launch.Mode{launch.PerJob, launch.Session} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			out := written(t, ourPart, theirPart)
			graph, err := json.Marshal(writing("file://" + out))
			if err != nil {
				t.Fatal(err)
			}
			outlives := ha.NewMemory()
			first, err := outlives.Election(1).Lead(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var staged launch.Staged
			if mode == launch.PerJob { // its job has failed, so it is not among the accepted ones any more
				staged.Job = &launch.Job{ID: testJob, Graph: graph}
			} else if err := first.Store.AddJob(t.Context(), testJob, ha.Job{Graph: graph, Submitted: []byte(`{"version":1}`)}); err != nil {
				t.Fatal(err)
			}
			if err := first.Store.End(t.Context(), ha.Outcome{Status: msg.ApplicationFailed}); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			content, err := json.Marshal(staged)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, launch.StagedFile), content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			w := newWorkers(t, dataflowtest.NewFiles(nil))
			w.deregister = recordsEnd(t, out, nil)
			env := testEnvironment(t, "file://"+dir)
			env.launch.Mode, env.workDir, env.logDir, env.config = mode, t.TempDir(), t.TempDir(), roomy(t, nil)
			env.container.Attempt.Attempt = 2
			m, err := build(t.Context(), time.Now(), env, quiet(), func(_ *process, s Supply, _ *clienttoam.Verifier) (resourcemanager.WorkerProvider, error) {
				s.Registered("")
				return w, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			w.mux, m.outside.Election = m.Mux(), outlives.Election(2)
			if outcome, err := m.run(t.Context()); err != nil || outcome.Status != msg.ApplicationFailed {
				t.Errorf("run = %+v, %v", outcome, err)
			}
			if got := there(out, ourPart, theirPart); !slices.Equal(got, []string{theirPart}) {
				t.Errorf("left are %q, want %q", got, theirPart)
			}
		})
	}
}
