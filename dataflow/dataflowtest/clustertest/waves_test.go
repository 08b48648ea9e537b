package clustertest_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

// frequencies writes each word with the number of its occurrences, in order: a stream is joined with its own aggregation, and sorted.
var frequencies = dataflow.Job("frequencies", func(p *dataflow.Plan, input string) error {
	words := dataflow.KeyBy(dataflow.Map(dataflow.ReadText(p, input), func(line []byte) string { return string(line) }, dataflow.Named("words")), dataflow.Identity[string])
	counts := dataflow.Count(words, dataflow.Named("count"))
	byWord := dataflow.KeyBy(counts, func(c dataflow.KV[string, int64]) string { return c.Key })
	lines := dataflow.Join(words, byWord, func(word string, c dataflow.KV[string, int64], emit func(string)) {
		emit(word + " " + strconv.FormatInt(c.Value, 10))
	}, dataflow.Named("join"))
	dataflow.WriteText(dataflow.Sort(lines, dataflow.Identity, dataflow.Named("sort")), "/out", func(dst []byte, line string) []byte { return append(dst, line...) }, dataflow.Named("write"))
	return nil
})

// A job with 4 subtasks of each operator runs on 2 slots. A worker is lost in each of its stages, with the partitions that it holds. The
// test would catch a job that waits for ever, records that are lost or come twice because partitions of different attempts are read, and
// a commit of parts whose writers have run again.
func TestAJobLargerThanTheClusterSurvivesTheLossOfAWorker(t *testing.T) {
	t.Parallel()
	const words = 2000
	content := make(map[string]string)
	var want []string
	for file := range 4 {
		var b strings.Builder
		for n := range words {
			word := fmt.Sprintf("word-%04d", (n*7919+file)%words/(file+1))
			b.WriteString(word + "\n")
			want = append(want, word)
		}
		content[fmt.Sprint("/in/", file)] = b.String()
	}
	occurrences := make(map[string]int)
	for _, word := range want {
		occurrences[word]++
	}
	for i, word := range want {
		want[i] = fmt.Sprint(word, " ", occurrences[word])
	}
	slices.Sort(want)
	for _, mode := range []string{"AUTOMATIC", "ALL_EXCHANGES_BLOCKING"} {
		for name, faults := range map[string][]clustertest.Fault{
			"never":                  nil,
			"while it reads":         {clustertest.KillWorker("words").After(words)},
			"while it counts":        {clustertest.KillWorker("count").After(words / 4)},
			"while it joins":         {clustertest.KillWorker("join").After(words)},
			"while it takes samples": {clustertest.KillWorker("sort (sample)").After(words)},
			"while it sorts":         {clustertest.KillWorker("sort").After(words)},
			"while it writes":        {clustertest.KillWorker("write").After(words)},
			"while it commits":       {clustertest.KillWorker("write (commit)").After(1)},
			"in each stage":          {clustertest.KillWorker("words").After(words), clustertest.KillWorker("count").After(words / 4), clustertest.KillWorker("join"), clustertest.KillWorker("write")},
		} {
			t.Run(mode+", "+name, func(t *testing.T) {
				t.Parallel()
				files := dataflowtest.NewFiles(content)
				clustertest.Run(t, frequencies, "/in", clustertest.Options{
					Files: files, Parallelism: 4, Workers: 2, Faults: faults,
					Config: map[string]string{"execution.batch-shuffle-mode": mode, "taskmanager.numberOfTaskSlots": "1"},
				})
				var written []string
				all := files.Files()
				for part := range 4 {
					written = slices.AppendSeq(written, strings.FieldsFuncSeq(all[fmt.Sprintf("/out/part-%05d", part)], func(r rune) bool { return r == '\n' }))
				}
				if !slices.Equal(written, want) {
					t.Errorf("%d lines are not the %d sorted ones", len(written), len(want))
				}
				if _, complete := all["/out/_SUCCESS"]; !complete || slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(name string) bool { return strings.Contains(name, "_temporary") }) {
					t.Errorf("_SUCCESS: %t; there are %v", complete, slices.Collect(maps.Keys(all)))
				}
			})
		}
	}
}

// sortedFile sorts the lines of one file, which one task reads. The samples of the first part fit into one slot, and the sort into as many
// as the job has subtasks.
var sortedFile = dataflow.Job("sorted-file", func(p *dataflow.Plan, input string) error {
	lines := dataflow.Map(dataflow.ReadTextWith(p, []string{input}, dataflow.Parallelism(1)), func(line []byte) string { return string(line) }, dataflow.Parallelism(1), dataflow.Named("lines"))
	dataflow.WriteText(dataflow.Sort(lines, dataflow.Identity, dataflow.Named("sort")), "/out", func(dst []byte, line string) []byte { return append(dst, line...) }, dataflow.Named("write"))
	return nil
})

// The first part of a job fits into the cluster, and a later one does not. The test would catch a job that fails then, and lines that are
// lost or come twice if the first part has run before.
func TestAJobWithALargerLaterPartRunsInWaves(t *testing.T) {
	t.Parallel()
	const lines = 5000
	var content strings.Builder
	var want []string
	for n := range lines {
		line := fmt.Sprintf("line %04d", n*7919%lines)
		want = append(want, line)
		content.WriteString(line + "\n")
	}
	slices.Sort(want)
	for name, faults := range map[string][]clustertest.Fault{
		"and no worker is lost":               nil,
		"and a worker is lost while it reads": {clustertest.KillWorker("lines").After(lines / 2)},
		"and a worker is lost while it sorts": {clustertest.KillWorker("sort").After(lines / 2)},
		"and a worker is lost in each stage":  {clustertest.KillWorker("lines").After(lines / 2), clustertest.KillWorker("sort (sample)").After(lines), clustertest.KillWorker("sort").After(lines / 2), clustertest.KillWorker("write")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dataflowtest.NewFiles(map[string]string{"/in": content.String()})
			clustertest.Run(t, sortedFile, "/in", clustertest.Options{
				Files: files, Parallelism: 4, Workers: 2, Faults: faults,
				Config: map[string]string{"taskmanager.numberOfTaskSlots": "1", "restart-strategy.type": "none"},
			})
			var written []string
			for part := range 4 {
				written = slices.AppendSeq(written, strings.FieldsFuncSeq(files.Files()[fmt.Sprintf("/out/part-%05d", part)], func(r rune) bool { return r == '\n' }))
			}
			if !slices.Equal(written, want) {
				t.Errorf("%d lines are not the %d sorted ones", len(written), len(want))
			}
		})
	}
}
