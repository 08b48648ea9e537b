package terminal

import (
	"io"
	"strings"
)

// Facts are names and values of one thing.
type Facts [][2]string

// Write writes each fact on its own line, with aligned values. On a narrow screen, values continue on the next
// line. If even single words do not fit after the longest name, each value directly follows its name.
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
