package main

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestResultsStandForAllRecords would catch a job whose result does not tell whether it has lost or doubled records: the benchmark checks
// this number alone.
func TestResultsStandForAllRecords(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for _, parallelism := range []int{1, 2} {
			files := dataflowtest.NewFiles(nil)
			dataflowtest.Run(t, spills, Args{Kind: kind, MiB: 3, Output: "/out"}, dataflowtest.Options{
				FileSystem: files, Parallelism: parallelism, Memory: 1 << 20, LocalDirs: []string{t.TempDir()},
			})
			var got strings.Builder
			for i := range parallelism {
				got.WriteString(files.Files()[fmt.Sprintf("/out/part-%05d", i)])
			}
			if want := "records\t31456\n"; got.String() != want { // 3 MiB
				t.Errorf("%s with parallelism %d: the output is %q, want %q", kind, parallelism, got.String(), want)
			}
		}
	}
}
