package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text draws lines with few keys. Some are too short for a key.
func text(t *rapid.T, name string) []string {
	lines := rapid.SliceOf(rapid.SampledFrom([]string{"aaaaaaaaaa", "aaaaaaaaab", "zzzzzzzzzz", "short", ""})).Draw(t, name)
	for i, line := range lines {
		if len(line) == keySize {
			lines[i] = fmt.Sprint(line, " ", i)
		}
	}
	return lines
}

// joined is the text of lines.
func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// output returns the lines of the files that a job has written, in their order.
func output(files *dataflowtest.Files, parallelism int) (lines []string) {
	for i := range parallelism {
		lines = slices.AppendSeq(lines, strings.Lines(files.Files()[fmt.Sprintf("/out/part-%05d", i)]))
	}
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\n")
	}
	return lines
}

func key(line string) string { return string(keyOf([]byte(line))) }

// TestJobsDoWhatTheySay would catch a job that is fast because it loses or invents lines, or leaves them in a wrong order.
func TestJobsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		left, right := text(rt, "left"), text(rt, "right")
		parallelism := rapid.IntRange(1, 3).Draw(rt, "parallelism")
		files := func() dataflowtest.Options {
			return dataflowtest.Options{
				FileSystem:  dataflowtest.NewFiles(map[string]string{"/left": joined(left), "/right": joined(right)}),
				Parallelism: parallelism,
			}
		}
		written := func(o dataflowtest.Options) []string {
			return output(o.FileSystem.(*dataflowtest.Files), parallelism)
		}

		o := files()
		dataflowtest.Run(t, Sort, OneInput{"/left", "/out"}, o)
		got := written(o)
		if !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(key(a), key(b)) }) {
			rt.Fatalf("not sorted: %q", got)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(left)), slices.Sorted(slices.Values(got))); diff != "" && len(left) > 0 {
			rt.Fatalf("sorted lines (-want +got):\n%s", diff)
		}

		o = files()
		dataflowtest.Run(t, Join, TwoInputs{"/left", "/right", "/out"}, o)
		if diff := cmp.Diff(slices.Sorted(slices.Values(pairs(left, right))), slices.Sorted(slices.Values(written(o)))); diff != "" {
			rt.Fatalf("pairs (-want +got):\n%s", diff)
		}

		o = files()
		dataflowtest.Run(t, Group, OneInput{"/left", "/out"}, o)
		if diff := cmp.Diff(slices.Sorted(slices.Values(counts(left))), slices.Sorted(slices.Values(written(o)))); diff != "" {
			rt.Fatalf("counts (-want +got):\n%s", diff)
		}
	})
}

// pairs is the naive join.
func pairs(left, right []string) (lines []string) {
	for _, l := range left {
		for _, r := range right {
			if key(l) == key(r) {
				lines = append(lines, l+strings.TrimPrefix(r, key(r)))
			}
		}
	}
	return lines
}

// counts is the naive count.
func counts(left []string) (lines []string) {
	numbers := map[string]int{}
	for _, line := range left {
		numbers[key(line)]++
	}
	for key, n := range numbers {
		lines = append(lines, fmt.Sprintf("%s\t%d", key, n))
	}
	return lines
}

// TestJobsSurviveAWorker would catch functions that keep memory of their elements, which a cluster uses again.
func TestJobsSurviveAWorker(t *testing.T) {
	t.Parallel()
	left := []string{"aaaaaaaaaa 1", "zzzzzzzzzz 2", "aaaaaaaaaa 3", "mmmmmmmmmm 4"}
	right := []string{"aaaaaaaaaa x", "mmmmmmmmmm y"}
	files := dataflowtest.NewFiles(map[string]string{"/left": joined(left), "/right": joined(right)})
	clustertest.Run(t, Join, TwoInputs{"/left", "/right", "/out"}, clustertest.Options{
		Files: files, Parallelism: 2, Workers: 2, Faults: []clustertest.Fault{clustertest.KillWorker("join").After(1)},
	})
	if diff := cmp.Diff(slices.Sorted(slices.Values(pairs(left, right))), slices.Sorted(slices.Values(output(files, 2)))); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}
