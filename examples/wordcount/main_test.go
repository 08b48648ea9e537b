package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var wordPattern = regexp.MustCompile(`[A-Za-z0-9_]+`)

// The job must give the counts of a regular expression over the whole text, for
// every division of the text into files, splits and subtasks.
func TestCountsEqualThoseOfARegularExpression(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		content := map[string]string{}
		want := map[string]int64{}
		total := int64(0)
		for i := range rapid.IntRange(1, 3).Draw(rt, "files") {
			text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
				"The", "the", "THE_", "x1", "9", " ", ",", "\n", "\r\n", "ü", "\x00", "--", "To be",
			})).Draw(rt, "text"), "")
			content[fmt.Sprintf("/in/%d", i)] = text
			for _, word := range wordPattern.FindAllString(text, -1) {
				want[strings.ToLower(word)]++
				total++
			}
		}
		files := dataflowtest.NewFiles(content)
		result := dataflowtest.Run(t, WordCount, Args{Input: "/in", Output: "/out"}, dataflowtest.Options{
			FileSystem: files, Parallelism: rapid.IntRange(1, 4).Draw(rt, "parallelism"),
		})
		got := map[string]int64{}
		for name, text := range files.Files() {
			for line := range strings.Lines(text) {
				if !strings.HasPrefix(name, "/out/part-") {
					continue
				}
				var word string
				var count int64
				if n, err := fmt.Sscanf(line, "%s\t%d\n", &word, &count); n != 2 || err != nil || got[word] != 0 {
					rt.Fatalf("line %q of %s: %v, word seen before: %d", line, name, err, got[word])
				}
				got[word] = count
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("counts (-want +got):\n%s", diff)
		}
		if result.Counters["words"] != total || result.Counters["distinct"] != int64(len(want)) {
			rt.Fatalf("counters %v, want %d words, %d distinct", result.Counters, total, len(want))
		}
	})
}

func TestWithoutAnOutputTheCountsArePrinted(t *testing.T) {
	t.Parallel()
	var stdout strings.Builder // the job has one subtask
	files := dataflowtest.NewFiles(map[string]string{"/in": "to be or not to be"})
	dataflowtest.Run(t, WordCount, Args{Input: "/in"}, dataflowtest.Options{FileSystem: files, Stdout: &stdout})
	lines := slices.Sorted(strings.Lines(stdout.String()))
	if diff := cmp.Diff([]string{"1> be\t2\n", "1> not\t1\n", "1> or\t1\n", "1> to\t2\n"}, lines); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func TestOverwriteReplacesAnOutput(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in": "a", "/out/part-00000": "old", "/out/part-00009": "old"})
	args := Args{Input: "/in", Output: "/out"}
	if _, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files}).Execute(t.Context(), WordCount, args); err == nil {
		t.Error("an output that exists is not refused")
	}
	args.Overwrite = true
	dataflowtest.Run(t, WordCount, args, dataflowtest.Options{FileSystem: files})
	want := []string{"/in", "/out/_SUCCESS", "/out/part-00000"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files.Files()))); diff != "" || files.Files()["/out/part-00000"] != "a\t1\n" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
