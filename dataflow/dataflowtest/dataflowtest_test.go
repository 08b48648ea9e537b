package dataflowtest_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func printed(dst, v []byte) []byte { return append(dst, v...) }

// drawn counts the runs of drifting's plan function.
var drawn int

// drifting gives one plan to the driver, and another to whoever plans it later.
var drifting = dataflow.Job("drifting", func(p *dataflow.Plan, input string) error {
	name := "print"
	if drawn++; drawn > 2 {
		name = "print later"
	}
	dataflow.Print(dataflow.ReadText(p, input), printed, dataflow.Named(name))
	return nil
})

// A runner that took the driver's tasks would not notice.
func TestAJobIsPlannedAgainByWhoRunsIt(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in": "x"})
	_, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files}).Execute(t.Context(), drifting, "/in")
	if err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("error %v, want one about the digest", err)
	}
}

var faulty = dataflow.Job("faulty", func(p *dataflow.Plan, input string) error {
	lines := dataflow.Filter(dataflow.ReadText(p, input), func([]byte) bool { panic("user's mistake") }, dataflow.Named("check"))
	dataflow.Print(lines, printed, dataflow.Parallelism(2))
	return nil
})

// The consumers of the subtask that fails wait for it: they must end too.
func TestAPanicFailsTheRunAndNamesTheTask(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in": "x"})
	_, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Parallelism: 3}).Execute(t.Context(), faulty, "/in")
	if err == nil || !strings.Contains(err.Error(), "check") || !strings.Contains(err.Error(), "user's mistake") ||
		!strings.Contains(err.Error(), "dataflowtest_test.go") {
		t.Errorf("error %v, want the panic, its stack and the task's name", err)
	}
}
