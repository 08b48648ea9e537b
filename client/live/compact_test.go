package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// skewedJob is a job whose second vertex has one key with most of the work.
func skewedJob() Job {
	read := measured("read", 4, 0.3, 0.4, 0.6)
	read.Splits, read.Rates.WriteRecords, read.Tasks = restapi.SplitProgress{Read: 3, All: 12}, 14_100, map[msg.ExecutionState]int{msg.ExecutionFinished: 1}
	count := measured("count", 4, 0.28, 0.98, 0, "read")
	count.Rates.ReadRecords = 12_000
	slow := "Slow at “count”: subtask 4 of 4 is busy 98 % of the time, the others 5 %: the work is not spread equally. “read” waits for it 60 % of the time."
	return Job{Status: msg.JobRunning, Slow: slow, Vertices: []Vertex{{Name: "list", Status: msg.ExecutionFinished}, read, count, {Name: "write", Status: msg.ExecutionCreated}}}
}

// TestCompactDrawings would catch a picture without the slow vertex or without words, vertices that do not run, and one
// that is larger than it may be.
func TestCompactDrawings(t *testing.T) {
	t.Parallel()
	many := Job{Status: msg.JobRunning}
	for i := range 9 {
		many.Vertices = append(many.Vertices, measured(fmt.Sprint("vertex ", i+1), 2, 0.1, 0.2, 0))
	}
	for _, c := range []struct {
		name          string
		job           Job
		waits         string
		width, height int
		want          string
	}{
		{"80 columns", skewedJob(), "", 79, 6, `
  VERTEX                          TASKS     SPLITS   RECORDS  TIME         MOST
  read                              1/4       3/12  14.1 k/s  ███▒▒▒▒▒▒·   40 %
  count                             0/4               12 k/s  ███·······   98 %
! Slow at “count”: subtask 4 of 4 is busy 98 % of the time, the others 5 %: the
  work is not spread equally. “read” waits for it 60 % of the time.
`},
		{"40 columns", skewedJob(), "", 39, 6, `
  VERTEX                RECORDS  TIME
  read                 14.1 k/s  ██▒▒▒·
  count                  12 k/s  ██····
! Slow at “count”: subtask 4 of 4 is
  busy 98 % of the time, the others 5 …
`},
		{"some tasks wait", skewedJob(), "waits for 2 slots: the queue root.default has no room", 79, 6, `
  VERTEX                          TASKS     SPLITS   RECORDS  TIME         MOST
  read                              1/4       3/12  14.1 k/s  ███▒▒▒▒▒▒·   40 %
  count                             0/4               12 k/s  ███·······   98 %
! waits for 2 slots: the queue root.default has no room
`},
		{"nine vertices", many, "", 79, 6, `
  VERTEX                          TASKS     SPLITS   RECORDS  TIME         MOST
  vertex 1                          0/2                  0/s  █·········   20 %
  vertex 2                          0/2                  0/s  █·········   20 %
  vertex 3                          0/2                  0/s  █·········   20 %
  vertex 4                          0/2                  0/s  █·········   20 %
  and 5 more vertices
`},
		{"two lines", skewedJob(), "", 79, 2, `
  VERTEX                          TASKS     SPLITS   RECORDS  TIME         MOST
  read                              1/4       3/12  14.1 k/s  ███▒▒▒▒▒▒·   40 %
`},
	} {
		p := c.job.Compact(c.waits, c.width, c.height)
		if diff := cmp.Diff(c.want, "\n"+p.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestThereIsNoPictureOfNothing would catch titles without rows, before tasks run and with an ApplicationMaster of an
// earlier release, and a panic on a terminal of two lines.
func TestThereIsNoPictureOfNothing(t *testing.T) {
	t.Parallel()
	early := skewedJob()
	early.Vertices = []Vertex{{Name: "read", Status: msg.ExecutionRunning}, {Name: "count", Status: msg.ExecutionCreated}}
	for name, p := range map[string]*canvas.Picture{
		"nothing is measured": early.Compact("", 79, 6),
		"one line":            skewedJob().Compact("", 79, 1),
		"two columns":         skewedJob().Compact("", 2, 6),
		"no vertices":         Job{Status: msg.JobRunning}.Compact("waits", 79, 6),
	} {
		if p != nil {
			t.Errorf("%s: drew %q", name, p)
		}
	}
}

// TestACompactPictureFits would catch a line that wraps, and more lines than the terminal has room for, with any names.
func TestACompactPictureFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		job := Job{Status: msg.JobRunning}
		for range rapid.IntRange(1, 9).Draw(t, "vertices") {
			name := rapid.StringOf(rapid.SampledFrom([]rune("ab 每\x1b"))).Draw(t, "name")
			job.Vertices = append(job.Vertices, measured(name, 2, 0.9, 0.9, 0))
		}
		width, height := rapid.IntRange(39, 130).Draw(t, "width"), rapid.IntRange(2, 6).Draw(t, "height")
		p := job.Compact(rapid.StringOf(rapid.SampledFrom([]rune("ab 每"))).Draw(t, "waits"), width, height)
		if p.Height > height || strings.Contains(p.String(), "\x1b") {
			t.Errorf("%d lines of %d: %q", p.Height, height, p)
		}
		for line := range strings.Lines(p.String()) {
			if cells := terminal.Cells(strings.TrimSuffix(line, "\n")); cells > width {
				t.Errorf("%q takes %d of %d cells", line, cells, width)
			}
		}
	})
}
