package jobgraph

import (
	"strings"
	"testing"
)

// TestAnInputWithoutFilesIsWarnedOf would catch a job on the wrong directory that finishes at once without a warning, and a
// warning for an empty file that says that the file does not exist. Neither job has splits.
func TestAnInputWithoutFilesIsWarnedOf(t *testing.T) {
	g := JobGraph{Name: "words", Vertices: []Vertex{
		{Name: "read", Source: true, Splits: []Split{{}}}, {Name: "count"}, {Name: "read more", Source: true},
	}}
	got := g.Warnings()
	if len(got) != 1 || !strings.HasPrefix(got[0], "warning: job words reads nothing in read more: its input has no files, or only empty files (from a directory, ") {
		t.Errorf("warnings %q", got)
	}
}
