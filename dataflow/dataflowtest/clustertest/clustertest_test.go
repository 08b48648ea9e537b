package clustertest_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

// TestMain would catch a killed worker that leaves goroutines behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	found = dataflow.NewCollector[string]("found")

	counting = dataflow.Job("counting", func(p *dataflow.Plan, input string) error {
		words := dataflow.FlatMap(dataflow.ReadText(p, input), func(line []byte, emit func(string)) {
			for word := range bytes.FieldsSeq(line) {
				emit(string(word))
			}
		}, dataflow.Named("words"))
		counts := dataflow.Count(dataflow.KeyBy(words, dataflow.Identity[string]), dataflow.Named("count"))
		lines := dataflow.Map(counts, func(c dataflow.KV[string, int64]) string {
			return c.Key + " " + strconv.FormatInt(c.Value, 10)
		}, dataflow.Named("line"))
		dataflow.WriteText(lines, "/out", func(dst []byte, line string) []byte { return append(dst, line...) }, dataflow.Named("write"))
		dataflow.Collect(lines, found)
		return nil
	})
)

// input has four files, because a split is a file at most.
func input() *dataflowtest.Files {
	return dataflowtest.NewFiles(map[string]string{
		"/in/1": "to be\nor not\n", "/in/2": "to be\n", "/in/3": "that is\nthe question\n", "/in/4": "or not\n",
	})
}

var want = []string{"be 2", "is 1", "not 2", "or 2", "question 1", "that 1", "the 1", "to 2"}

func check(t *testing.T, files *dataflowtest.Files, result *dataflow.Result) {
	t.Helper()
	collected, err := dataflow.Collected(result, found)
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	for name, content := range files.Files() {
		if strings.HasPrefix(name, "/out/part-") {
			written = slices.AppendSeq(written, strings.FieldsFuncSeq(content, func(r rune) bool { return r == '\n' }))
		}
		if strings.Contains(name, "_temporary") {
			t.Errorf("%s is left", name)
		}
	}
	slices.Sort(collected)
	slices.Sort(written)
	if diff := cmp.Diff([][]string{want, want}, [][]string{collected, written}); diff != "" {
		t.Errorf("collected, and written (-want +got):\n%s", diff)
	}
}

// TestAJobSurvivesTheLossOfAWorkerAnywhere would catch elements that are lost or counted twice when a worker dies,
// a job that waits for a dead worker, and files that a dead worker still changes: its parts would be left, or
// renamed twice. It would also catch a kill that harms no task.
func TestAJobSurvivesTheLossOfAWorkerAnywhere(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string][]clustertest.Fault{
		"while it reads":         {clustertest.KillWorker("read text")},
		"between two elements":   {clustertest.KillWorker("words").After(3)},
		"after the exchange":     {clustertest.KillWorker("count").After(2)},
		"while it writes":        {clustertest.KillWorker("write").Subtask(1)},
		"during the commit":      {clustertest.KillWorker("write (commit)").After(1)},
		"all workers":            {clustertest.KillWorker("count").Subtask(0), clustertest.KillWorker("count").Subtask(1)},
		"again and again":        {clustertest.KillWorker("line"), clustertest.KillWorker("line"), clustertest.KillWorker("line"), clustertest.KillWorker("line")},
		"while another one lags": {clustertest.SlowTask("count", time.Millisecond).Subtask(0), clustertest.KillWorker("count").Subtask(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, restarts := input(), 0
			check(t, files, clustertest.Run(t, counting, "/in", clustertest.Options{Files: files, Parallelism: 2, Faults: lost, Restarts: &restarts}))
			if restarts == 0 {
				t.Error("no task was restarted")
			}
		})
	}
}

// TestTheOnlyWorkerIsReplaced would catch a cluster that counts a killed worker as running: the job would be told
// that no other worker can come.
func TestTheOnlyWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	files := input()
	check(t, files, clustertest.Run(t, counting, "/in", clustertest.Options{
		Files: files, Parallelism: 2, Workers: 1,
		Config: map[string]string{"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "0"}, // a loss uses up no restart
		Faults: []clustertest.Fault{clustertest.KillWorker("words").After(1)},
	}))
}

// TestAFaultThatCannotHappenIsAnError would catch a test that passes without its failure.
func TestAFaultThatCannotHappenIsAnError(t *testing.T) {
	t.Parallel()
	late := clustertest.KillWorker("words").After(1000)
	for text, fault := range map[string]clustertest.Fault{
		"the operators are read text, words, count (combine), count": clustertest.KillWorker("word"),
		"subtask 2 does not exist":                                   clustertest.KillWorker("words").Subtask(2),
		"negative":                                                   clustertest.KillWorker("words").After(-1),
		clustertest.ErrNotReached.Error():                            late,
	} {
		files := input()
		_, err := clustertest.NewEnv(t, clustertest.Options{Files: files, Parallelism: 2, Faults: []clustertest.Fault{fault}}).
			Execute(t.Context(), counting, "/in")
		if err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), fault.String()) {
			t.Errorf("%s: error %v, want one that says %q", fault, err, text)
		}
		if (fault == late) != errors.Is(err, clustertest.ErrNotReached) {
			t.Errorf("%s: error %v", fault, err)
		}
	}
}

// tagging puts the content of a cached file before each line. Its argument is the name of the file.
var tagging = dataflow.Job("tagging", func(p *dataflow.Plan, name string) error {
	dataflow.Collect(dataflow.FlatMapWith(dataflow.ReadText(p, "/in"), func(s dataflow.Subtask) func([]byte, func(string)) {
		path, err := s.CachedFile(name)
		if err != nil {
			panic(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		return func(line []byte, emit func(string)) { emit(string(content) + string(line)) }
	}, dataflow.Named("tag")), found)
	return nil
})

// TestAJobHasItsCachedFiles would catch a job that finds none of its cached files here, but on a cluster, and one
// without them after its worker was lost.
func TestAJobHasItsCachedFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "it's; a file")
	if err := os.WriteFile(path, []byte("disk: "), 0o600); err != nil {
		t.Fatal(err)
	}
	files := dataflowtest.NewFiles(map[string]string{"/in/1": "to be\n", "/cached": "memory: "})
	for name, o := range map[string]clustertest.Options{
		"disk":   {CachedFiles: map[string]string{"disk": path}},
		"memory": {Config: map[string]string{"pipeline.cached-files": "name:memory,path:mem:///cached"}},
	} {
		o.Files, o.Faults = files, []clustertest.Fault{clustertest.KillWorker("tag")}
		got, err := dataflow.Collected(clustertest.Run(t, tagging, name, o), found)
		if diff := cmp.Diff([]string{name + ": to be"}, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	_, err := clustertest.NewEnv(t, clustertest.Options{Files: files, CachedFiles: map[string]string{"disk": path + "2"}}).
		Execute(t.Context(), tagging, "disk")
	if err == nil || !strings.Contains(err.Error(), "there is no such file") || !strings.Contains(err.Error(), path+"2") {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// TestAFailedJobLeavesNoUnfinishedOutput would catch a cluster that does not know the files of the test.
func TestAFailedJobLeavesNoUnfinishedOutput(t *testing.T) {
	t.Parallel()
	files := input()
	failing := files.View(func(c dataflowtest.Call) error {
		if c.Op == "Close" && strings.Contains(c.URI, "/part-") {
			return errors.New("no space left on device")
		}
		return nil
	})
	_, err := clustertest.NewEnv(t, clustertest.Options{Files: failing, Config: map[string]string{"restart-strategy.type": "none"}}).
		Execute(t.Context(), counting, "/in")
	if err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatalf("the job ended with %v", err)
	}
	for name := range files.Files() {
		if strings.Contains(name, "_temporary") {
			t.Errorf("%s is left", name)
		}
	}
}
