package terminal

import (
	"io"
	"strings"
)

// Facts are names and values, of one thing.
type Facts [][2]string

// Write writes the facts below one another, and so their values. On a screen that is narrower, values go on in the next
// line, and where not even their words have room behind the longest name, each stands behind its own.
func (f Facts) Write(out io.Writer) error {
	if Is(out) {
		f = f.visible()
	}
	_, err := io.WriteString(out, f.text(Columns(out)))
	return err
}

func (f Facts) visible() Facts {
	shown := make(Facts, len(f))
	for i, fact := range f {
		shown[i] = [2]string{fact[0], Visible(fact[1])}
	}
	return shown
}

func (f Facts) text(columns int) string {
	at, longest := 0, 0 // where values begin, and the longest word in them
	for _, fact := range f {
		at = max(at, Cells(fact[0])+between)
		for word := range strings.FieldsSeq(fact[1]) {
			longest = max(longest, Cells(word))
		}
	}
	var lines []string
	for _, fact := range f {
		name, value := fact[0], fact[1]
		if columns > 0 && at+longest > columns {
			lines = append(lines, field(name, value, columns))
		} else {
			lines = append(lines, name+strings.Repeat(" ", at-Cells(name))+Hang(value, at, at, columns))
		}
	}
	return joined(lines)
}
