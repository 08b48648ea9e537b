package minicluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// TestMain would catch a cluster that leaves goroutines behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const slots = 2

// gates are the gates at which jobs wait, by name. Plan functions and tasks run in this process, and get only
// their arguments from the test.
var gates sync.Map

// gate is a place at which tasks wait.
type gate struct {
	reached chan struct{} // gets a token from each task that arrives
	open    chan struct{} // closed by the test
}

func newGate(t *testing.T) (name string, g *gate) {
	g = &gate{reached: make(chan struct{}, 1000), open: make(chan struct{})}
	gates.Store(t.Name(), g)
	return t.Name(), g
}

// counted counts words into a collector, after each has passed the gate.
var (
	words = dataflow.NewCollector[string]("words")

	counted = dataflow.Job("counted", func(p *dataflow.Plan, gateName string) error {
		lines := dataflow.ReadText(p, "/in")
		found := dataflow.FlatMapWith(lines, func(s dataflow.Subtask) func([]byte, func(string)) {
			arrived := s.Counter("arrived")
			return func(line []byte, emit func(string)) {
				for word := range strings.FieldsSeq(string(line)) {
					arrived.Add(1)
					if word == "boom" {
						panic("boom of the user's")
					}
					if g, waits := gates.Load(gateName); waits {
						g := g.(*gate)
						g.reached <- struct{}{}
						<-g.open
					}
					emit(word)
				}
			}
		})
		counts := dataflow.Count(dataflow.KeyBy(found, dataflow.Identity[string]))
		dataflow.Collect(dataflow.Map(counts, func(c dataflow.KV[string, int64]) string {
			return c.Key + " " + strconv.FormatInt(c.Value, 10)
		}), words)
		return nil
	})
)

func options(t *testing.T) config.Config {
	t.Helper()
	c, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		config.RestartStrategy.Name():    "none",
		config.ParallelismDefault.Name(): strconv.Itoa(slots),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func start(t *testing.T, files *dataflowtest.Files) *minicluster.Cluster {
	t.Helper()
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	silent.SetLevel(logrus.DebugLevel) // so that the logging code runs
	c, err := minicluster.Start(t.Context(), minicluster.Options{
		Config: options(t), Workers: 1, Slots: slots, Program: taskhost.Registered{}, FileSystem: files, Stdout: t.Output(), Logger: silent,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func stop(t *testing.T, c *minicluster.Cluster) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Errorf("cluster ends with %v", err)
	}
}

// executor executes jobs like a program that a user starts by hand.
type executor struct {
	cluster *minicluster.Cluster
	ended   msg.JobEnded
}

func (e *executor) Execute(ctx context.Context, x dataflow.Execution) (dataflow.ExecutionResult, error) {
	var err error
	e.ended, err = e.cluster.Execute(ctx, &x.Graph, x.Collected, func(msg.JobDetails) {})
	if err == nil && e.ended.Failure != nil {
		err = e.ended.Failure
	}
	return dataflow.ExecutionResult{JobID: string(e.ended.Job), Duration: e.ended.Duration, Counters: e.ended.Counters}, err
}

func (e *executor) env(t *testing.T, files *dataflowtest.Files) *dataflow.Env {
	return dataflow.NewEnv(dataflow.EnvOptions{Config: options(t).Set(), FileSystem: files, Executor: e})
}

func collected(t *testing.T, r *dataflow.Result) []string {
	t.Helper()
	got, err := dataflow.Collected(r, words)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	return got
}

// plan returns the graph of a job that waits at a gate.
func plan(t *testing.T, files *dataflowtest.Files, gateName string) *jobgraph.JobGraph {
	t.Helper()
	args, err := json.Marshal(gateName)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dataflow.Compile(counted.Name(), args, dataflow.PlanOptions{Parallelism: slots, Config: options(t).Set()})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := c.Prepare(t.Context(), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &graph
}

// TestJobsOneAfterAnother would catch slots, hosts or results of a job that remain when the next job starts,
// and a failed job that blocks later ones.
func TestJobsOneAfterAnother(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "to be or not\n", "/in/b": "to be\n"})
	cluster := start(t, files)
	defer stop(t, cluster)
	e := &executor{cluster: cluster}
	env := e.env(t, files)
	want := []string{"be 2", "not 1", "or 1", "to 2"}
	for i := range 2 {
		result, err := env.Execute(t.Context(), counted, "")
		if err != nil {
			t.Fatalf("job %d: %v", i, err)
		}
		if diff := cmp.Diff(want, collected(t, result)); diff != "" {
			t.Errorf("job %d: result differs (-want +got):\n%s", i, diff)
		}
	}

	files.Write("/in/c", "a boom\n")
	_, err := env.Execute(t.Context(), counted, "")
	if err == nil || e.ended.Status != msg.JobFailed {
		t.Fatalf("job that panics: %s, error %v; want FAILED", e.ended.Status, err)
	}
	if f := e.ended.Failure; !strings.Contains(f.Message, "boom of the user's") || !strings.Contains(f.Stack, "minicluster_test.go") {
		t.Errorf("failure %q with stack\n%s\nwant the panic and where it was", f.Message, f.Stack)
	}
	files.Write("/in/c", "or\n")
	result, err := env.Execute(t.Context(), counted, "")
	if err != nil {
		t.Fatalf("job after one that failed: %v", err)
	}
	if diff := cmp.Diff([]string{"be 2", "not 1", "or 2", "to 2"}, collected(t, result)); diff != "" {
		t.Errorf("job after one that failed: result differs (-want +got):\n%s", diff)
	}
}

// TestACancelledJobEnds would catch a cancelled job whose tasks continue, or which keeps its slots.
func TestACancelledJobEnds(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "one\ntwo\n"})
	cluster := start(t, files)
	defer stop(t, cluster)
	name, g := newGate(t)
	job, err := cluster.Submit(t.Context(), plan(t, files, name))
	if err != nil {
		t.Fatal(err)
	}
	<-g.reached
	if err := cluster.Cancel(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	for d := (msg.JobDetails{}); d.Status != msg.JobCancelling; { // its JobMaster gets the message a little later, and no task may end before that
		if d, err = cluster.Details(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	close(g.open)
	ended, err := cluster.Wait(t.Context(), job)
	if err != nil || ended.Status != msg.JobCanceled {
		t.Errorf("job is %s, error %v; want CANCELED", ended.Status, err)
	}
	if err := cluster.Cancel(t.Context(), job); err != nil {
		t.Errorf("cancelling a cancelled job: %v", err)
	}
	e := &executor{cluster: cluster}
	result, err := e.env(t, files).Execute(t.Context(), counted, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one 1", "two 1"}, collected(t, result)); diff != "" {
		t.Errorf("job after it: result differs (-want +got):\n%s", diff)
	}
}

// TestCloseEndsAJobThatRuns would catch a program that continues after Ctrl-C.
func TestCloseEndsAJobThatRuns(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": strings.Repeat("word ", 100)})
	cluster := start(t, files)
	name, g := newGate(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	executed := make(chan error, 1)
	go func() {
		_, err := cluster.Execute(ctx, plan(t, files, name), func(string, int, []byte) error { return nil }, func(msg.JobDetails) {})
		executed <- err
	}()
	<-g.reached
	cancel(interrupted)
	if err := <-executed; !errors.Is(err, interrupted) {
		t.Errorf("Execute = %v, want the cause of its context", err)
	}
	close(g.open)
	stop(t, cluster)
	if _, err := cluster.Submit(t.Context(), plan(t, files, "")); err == nil {
		t.Error("a cluster that has ended takes a job")
	}
	stop(t, cluster) // again
}

// TestABadOptionIsTold would catch a job that starts and then fails because of an option, and an error about a
// missing result instead of the reason.
func TestABadOptionIsTold(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "one\n"})
	cluster := start(t, files)
	defer stop(t, cluster)
	graph := plan(t, files, "")
	graph.Config = map[string]string{config.RestartStrategy.Name(): "perhaps"}
	ended, err := cluster.Execute(t.Context(), graph, func(string, int, []byte) error { return nil }, func(msg.JobDetails) {})
	if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), "perhaps") || ended.Job != "" {
		t.Errorf("job is %+v, error %v; want none, for its option", ended, err)
	}
}

// TestAResultThatIsNotTakenEndsTheJob would catch a job that runs after its driver has given it up.
func TestAResultThatIsNotTakenEndsTheJob(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "one two three\n"})
	cluster := start(t, files)
	defer stop(t, cluster)
	full := errors.New("disk is full")
	ended, err := cluster.Execute(t.Context(), plan(t, files, ""), func(string, int, []byte) error { return full }, func(msg.JobDetails) {})
	if !errors.Is(err, full) {
		t.Errorf("Execute = %v, want what the taker said", err)
	}
	last, err := cluster.Wait(t.Context(), ended.Job)
	if err != nil || !last.Status.GloballyTerminal() {
		t.Errorf("job is %s, error %v; want it ended", last.Status, err)
	}
}

// TestUnknownJobs would catch requests that wait for a job that does not exist.
func TestUnknownJobs(t *testing.T) {
	t.Parallel()
	cluster := start(t, dataflowtest.NewFiles(nil))
	defer stop(t, cluster)
	for name, ask := range map[string]func(ids.JobID) error{
		"wait":    func(j ids.JobID) error { _, err := cluster.Wait(t.Context(), j); return err },
		"details": func(j ids.JobID) error { _, err := cluster.Details(t.Context(), j); return err },
		"cancel":  func(j ids.JobID) error { return cluster.Cancel(t.Context(), j) },
	} {
		if err := ask("00"); !errors.Is(err, msg.ErrJobNotFound) {
			t.Errorf("%s: got %v, want ErrJobNotFound", name, err)
		}
	}
}

// TestProgressIsWatched would catch a job without progress for the user, and counters that only a task which has ended shows.
func TestProgressIsWatched(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "one\n"})
	cluster := start(t, files)
	defer stop(t, cluster)
	name, g := newGate(t)
	watched := make(chan msg.JobDetails, 1)
	done := make(chan error, 1)
	go func() {
		_, err := cluster.Execute(t.Context(), plan(t, files, name), func(string, int, []byte) error { return nil }, func(d msg.JobDetails) {
			select {
			case watched <- d:
			default:
			}
		})
		done <- err
	}()
	<-g.reached
	if d := <-watched; d.Status != msg.JobRunning || len(d.Vertices) == 0 {
		t.Errorf("watched %s with %d vertices, want a running job", d.Status, len(d.Vertices))
	}
	for d := <-watched; d.Counters["arrived"] != 1; d = <-watched {
		if d.Status != msg.JobRunning {
			t.Fatalf("job is %s", d.Status)
		}
	}
	close(g.open)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
