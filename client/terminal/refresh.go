package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Later keeps text for a stream until it is known whether the stream gets it. It fits text as the stream itself does.
type Later struct {
	bytes.Buffer
	out io.Writer
}

// NewLater makes a Later for a stream.
func NewLater(out io.Writer) *Later { return &Later{out: out} }

// Refresh shows one version of a text after the other: on a terminal each over the last one, and elsewhere below it. Its
// zero value with Out is ready.
type Refresh struct {
	Out   io.Writer
	Moves bool // the terminal can move its cursor; see Looks

	shown string
	rows  int // of the terminal, that the last version takes
}

// Show shows a version, unless it is the same as the last one. If versions are shown over each other, the line foot is below it,
// also if there is no room for the whole text. last says that no other follows: then the text is shown whole, without foot.
func (r *Refresh) Show(text, foot string, last bool) error {
	over := r.Moves && Is(r.Out)
	if text == r.shown && !over {
		return nil
	}
	var b strings.Builder
	switch {
	case over && r.rows > 0:
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", r.rows)
	case !over && r.shown != "":
		b.WriteString("\n")
	}
	if r.shown = text; over {
		text = VisibleLines(text)
		if !last {
			text, r.rows = fitting(text, VisibleLines(foot), Columns(r.Out), Lines(r.Out))
		}
	}
	b.WriteString(text)
	_, err := io.WriteString(Raw(r.Out), b.String()) // VisibleLines has made the text harmless
	return err
}

// fitting is as much of a text as a terminal of this size shows at once above a line, and the rows that both take. A row that has
// left the screen cannot be written over.
func fitting(text, foot string, columns, lines int) (fits string, rows int) {
	var b strings.Builder
	end := 0 // rows of foot
	if foot != "" {
		foot += "\n"
		end = rowsOf(foot, columns)
	}
	for line := range strings.Lines(text) {
		takes := rowsOf(line, columns)
		if lines > 0 && rows+takes+end > lines-2 {
			b.WriteString("…\n")
			rows++
			break
		}
		b.WriteString(line)
		rows += takes
	}
	return b.String() + foot, rows + end
}

// rowsOf are the rows that a line takes.
func rowsOf(line string, columns int) int {
	wide := Cells(strings.TrimSuffix(line, "\n"))
	if columns <= 0 || wide <= columns {
		return 1
	}
	return (wide + columns - 1) / columns
}
