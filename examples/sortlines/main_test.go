package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	input = map[string]string{"/in/1": "pear\nfig\n\npear\n", "/in/2": "apple\nPlum\nquince\n"}
	args  = Args{Input: "/in", Output: "/out"}
)

// It would catch lines that are lost or out of order, also between two parts.
func TestThePartsTogetherAreSorted(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(input)
	dataflowtest.Run(t, SortLines, args, dataflowtest.Options{FileSystem: files, Parallelism: 3})
	check(t, files)
}

func TestTheOrderSurvivesAWorker(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(input)
	clustertest.Run(t, SortLines, args, clustertest.Options{
		Files: files, Parallelism: 2, Workers: 2, Faults: []clustertest.Fault{clustertest.KillWorker("sort (sample)").After(2)},
	})
	check(t, files)
}

func check(t *testing.T, files *dataflowtest.Files) {
	t.Helper()
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files.Files())) {
		if strings.HasPrefix(name, "/out/part-") {
			got.WriteString(files.Files()[name])
		}
	}
	if diff := cmp.Diff("\nPlum\napple\nfig\npear\npear\nquince\n", got.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
