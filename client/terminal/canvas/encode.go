package canvas

import (
	"fmt"
	"slices"
	"strings"
)

// Sequences of ECMA-48, which all terminals in use understand.
const (
	restOfLine   = "\x1b[K" // erases it
	plainSGR     = "\x1b[0m"
	sgr          = "\x1b[%sm"
	cursorToLine = "\x1b[%d;1H"
)

// Changes is what a terminal must get so that it shows a picture. shown is the picture that it shows now; nil if that
// is not known. Lines that are the same are not sent again.
func (p *Picture) Changes(shown *Picture, colours bool) string {
	known := shown != nil && shown.Width == p.Width && shown.Height == p.Height
	var b strings.Builder
	for y := range p.Height {
		if known && slices.Equal(shown.line(y), p.line(y)) {
			continue
		}
		fmt.Fprintf(&b, cursorToLine, y+1)
		b.WriteString(p.Line(y, colours))
	}
	return b.String()
}

// Line is one line of a picture with its styles, and erases the rest of the terminal's line.
func (p *Picture) Line(y int, colours bool) string {
	cells := p.line(y)
	end := len(cells)
	for end > 0 && cells[end-1] == (cell{text: " "}) {
		end--
	}
	var b strings.Builder
	now := Plain
	for _, c := range cells[:end] {
		style := c.style
		if !colours {
			style -= style.colour()
		}
		if style != now {
			fmt.Fprintf(&b, sgr, codes(style))
			now = style
		}
		b.WriteString(c.text)
	}
	if now != Plain {
		b.WriteString(plainSGR)
	}
	if end < len(cells) { // after a full line the cursor still stands on its last cell
		b.WriteString(restOfLine)
	}
	return b.String()
}

// codes are the parameters of a style.
func codes(s Style) string {
	var b strings.Builder
	b.WriteByte('0')
	for _, attribute := range []struct {
		style Style
		code  string
	}{{Bold, ";1"}, {Faint, ";2"}, {Reverse, ";7"}} {
		if s&attribute.style != 0 {
			b.WriteString(attribute.code)
		}
	}
	switch s.colour() {
	case Accent:
		b.WriteString(";36")
	case Good:
		b.WriteString(";32")
	case Warm:
		b.WriteString(";33")
	case Bad:
		b.WriteString(";31")
	case Cool:
		b.WriteString(";34")
	default: // none
	}
	return b.String()
}
