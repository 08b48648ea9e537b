package main

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func texts() *dataflowtest.Files {
	return dataflowtest.NewFiles(map[string]string{"/in/1": "to be, or not to be:\nthat is the question", "/in/2": "The Öl of öl and Bread; BUT be that as it may"})
}

// check checks the two most frequent words of each letter.
func check(t *testing.T, files *dataflowtest.Files) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(files.Files()["/out/part-00000"]+files.Files()["/out/part-00001"]), "\n")
	slices.Sort(lines)
	want := []string{"a: and 1 as 1", "b: be 3 bread 1", "i: is 1 it 1", "m: may 1", "n: not 1", "o: of 1 or 1", "q: question 1", "t: that 2 the 2", "ö: öl 2"}
	if diff := gocmp.Diff(want, lines); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

// It would catch words that are ranked before all of their counts are there, and ties that differ from run to run.
func TestTheMostFrequentWordsOfEachLetter(t *testing.T) {
	t.Parallel()
	files := texts()
	dataflowtest.Run(t, TopWords, Args{N: 2, Output: "/out", Texts: []string{"/in"}}, dataflowtest.Options{FileSystem: files, Parallelism: 2})
	check(t, files)
}

// It would catch counts that a lost worker adds twice.
func TestTheWordsSurviveAWorker(t *testing.T) {
	t.Parallel()
	files := texts()
	clustertest.Run(t, TopWords, Args{N: 2, Output: "/out", Texts: []string{"/in"}}, clustertest.Options{
		Files: files, Parallelism: 2, Faults: []clustertest.Fault{clustertest.KillWorker("top n").After(1)},
	})
	check(t, files)
}
