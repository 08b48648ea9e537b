package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFindsTheLines would catch a filter that keeps the wrong lines, and lines that
// the job changes.
func TestFindsTheLines(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{
		"/in/a": "to be\nor not\nto be\r\n",
		"/in/b": "that is not\nthe question",
	})
	dataflowtest.Run(t, Grep, Args{Word: "not", Input: "/in", Output: "/out"}, dataflowtest.Options{FileSystem: files, Parallelism: 2})
	found := strings.Split(files.Files()["/out/part-00000"]+files.Files()["/out/part-00001"], "\n")
	slices.Sort(found)
	if diff := cmp.Diff([]string{"", "or not", "that is not"}, found); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
