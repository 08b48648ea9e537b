package terminal

import (
	"strings"
	"unicode"
)

// Visible replaces characters that control a terminal, since anybody may have chosen a name. These are control
// characters, line ends included, and characters that change the direction of text, which make it read as
// another.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if acts(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// VisibleLines is Visible for text of several lines: it keeps line ends and tabs.
func VisibleLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && acts(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// acts tells whether a character controls a terminal. To Unicode the separators of lines and paragraphs are no
// control characters, but some terminals end lines at them.
func acts(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
