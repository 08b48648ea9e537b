package minicluster_test

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// longVariable is 1 where the tests that take minutes run, too: make test-long.
const longVariable = "BOBBIN_TEST_LONG"

// TestAWorkerWithThousandsOfSlots would catch a worker that is lost because its slots
// are asked for one by one, more than any outbox holds; a job that ends after its worker
// has come a second time; and time and memory that are taken for each pair of tasks. A
// long run of tests goes on to 5,000 slots.
func TestAWorkerWithThousandsOfSlots(t *testing.T) {
	slots := []int{1250, 2500}
	if os.Getenv(longVariable) == "1" {
		slots = append(slots, 5000)
	}
	run := func(parallelism int) (bytes uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		countWith(t, parallelism)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		bytes = after.TotalAlloc - before.TotalAlloc
		t.Logf("-p %d: %s, %d MiB allocated", parallelism, took.Round(time.Millisecond), bytes>>20)
		return bytes
	}
	run(10) // what is made once
	few := run(slots[0])
	for _, twice := range slots[1:] {
		many := run(twice)
		if many > few*5/2 {
			t.Errorf("-p %d: twice as many tasks take %.1f times the memory", twice, float64(many)/float64(few))
		}
		few = many
	}
}

// countWith counts the words of a small text with so many tasks of each kind.
func countWith(t *testing.T, parallelism int) {
	t.Helper()
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
		Config: settings, Slots: parallelism, Program: program{}, FileSystem: files, Stdout: t.Output(), Logger: silent,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, cluster)
	args, err := json.Marshal("")
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
	var got []byte
	ended, err := cluster.Execute(t.Context(), &graph, func(_ string, _ int, records []byte) error {
		got = append(got, records...)
		return nil
	}, func(d msg.JobDetails) { last = d })
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
}
