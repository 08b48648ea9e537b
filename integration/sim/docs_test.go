package sim_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestTheTranscriptOfTheDocs would catch an example of docs/simulation.md that is not what a run prints.
func TestTheTranscriptOfTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if _, err := named["HDFS away during the commit"].Run(&log); err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```text\n")
	example, _, _ = strings.Cut(example, "```\n")
	rest := log.String()
	for line := range strings.Lines(example) {
		line = strings.TrimLeft(line, " .0123456789") // any change of a role moves the times
		for part := range strings.SplitSeq(strings.TrimRight(line, "\n"), "…") {
			_, after, found := strings.Cut(rest, strings.TrimSuffix(part, " "))
			if !found {
				t.Fatalf("%q of the example does not come in this order in the transcript", part)
			}
			rest = after
		}
	}
}
