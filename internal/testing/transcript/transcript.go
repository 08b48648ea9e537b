// Package transcript runs tests from files that read like the log of a conversation. A file has
// groups of commands to a pure core. Below each group, after a line of four dashes and up to an
// empty line, are the effects of the core. Lines that begin with # are comments.
//
// The package is only for tests, and has no goroutines.
package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const divider = "----"

// Run runs a subtest for each file testdata/*.txt. start makes the core under test. It returns a
// function that takes one command line at a time and returns the effects as lines. With rewrite,
// Run rewrites the files, and a person reviews the difference.
func Run(t *testing.T, rewrite bool, start func(t *testing.T) func(command string) []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find transcripts: %d files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(string(want), start(t))
			if rewrite {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("transcript differs (-want +got; run with -rewrite to take it over):\n%s", diff)
			}
		})
	}
}

// replay returns the text with every answer replaced by the output of tell.
func replay(text string, tell func(string) []string) string {
	var out strings.Builder
	var answer []string
	answering, commanded := false, false
	finish := func() {
		if commanded {
			out.WriteString(divider + "\n")
			for _, line := range answer {
				out.WriteString(line + "\n")
			}
		}
		answer, answering, commanded = nil, false, false
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case line == "":
			finish()
			out.WriteByte('\n')
		case line == divider:
			answering = true
		case answering:
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		default:
			out.WriteString(line + "\n")
			answer = append(answer, tell(line)...)
			commanded = true
		}
	}
	finish()
	return out.String()
}
