package clustertest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

// sorting sorts lines over all workers.
var sorting = dataflow.Job("sorting", func(p *dataflow.Plan, input string) error {
	lines := dataflow.Map(dataflow.ReadText(p, input), func(line []byte) string { return string(line) })
	inOrder := dataflow.Sort(lines, dataflow.Identity, dataflow.Named("sort"))
	dataflow.WriteText(inOrder, "/out", func(dst []byte, line string) []byte { return append(dst, line...) }, dataflow.Named("write"))
	return nil
})

// The parts one after the other must be the sorted lines, also if a worker is lost. It would catch two attempts whose ranges differ
// and that both write.
func TestASortSurvivesTheLossOfAWorker(t *testing.T) {
	t.Parallel()
	const lines = 20_000
	content := make(map[string]string)
	var want []string
	for file := range 4 {
		var b strings.Builder
		for n := range lines {
			line := fmt.Sprintf("line %04d of file %d", n*7919%lines, file)
			want = append(want, line)
			b.WriteString(line + "\n")
		}
		content[fmt.Sprint("/in/", file)] = b.String()
	}
	slices.Sort(want)
	for name, fault := range map[string]clustertest.Fault{
		"while it takes samples": clustertest.KillWorker("sort (sample)").After(2 * lines),
		"while it sends":         clustertest.KillWorker("sort (partition)").After(lines),
		"while it sorts":         clustertest.KillWorker("sort").After(2 * lines),
		"while it writes":        clustertest.KillWorker("write").Subtask(1).After(lines),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dataflowtest.NewFiles(content)
			clustertest.Run(t, sorting, "/in", clustertest.Options{Files: files, Parallelism: 2, Workers: 2, Faults: []clustertest.Fault{fault}})
			written := files.Files()
			parts := strings.Split(strings.TrimSuffix(written["/out/part-00000"]+written["/out/part-00001"], "\n"), "\n")
			if !slices.Equal(parts, want) {
				t.Errorf("%d lines are not the %d sorted ones", len(parts), len(want))
			}
		})
	}
}
