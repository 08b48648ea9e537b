// Package screen reads what a program writes to a terminal, and knows what a person sees there. It understands the sequences
// that Bobbin writes. For any other one it has an error, because the rest of the picture would be wrong.
//
// It starts no goroutine.
package screen

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

// Cell is one place of a screen. Text is "" in the second half of a wide character.
type Cell struct {
	Text  string
	Style canvas.Style
}

// Screen is the screen of a terminal. One goroutine uses it.
type Screen struct {
	Columns, Lines int
	// Cursor tells whether the cursor is visible. It is at X and Y, counted from 0.
	Cursor bool
	X, Y   int // X is Columns after the last cell of a line: the next character wraps

	rows   [][]Cell
	style  canvas.Style
	main   *Screen // while the alternate screen is shown: the other one
	rest   []byte  // the beginning of a character or sequence
	failed error
}

// New is the empty screen of a terminal of this size.
func New(columns, lines int) *Screen {
	s := &Screen{Columns: columns, Lines: lines, Cursor: true, rows: make([][]Cell, lines)}
	s.erase(0, 0, lines-1, columns)
	return s
}

// Alternate tells whether a program has the whole screen.
func (s *Screen) Alternate() bool { return s.main != nil }

// Row is a line of the screen. The caller does not change it, and it does not change later.
func (s *Screen) Row(y int) []Cell { return s.rows[y] }

// String is the text of the screen, without the blanks at the ends of lines, and without the empty lines at its end.
func (s *Screen) String() string {
	var b strings.Builder
	for _, row := range s.rows {
		var line strings.Builder
		for _, c := range row {
			line.WriteString(c.Text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Write shows what a program writes. Its error is that of the first sequence that is not known.
func (s *Screen) Write(sent []byte) (int, error) {
	text := slices.Concat(s.rest, sent)
	for len(text) > 0 && s.failed == nil {
		n := s.next(text)
		if n == 0 { // its end comes later
			break
		}
		text = text[n:]
	}
	s.rest = text
	return len(sent), s.failed
}

// next shows the first character, or follows the first sequence, and returns its number of bytes; 0 if some are missing.
func (s *Screen) next(text []byte) int {
	switch text[0] {
	case '\x1b':
		return s.sequence(text)
	case '\r':
		s.X = 0
		return 1
	case '\n':
		s.down()
		return 1
	case '\b':
		s.X = max(0, min(s.X, s.Columns-1)-1)
		return 1
	case '\t':
		const stop = 8
		s.X = min(s.Columns-1, (s.X/stop+1)*stop)
		return 1
	}
	if !utf8.FullRune(text) {
		return 0
	}
	r, n := utf8.DecodeRune(text)
	s.put(r)
	return n
}

// put shows a character at the cursor.
func (s *Screen) put(r rune) {
	text := string(r)
	cells := terminal.Cells(text)
	if cells == 0 { // it joins the one before
		if s.X > 0 {
			row := s.change(s.Y)
			at := s.X - 1
			if row[at].Text == "" {
				at--
			}
			row[at].Text += text
		}
		return
	}
	if s.X+cells > s.Columns {
		s.X = 0
		s.down()
	}
	row := s.change(s.Y)
	row[s.X] = Cell{text, s.style}
	if cells > 1 {
		row[s.X+1] = Cell{"", s.style}
	}
	s.X += cells
}

// change is a line that may be changed: nobody else has it.
func (s *Screen) change(y int) []Cell {
	s.rows[y] = append([]Cell(nil), s.rows[y]...)
	return s.rows[y]
}

// down moves the cursor to the next line, and the text up at the end of the screen.
func (s *Screen) down() {
	if s.Y < s.Lines-1 {
		s.Y++
		return
	}
	copy(s.rows, s.rows[1:])
	s.rows[s.Lines-1] = nil
	s.erase(0, s.Lines-1, s.Lines-1, s.Columns)
}

// erase erases from column x of line y to before column end of line last.
func (s *Screen) erase(x, y, last, end int) {
	for ; y <= last; y++ {
		row := make([]Cell, s.Columns)
		copy(row, s.rows[y])
		until := s.Columns
		if y == last {
			until = end
		}
		for ; x < until; x++ {
			row[x] = Cell{Text: " "}
		}
		s.rows[y], x = row, 0
	}
}
