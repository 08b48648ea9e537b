package terminal

import "strings"

// Hang breaks a text between its words where the line is full. Its first line begins behind what takes at cells, the
// others behind indent blanks, or fewer where a word would be broken otherwise. With 0 columns nothing is broken.
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
