package clustertest_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

type joinedArgs struct {
	Hint    dataflow.JoinHint
	CoGroup bool
}

// joined joins the lines of two directories, which exceeds the memory of the workers.
var joined = dataflow.Job("joined", func(p *dataflow.Plan, a joinedArgs) error {
	lines := func(path string) dataflow.Keyed[string, string] {
		all := dataflow.Map(dataflow.ReadText(p, path), func(line []byte) string { return string(line) })
		return dataflow.KeyBy(all, dataflow.Identity[string])
	}
	left, right := lines("/left"), lines("/right")
	var pairs dataflow.Stream[string]
	if a.CoGroup {
		pairs = dataflow.CoGroup(left, right, func(_ context.Context, key string, lefts, rights iter.Seq[string], emit func(string)) error {
			emit(fmt.Sprintf("%s: %d %d", key, len(slices.Collect(lefts)), len(slices.Collect(rights))))
			return nil
		}, dataflow.Named("join"))
	} else {
		pairs = dataflow.Join(left, right, func(l, _ string, emit func(string)) { emit(l + ": 1 1") }, dataflow.Named("join"), dataflow.Hint(a.Hint))
	}
	dataflow.WriteText(pairs, "/out", func(dst []byte, pair string) []byte { return append(dst, pair...) }, dataflow.Named("write"))
	return nil
})

// It would catch elements that an attempt finds in the files of another one, and a side of which a new attempt does not get all.
func TestAJoinSurvivesTheLossOfAWorker(t *testing.T) {
	t.Parallel()
	const keys = 20_000
	content := make(map[string]string)
	for file := range 4 {
		var b strings.Builder
		for n := range keys / 4 {
			fmt.Fprintf(&b, "a line that takes some memory and its number %d\n", n*4+file)
		}
		content[fmt.Sprint("/left/", file)], content[fmt.Sprint("/right/", file)] = b.String(), b.String()
	}
	for name, c := range map[string]struct {
		args  joinedArgs
		after int // elements of the join's first input or of the result
		at    string
	}{
		"while one side is read": {joinedArgs{Hint: dataflow.HashRight}, keys / 2, "join"},
		"while both are read":    {joinedArgs{Hint: dataflow.SortMerge}, keys, "join"},
		"a broadcast":            {joinedArgs{Hint: dataflow.BroadcastLeft}, keys / 2, "join"},
		"while files are read":   {joinedArgs{Hint: dataflow.HashLeft}, keys / 2, "write"},
		"co-groups":              {joinedArgs{CoGroup: true}, keys / 2, "write"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dataflowtest.NewFiles(content)
			result := clustertest.Run(t, joined, c.args, clustertest.Options{
				Files: files, Parallelism: 2, Workers: 2, Faults: []clustertest.Fault{clustertest.KillWorker(c.at).After(c.after)},
				Config: map[string]string{"taskmanager.memory.managed.size": "2m"},
			})
			if result.Counters["spilledBytes"] == 0 {
				t.Error("the join has written nothing to files: it needs more input")
			}
			var written []string
			for name, content := range files.Files() {
				if strings.HasPrefix(name, "/out/part-") {
					written = append(written, strings.Split(strings.TrimSuffix(content, "\n"), "\n")...)
				}
			}
			slices.Sort(written)
			if distinct := slices.Compact(slices.Clone(written)); len(written) != keys || len(distinct) != keys {
				t.Fatalf("%d lines, and %d different ones; want %d", len(written), len(distinct), keys)
			}
			for _, line := range written {
				if !strings.HasSuffix(line, ": 1 1") {
					t.Fatalf("%q, want one of each side", line)
				}
			}
		})
	}
}
