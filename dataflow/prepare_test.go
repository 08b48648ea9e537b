package dataflow_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

type copyArgs struct {
	Inputs, Outputs []string
	Overwrite       bool
}

// copies writes each input to the output with the same index.
var copies = dataflow.Job("copies", func(p *dataflow.Plan, a copyArgs) error {
	var o []dataflow.Option
	if a.Overwrite {
		o = append(o, dataflow.Overwrite())
	}
	for i := range a.Inputs {
		dataflow.WriteText(dataflow.ReadText(p, a.Inputs[i]), a.Outputs[i], text, o...)
	}
	return nil
})

// Each input and output must be refused before the submission, in one line that
// names it.
func TestPrepareRefusesBadInputAndOutput(t *testing.T) {
	t.Parallel()
	content := map[string]string{"/in/a": "a", "/in2/b": "b", "/full/x": "x", "/file": "x", "/zip/a.lz4": "x"}
	for name, c := range map[string]struct {
		args copyArgs
		want string
	}{
		"missing input":               {copyArgs{[]string{"/none"}, []string{"/out"}, false}, "input /none: "},
		"compressed input":            {copyArgs{[]string{"/zip"}, []string{"/out"}, false}, "are no archives: decompress this file, or compress its text in another format (mem:///zip/a.lz4)"},
		"output that exists":          {copyArgs{[]string{"/in"}, []string{"/full"}, false}, "output mem:///full: output exists already"},
		"output that is a file":       {copyArgs{[]string{"/in"}, []string{"/file"}, true}, "output mem:///file is a file"},
		"input inside the output":     {copyArgs{[]string{"/in"}, []string{"/in"}, true}, "input mem:///in/a lies in the output mem:///in"},
		"two outputs in one place":    {copyArgs{[]string{"/in", "/in2"}, []string{"/out", "/out/"}, false}, "output mem:///out and output mem:///out overlap"},
		"an output inside another":    {copyArgs{[]string{"/in", "/in2"}, []string{"/out", "/out/b"}, false}, "overlap"},
		"output on no known system":   {copyArgs{[]string{"/in"}, []string{"s3://b/out"}, false}, "output s3://b/out: "},
		"a glob without any match":    {copyArgs{[]string{"/in/*.csv"}, []string{"/out"}, false}, "input /in/*.csv: no file matches"},
		"an input on no known system": {copyArgs{[]string{"s3://b/in"}, []string{"/out"}, false}, "input s3://b/in: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dataflowtest.NewFiles(content)
			_, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files}).Execute(t.Context(), copies, c.args)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "copies") {
				t.Errorf("error %v, want one line that names the job and says %q", err, c.want)
			}
			if len(files.Files()) != len(content) {
				t.Errorf("files are now %v", files.Files())
			}
		})
	}
}

func TestFailuresWhilePreparingKeepTheirCause(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in": "a", "/out/old": "x"})
	for _, op := range []string{"Stat", "List"} {
		denied := files.View(func(c dataflowtest.Call) error {
			if c.Op == op {
				return fs.ErrPermission
			}
			return nil
		})
		_, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: denied}).Execute(t.Context(), copies, copyArgs{[]string{"/in"}, []string{"/out"}, false})
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "/out") {
			t.Errorf("%s fails: error %v, want one that wraps the cause and names the output", op, err)
		}
	}
}
