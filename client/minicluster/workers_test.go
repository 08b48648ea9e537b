package minicluster_test

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// local are the options of a local run with these workers, and slots of each. "" leaves an option out.
func local(t *testing.T, workers, slots string) config.Config {
	t.Helper()
	values := map[string]string{}
	for key, value := range map[config.IntKey]string{config.LocalTaskManagers: workers, config.TaskSlots: slots} {
		if value != "" {
			values[key.Name()] = value
		}
	}
	c, err := options(t).With(config.Layer{Source: "test of workers", Values: values})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSlotsAreDividedAmongTheWorkers would catch workers with too few slots together, and options without effect.
func TestSlotsAreDividedAmongTheWorkers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		workers, slots string
		needed         int
		number, each   int
	}{
		{"", "", 4, 1, 4},
		{"2", "", 4, 2, 2},
		{"3", "", 4, 3, 2},
		{"8", "", 4, 8, 1},
		{"2", "", 0, 2, 1},
		{"", "3", 4, 1, 3},
		{"2", "1", 4, 2, 1},
	} {
		if n, each := minicluster.Sizes(local(t, test.workers, test.slots), test.needed); n != test.number || each != test.each {
			t.Errorf("%q workers of %q slots, %d needed: %d of %d, want %d of %d",
				test.workers, test.slots, test.needed, n, each, test.number, test.each)
		}
	}
}

// TestAJobRunsOnSeveralWorkers would catch a cluster whose workers beyond the first never start or never serve, and
// a job that waits five minutes for slots that no worker has.
func TestAJobRunsOnSeveralWorkers(t *testing.T) {
	t.Parallel()
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	for _, test := range []struct {
		workers, slots, exchanges string
		started                   int32
		refused                   string
	}{
		{workers: "1", started: 1},
		{workers: "3", started: 3},
		{workers: "2", slots: "2", started: 2},
		{workers: "2", slots: "4", started: 1},
		{workers: "2", slots: "1", started: 2},
		{workers: "2", slots: "1", exchanges: "ALL_EXCHANGES_PIPELINED", refused: "has 2 TaskExecutors (local.number-taskmanager) with 1 slots each (taskmanager.numberOfTaskSlots)"},
	} {
		const parallelism = 3
		settings := local(t, test.workers, test.slots)
		files := dataflowtest.NewFiles(map[string]string{"/in/a": "to be or not\n", "/in/b": "to be\n"})
		var started atomic.Int32
		workers, slots := minicluster.Sizes(settings, parallelism)
		options := map[string]string{config.ParallelismDefault.Name(): strconv.Itoa(parallelism)}
		if test.exchanges != "" {
			options[config.BatchShuffleMode.Name()] = test.exchanges
		}
		env := dataflow.NewEnv(dataflow.EnvOptions{
			Config: options, FileSystem: files,
			Executor: onItsOwn{Config: settings, Workers: workers, Slots: slots, FileSystem: files, Stdout: t.Output(), Logger: silent, Process: func(*minicluster.Worker) minicluster.Process {
				started.Add(1)
				return minicluster.Process{Program: taskhost.Registered{}, FileSystem: files}
			}},
		})
		result, err := env.Execute(t.Context(), counted, "")
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s workers of %s slots: error %v, want one that says %q", test.workers, test.slots, err, test.refused)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s workers of %q slots: %v", test.workers, test.slots, err)
		}
		if diff := cmp.Diff([]string{"be 2", "not 1", "or 1", "to 2"}, collected(t, result)); diff != "" {
			t.Errorf("%s workers: result differs (-want +got):\n%s", test.workers, diff)
		}
		if got := started.Load(); got != test.started {
			t.Errorf("%s workers of %q slots: %d have started, want %d", test.workers, test.slots, got, test.started)
		}
	}
}

// onItsOwn executes each job on a cluster of its own.
type onItsOwn minicluster.Options

func (o onItsOwn) Execute(ctx context.Context, x dataflow.Execution) (dataflow.ExecutionResult, error) {
	return minicluster.Run(ctx, minicluster.Options(o), x, func(msg.JobDetails) {})
}

// heard has the amounts of external resources that the subtasks of the job "grouped" saw, by group.
var heard sync.Map

// grouped has two slot sharing groups with resources of their own. Its argument is the amount of "gpu".
var grouped = dataflow.Job("grouped", func(p *dataflow.Plan, gpus int64) error {
	small := dataflow.SlotSharingGroup("small", dataflow.Resources{CPU: 0.5, TaskHeap: 32 << 20, Managed: 8 << 20})
	gpu := dataflow.SlotSharingGroup("gpu", dataflow.Resources{CPU: 1, TaskHeap: 256 << 20, Managed: 8 << 20, External: map[string]int64{"gpu": gpus}})
	note := func(group string) func(dataflow.Subtask) func([]byte, func([]byte)) {
		return func(s dataflow.Subtask) func([]byte, func([]byte)) {
			heard.Store(group, s.Resources()["gpu"])
			return func(line []byte, emit func([]byte)) { emit(line) }
		}
	}
	lines := dataflow.FlatMapWith(dataflow.ReadTextWith(p, []string{"/in"}, dataflow.InGroup(small)), note("small"))
	found := dataflow.Count(dataflow.KeyBy(dataflow.FlatMapWith(lines, note("gpu"), dataflow.InGroup(gpu)), dataflow.Identity))
	dataflow.Collect(dataflow.Map(found, func(c dataflow.KV[[]byte, int64]) string {
		return string(c.Key) + " " + strconv.FormatInt(c.Value, 10)
	}), words)
	return nil
})

// TestGroupsWithResourcesHaveWorkersOfTheirOwn would catch a job that never gets slots of some group, one whose
// groups share workers, and subtasks that do not know the external resources of their slot.
func TestGroupsWithResourcesHaveWorkersOfTheirOwn(t *testing.T) {
	t.Parallel()
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n", "/in/b": "y\n", "/in/c": "x\n"})
	var started atomic.Int32
	env := dataflow.NewEnv(dataflow.EnvOptions{
		Config: map[string]string{config.ParallelismDefault.Name(): "2"}, FileSystem: files,
		Executor: onItsOwn{Config: options(t), Workers: 1, Slots: 1, FileSystem: files, Stdout: t.Output(), Logger: silent, Process: func(*minicluster.Worker) minicluster.Process {
			started.Add(1)
			return minicluster.Process{Program: taskhost.Registered{}, FileSystem: files}
		}},
	})
	result, err := env.Execute(t.Context(), grouped, int64(3))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x 2", "y 1"}, collected(t, result)); diff != "" {
		t.Errorf("result differs (-want +got):\n%s", diff)
	}
	if n := started.Load(); n != 3 { // two small slots fit into a worker, and one of the others
		t.Errorf("%d workers have started, want 3", n)
	}
	for group, want := range map[string]int64{"small": 0, "gpu": 3} {
		if got, _ := heard.Load(group); got != want {
			t.Errorf("subtasks of group %s have %v GPUs, want %d", group, got, want)
		}
	}
}
