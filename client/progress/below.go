package progress

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

// The least terminal with a picture below the moving line, and the most lines of a picture. Above it, a terminal of few
// lines still shows some of the earlier lines.
const (
	belowColumns = 40
	belowLines   = 6
	belowFree    = 6
)

// eraseBelow erases what follows the cursor, on its line and on all lines below (ECMA-48, ED).
const eraseBelow = "\x1b[J"

// Draw draws a picture of at most this width and height, in cells. It is pure. nil: there is nothing to show.
type Draw func(width, height int) *canvas.Picture

// Looks says what the terminal can show. Without a call nothing is shown below the moving line. It is called before all
// other methods.
func (p *Printer) Looks(l terminal.Looks) { p.looks = l }

// Pictures tells whether the terminal can show a picture below the moving line. A small one shows none, until the user
// makes it larger.
func (p *Printer) Pictures() bool { return p.terminal && p.looks.Moves }

// Below has a picture shown below the moving line from the line's next version on, until another call. With nil the
// picture vanishes at once.
//
// The cursor stays at the end of the moving line. Other programs that write to the terminal, such as the driver, so write
// where they would without a picture, and over the picture. The next version erases what is below the cursor, and none of
// their lines. Beside a second line of theirs, a part of the picture stays.
func (p *Printer) Below(draw Draw) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.below = draw; draw == nil {
		p.erase()
	}
}

// picture is what to show below the moving line: at least one line, or nil.
func (p *Printer) picture() []string {
	if p.below == nil || !p.Pictures() {
		return nil
	}
	width, height := p.width(), min(belowLines, p.height()-belowFree)
	if width < belowColumns || height < 1 {
		return nil
	}
	drawn := p.below(width-1, height) // a full last cell would wrap in some terminals
	if drawn == nil {
		return nil
	}
	var lines []string
	for y := range min(height, drawn.Height) {
		lines = append(lines, drawn.Line(y, p.looks.Colours))
	}
	return lines
}

// erase erases the picture.
func (p *Printer) erase() {
	if p.drawn != nil {
		fmt.Fprint(p.out, eraseBelow)
		p.drawn = nil
	}
}

// writeAbove writes a version of the moving line over the previous one, and a picture below it. The terminal may scroll
// meanwhile: all movements are relative to the cursor.
func (p *Printer) writeAbove(lines []string, text string) {
	var b strings.Builder
	b.WriteString("\r" + text + eraseBelow)
	for _, line := range lines {
		b.WriteString("\n" + line)
	}
	if len(lines) > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", len(lines))
		if at := terminal.Cells(text); at > 0 {
			fmt.Fprintf(&b, "\x1b[%dC", at)
		}
	}
	fmt.Fprint(p.out, b.String())
	p.shown, p.drawn = text, lines
}
