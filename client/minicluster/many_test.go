//go:build unix

package minicluster_test

import (
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// TestAWorkerWithThousandsOfSlots would catch a lost worker because its slots are requested one by one, more
// than any outbox holds; a job that ends after its worker has registered twice; and memory and time for each
// pair of tasks: four times as many tasks make sixteen times as many pairs. The test measures memory once,
// because later jobs use what earlier ones have left. It measures the processors' time, which other work on the
// machine prolongs only a little.
func TestAWorkerWithThousandsOfSlots(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	const few, times, tries = 1250, 4, 3
	countWith(t, 10) // what is made once
	for try := 1; ; try++ {
		one, all := countWith(t, few), countWith(t, times*few)
		if try == 1 {
			judgeMemory(t, one, all, times)
		}
		grown := all.processor.Seconds() / one.processor.Seconds()
		if grown <= 2*times {
			return
		}
		if try == tries {
			t.Fatalf("%d times as many tasks take %.1f times the processor's time, and did so %d times", times, grown, tries)
		}
	}
}

// judgeMemory compares the memory of a job with that of a job with times as many tasks.
func judgeMemory(t *testing.T, one, all cost, times int64) {
	t.Helper()
	if one.held <= 0 {
		t.Fatalf("a job holds %d bytes: what the job before it had left was counted before it began, and is gone", one.held)
	}
	if all.held > 2*times*one.held {
		t.Errorf("%d times as many tasks hold %.1f times the memory", times, float64(all.held)/float64(one.held))
	}
	if all.allocated > 2*times*one.allocated {
		t.Errorf("%d times as many tasks have %.1f times the memory allocated", times, float64(all.allocated)/float64(one.allocated))
	}
}

// cost is the memory and time of a job.
type cost struct {
	held      int64         // bytes in use while all tasks run, except the sources without a file
	allocated int64         // bytes, from start to end
	processor time.Duration // of the process, from start to end
}

// used is what the process has used so far. The memory in use is measured after a garbage collection.
func used(t *testing.T) cost {
	t.Helper()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var process syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &process); err != nil {
		t.Fatal(err)
	}
	return cost{
		held: int64(memory.HeapAlloc + memory.StackInuse), allocated: int64(memory.TotalAlloc),
		processor: time.Duration(process.Utime.Nano() + process.Stime.Nano()),
	}
}

// settled tells whether all tasks of a job run, except the sources without a file, which have ended: then this
// many tasks wait at the gate.
func settled(d msg.JobDetails, waiting int) bool {
	tasks, running, finished := 0, 0, 0
	for _, v := range d.Vertices {
		tasks += v.Parallelism
		running += v.Tasks[msg.ExecutionRunning]
		finished += v.Tasks[msg.ExecutionFinished]
	}
	return waiting > 0 && running+finished == tasks && finished+waiting == d.Vertices[0].Parallelism
}

// clean collects garbage twice, because pools free their content only at the second collection.
func clean() {
	runtime.GC()
	runtime.GC()
}

// countWith counts the words of a small text with this many tasks of each kind.
func countWith(t *testing.T, parallelism int) cost {
	t.Helper()
	clean()
	before := used(t)
	name, words := newGate(t)
	files := dataflowtest.NewFiles(map[string]string{"/in/a": strings.Repeat("to be or not to be\n", 100)})
	settings, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		config.RestartStrategy.Name():    "none",
		config.ParallelismDefault.Name(): strconv.Itoa(parallelism),
	}})
	if err != nil {
		t.Fatal(err)
	}
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	cluster, err := minicluster.Start(t.Context(), minicluster.Options{
		Config: settings, Workers: 1, Slots: parallelism, Program: taskhost.Registered{}, FileSystem: files, Stdout: t.Output(), Logger: silent,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, cluster)
	args, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := dataflow.Compile(counted.Name(), args, dataflow.PlanOptions{Parallelism: parallelism, Config: settings.Set()})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := compiled.Prepare(t.Context(), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	var last msg.JobDetails
	var held int64
	var got []byte
	ended, err := cluster.Execute(t.Context(), &graph, func(_ string, _ int, records []byte) error {
		got = append(got, records...)
		return nil
	}, func(d msg.JobDetails) {
		last = d
		if held == 0 && settled(d, len(words.reached)) {
			clean()
			held = used(t).held
			close(words.open)
		}
	})
	if err != nil || ended.Status != msg.JobFinished {
		t.Fatalf("-p %d: job is %s, %v, %v", parallelism, ended.Status, ended.Failure, err)
	}
	if last.Restarts > 0 {
		t.Errorf("-p %d: %d restarts", parallelism, last.Restarts)
	}
	for _, count := range []string{"be 200", "not 100", "or 100", "to 200"} {
		if !strings.Contains(string(got), count) {
			t.Errorf("-p %d: %q does not have %q", parallelism, got, count)
		}
	}
	if !slices.ContainsFunc(last.Vertices, func(v msg.VertexDetails) bool { return v.Parallelism == parallelism }) {
		t.Errorf("-p %d: no vertex has as many tasks", parallelism)
	}
	after := used(t)
	c := cost{held: held - before.held, allocated: after.allocated - before.allocated, processor: after.processor - before.processor}
	t.Logf("-p %d: %d MiB held of %d MiB allocated, %s of processors", parallelism, c.held>>20, c.allocated>>20, c.processor.Round(time.Millisecond))
	return c
}
