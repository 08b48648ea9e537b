package terminal

import (
	"strings"
	"unicode"
)

// Visible shows that there are characters which would do something to the screen, in place of doing it: names are anybody's.
// Those are control characters, line ends among them, and what turns the direction of the text around it, so that it reads
// as another.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if acts(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// VisibleLines is Visible for text of several lines, in which line ends and tabs are as they are.
func VisibleLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && acts(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// acts tells whether a terminal does something at a character beside showing it. The separators of lines and paragraphs
// are no control characters to Unicode, but are line ends to some.
func acts(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
