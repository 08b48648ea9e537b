package terminal

import "strings"

// Hang breaks a text between words if a line is full. The first line begins after at cells; the others after
// indent blanks, or fewer if a word would not fit otherwise. With 0 columns Hang breaks nothing.
func Hang(text string, at, indent, columns int) string {
	if columns == 0 || at+Cells(text) <= columns {
		return text
	}
	var b strings.Builder
	for i, word := range strings.Fields(text) {
		wide := Cells(word)
		switch {
		case i == 0:
		case at+len(" ")+wide > columns:
			at = max(0, min(indent, columns-wide))
			b.WriteString("\n" + strings.Repeat(" ", at))
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += wide
	}
	return b.String()
}
