// Package transcript runs tests that read as a log of a conversation: a file
// holds commands to a pure core, and beneath each group of them, after a line of
// four dashes and up to an empty line, what the core wants done about them.
// Lines that begin with # are comments.
//
// It serves tests only, and has no goroutines.
package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const divider = "----"

// Run makes a subtest of each file testdata/*.txt. Start makes the thing to be
// talked to; it is given one command line at a time and gives what follows from
// it, in lines. With rewrite the files are written anew, for a person to review
// the difference.
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

// replay gives the text with every answer replaced by what tell gives.
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
