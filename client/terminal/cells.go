package terminal

import (
	"unicode"

	"golang.org/x/text/width"
)

// Cells is how many cells a text takes.
func Cells(text string) int {
	sum := 0
	for _, r := range text {
		sum += cellsOf(r)
	}
	return sum
}

// cellsOf is the width of a character, by Unicode's annexes 11 and 44. A character whose width depends on the
// language takes one cell.
func cellsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf): // they share the cell before
		return 0
	case width.LookupRune(r).Kind() == width.EastAsianWide, width.LookupRune(r).Kind() == width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Shorten returns a text that fits into this number of cells: the whole text, or its beginning and "…". cells
// is at least 1.
func Shorten(text string, cells int) string {
	if Cells(text) <= cells {
		return text
	}
	room := cells - Cells("…")
	for i, r := range text {
		if room -= cellsOf(r); room < 0 {
			return text[:i] + "…"
		}
	}
	return text
}
