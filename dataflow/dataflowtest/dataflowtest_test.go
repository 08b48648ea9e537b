package dataflowtest_test

import (
	"bytes"
	"slices"
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

// drifting gives one plan to the driver, and another plan to later calls.
var drifting = dataflow.Job("drifting", func(p *dataflow.Plan, input string) error {
	name := "print"
	if drawn++; drawn > 2 {
		name = "print later"
	}
	dataflow.Print(dataflow.ReadText(p, input), printed, dataflow.Named(name))
	return nil
})

// A runner that used the driver's tasks would not find the difference.
func TestAJobIsPlannedAgainByWhoRunsIt(t *testing.T) {
	t.Parallel()
	drawn = 0 // of an earlier round, with -count
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

// The consumers wait for the subtask that fails. They must end too.
func TestAPanicFailsTheRunAndNamesTheTask(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in": "x"})
	_, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Parallelism: 3}).Execute(t.Context(), faulty, "/in")
	if err == nil || !strings.Contains(err.Error(), "check") || !strings.Contains(err.Error(), "user's mistake") ||
		!strings.Contains(err.Error(), "dataflowtest_test.go") {
		t.Errorf("error %v, want the panic, its stack and the task's name", err)
	}
}

type copyArgs struct{ Input, Output string }

var replacing = dataflow.Job("replacing", func(p *dataflow.Plan, a copyArgs) error {
	dataflow.WriteText(dataflow.ReadText(p, a.Input), a.Output, printed, dataflow.Overwrite())
	return nil
})

// A run with the id of the run before it would find its output committed, and write
// nothing.
func TestASecondRunOfAJobReplacesTheOutputOfTheFirst(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/1": "one\n", "/in/2": "two\n"})
	for _, input := range []string{"/in/1", "/in/2"} {
		dataflowtest.Run(t, replacing, copyArgs{input, "/out"}, dataflowtest.Options{FileSystem: files})
		if got, want := files.Files()["/out/part-00000"], files.Files()[input]; got != want {
			t.Errorf("the output of %s is %q, want %q", input, got, want)
		}
	}
}

var printing = dataflow.Job("printing", func(p *dataflow.Plan, input string) error {
	dataflow.Print(dataflow.ReadText(p, input), printed)
	return nil
})

// The race detector would find subtasks that write to the test's Writer at once.
func TestSubtasksPrintOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	files := dataflowtest.NewFiles(map[string]string{"/in/1": "a\n", "/in/2": "b\n", "/in/3": "c\n", "/in/4": "d\n"})
	dataflowtest.Run(t, printing, "/in", dataflowtest.Options{FileSystem: files, Parallelism: 4, Stdout: &out})
	var got []string
	for line := range strings.Lines(out.String()) {
		_, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "> ")
		got = append(got, text)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("printed %q", out.String())
	}
}
