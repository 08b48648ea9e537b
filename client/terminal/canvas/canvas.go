// Package canvas draws text into a grid of cells, and turns the grid into what a terminal shows. A Picture knows no
// terminal: tests compare it as text. Its text may come from others, and cannot control the terminal.
package canvas

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/client/terminal"
)

// Style is how a cell looks: attributes and at most one colour.
type Style uint16

// Attributes.
const (
	Bold Style = 1 << iota
	Faint
	Reverse
)

// Colours. They say what a thing means; the user's terminal has the shades, for dark and light.
const (
	Accent Style = (iota + 1) << 4 // a title, or what is chosen
	Good
	Warm // busy, or a wait
	Bad  // failed, or back-pressured
	Cool // idle
)

// Plain is text as the terminal shows it.
const Plain Style = 0

// colour is the colour of a style; 0 without one.
func (s Style) colour() Style { return s &^ (Bold | Faint | Reverse) }

// cell is one place of the grid. text is "" in the second half of a wide character.
type cell struct {
	text  string
	style Style
}

// Picture is a grid of cells. One goroutine uses it.
type Picture struct {
	Width, Height int
	cells         []cell
}

// New makes an empty picture.
func New(width, height int) *Picture {
	p := &Picture{Width: max(0, width), Height: max(0, height)}
	p.cells = make([]cell, p.Width*p.Height)
	for i := range p.cells {
		p.cells[i].text = " "
	}
	return p
}

// Text writes a text on line y from column x on, and returns the column after it. A part outside of the picture is
// not drawn.
func (p *Picture) Text(x, y int, style Style, text string) (after int) {
	for _, r := range terminal.Visible(text) {
		cells := terminal.Cells(string(r))
		switch {
		case cells == 0:
			p.join(x-1, y, string(r))
		default:
			p.place(x, y, cells, cell{string(r), style})
		}
		x += cells
	}
	return x
}

// place draws a character of one or two cells. A character that lies partly outside the picture is not drawn.
func (p *Picture) place(x, y, cells int, c cell) {
	if p.at(x, y) == nil || p.at(x+cells-1, y) == nil {
		return
	}
	p.split(x, y)
	p.split(x+cells, y)
	*p.at(x, y) = c
	if cells > 1 {
		*p.at(x+1, y) = cell{"", c.style}
	}
}

// split makes blanks of a wide character whose second half is column x: one of its halves is written over.
func (p *Picture) split(x, y int) {
	if at := p.at(x, y); at != nil && at.text == "" {
		at.text, p.at(x-1, y).text = " ", " "
	}
}

// join adds a mark, which has no cell of its own, to the character of column x.
func (p *Picture) join(x, y int, mark string) {
	at := p.at(x, y)
	if at != nil && at.text == "" {
		at = p.at(x-1, y)
	}
	if at != nil {
		at.text += mark
	}
}

// Right writes a text that ends before column end.
func (p *Picture) Right(end, y int, style Style, text string) {
	p.Text(end-terminal.Cells(text), y, style, text)
}

// Paint gives the cells of a line from column x to before end a style, and keeps their text.
func (p *Picture) Paint(x, end, y int, style Style) {
	for ; x < min(end, p.Width); x++ {
		if at := p.at(x, y); at != nil {
			at.style = style
		}
	}
}

// Put draws another picture with its upper left corner at (x, y).
func (p *Picture) Put(x, y int, of *Picture) {
	for line := range of.Height {
		for column := range of.Width {
			if c := of.cells[line*of.Width+column]; c.text != "" {
				p.place(x+column, y+line, terminal.Cells(c.text), c)
			}
		}
	}
}

// Grey takes all colours away, for a picture that is no longer true.
func (p *Picture) Grey() {
	for i := range p.cells {
		p.cells[i].style = p.cells[i].style&Reverse | Faint
	}
}

func (p *Picture) at(x, y int) *cell {
	if x < 0 || x >= p.Width || y < 0 || y >= p.Height {
		return nil
	}
	return &p.cells[y*p.Width+x]
}

// String is the text of the picture, without the blanks at the ends of lines.
func (p *Picture) String() string {
	var b strings.Builder
	for y := range p.Height {
		var line strings.Builder
		for _, c := range p.line(y) {
			line.WriteString(c.text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

func (p *Picture) line(y int) []cell { return p.cells[y*p.Width : (y+1)*p.Width] }
