package progress

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

// drawing is a Printer for a terminal of this size, and draws lines of text.
func drawing(width, height int) (p *Printer, out *bytes.Buffer, c *clock) {
	p, out, c = printer(true)
	p.width, p.height = func() int { return width }, func() int { return height }
	p.Looks(terminal.Looks{Moves: true, Colours: true})
	return p, out, c
}

func lines(style canvas.Style, texts ...string) Draw {
	return func(width, height int) *canvas.Picture {
		p := canvas.New(width, min(height, len(texts)))
		for y, text := range texts {
			p.Text(0, y, style, text)
		}
		return p
	}
}

// TestAPictureIsBelowTheMovingLine would catch a picture that is drawn again although it is the same, the rest of an older
// or larger one, one that stays below other lines, and a cursor that stays in the picture.
func TestAPictureIsBelowTheMovingLine(t *testing.T) {
	p, out, c := drawing(60, 24)
	step := func(do func(), want string) {
		t.Helper()
		out.Reset()
		c.now = c.now.Add(time.Second)
		if do(); out.String() != want {
			t.Errorf("wrote %q, want %q", out.String(), want)
		}
	}
	step(func() { p.Moving("job", "1 of 3") }, "\r1 of 3")
	step(func() { p.Below(lines(canvas.Plain, "read", "count")) }, "")
	step(func() { p.Moving("job", "1 of 3") }, "\r1 of 3\x1b[J\nread\x1b[K\ncount\x1b[K\x1b[2A\r\x1b[6C")
	step(func() { p.Moving("job", "1 of 3") }, "")
	step(func() { p.Below(lines(canvas.Warm, "count")) }, "")
	step(func() { p.Moving("job", "2 of 3") }, "\r2 of 3\x1b[J\n\x1b[0;33mcount\x1b[0m\x1b[K\x1b[1A\r\x1b[6C")
	step(func() { p.Line("job restarts") }, "\x1b[J\njob restarts\n")
	step(func() { p.Moving("job", "1 of 3") }, "\r1 of 3\x1b[J\n\x1b[0;33mcount\x1b[0m\x1b[K\x1b[1A\r\x1b[6C")
	step(func() { fmt.Fprintln(p.Beside(out), "a record") }, "\x1b[J\na record\n")
	step(func() { p.Moving("job", "1 of 3") }, "\r1 of 3\x1b[J\n\x1b[0;33mcount\x1b[0m\x1b[K\x1b[1A\r\x1b[6C")
	step(func() { p.Below(nil) }, "\x1b[J")
	step(func() { p.Below(nil) }, "")
	step(p.Finish, "\n")
}

// TestASmallOrSimpleTerminalHasNoPicture would catch a picture that pushes all other lines away or wraps, and movements of
// a cursor that cannot move, or in a file.
func TestASmallOrSimpleTerminalHasNoPicture(t *testing.T) {
	for name, change := range map[string]func(p *Printer){
		"narrow":            func(p *Printer) { p.width = func() int { return 39 } },
		"low":               func(p *Printer) { p.height = func() int { return 6 } },
		"of unknown height": func(p *Printer) { p.height = func() int { return 0 } },
		"of unknown width":  func(p *Printer) { p.width = func() int { return 0 } },
		"dumb":              func(p *Printer) { p.looks.Moves = false },
		"a file":            func(p *Printer) { p.terminal = false },
	} {
		p, out, c := drawing(80, 24)
		change(p)
		p.Below(lines(canvas.Warm, "count"))
		for range 30 {
			p.Moving("job", "1 of 3")
			c.now = c.now.Add(time.Second)
		}
		p.Below(nil)
		p.Finish()
		if got := strings.Trim(out.String(), "\r\n"); got != "1 of 3" {
			t.Errorf("%s: wrote %q", name, out)
		}
	}
	p, out, _ := drawing(80, 24)
	p.looks.Colours = false
	p.Below(lines(canvas.Warm, "count"))
	p.Moving("job", "1 of 3")
	if strings.Contains(out.String(), "m") {
		t.Errorf("without colours: wrote %q", out)
	}
}

// TestAPictureVanishesWhenTheTerminalGetsSmall would catch a picture that wraps in a window that is made narrow.
func TestAPictureVanishesWhenTheTerminalGetsSmall(t *testing.T) {
	p, out, c := drawing(80, 24)
	p.Below(lines(canvas.Plain, "count"))
	p.Moving("job", "1 of 3")
	c.now = c.now.Add(time.Second)
	p.width = func() int { return 20 }
	out.Reset()
	p.Moving("job", "2 of 3")
	if got, want := out.String(), "\x1b[J\r2 of 3"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
