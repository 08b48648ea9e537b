package clustertest_test

import (
	"bytes"
	"errors"
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
// renamed twice.
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
			files := input()
			check(t, files, clustertest.Run(t, counting, "/in", clustertest.Options{Files: files, Parallelism: 2, Faults: lost}))
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
