// Package progress tells a person how far a command is: one line for each
// change of state, and one line for what moves. On a terminal the moving line
// is written over; elsewhere it is printed at each tenth, so that a log stays
// short. It starts no goroutine.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// minRedraw is the shortest time between two versions of the moving line.
const minRedraw = 100 * time.Millisecond

// Printer prints. It may be used from any goroutine.
type Printer struct {
	now func() time.Time

	mu       sync.Mutex // guards all below
	out      io.Writer
	terminal bool
	width    int       // columns of the moving line on the screen, 0 when there is none
	label    string    // of the moving line
	tenth    int       // last tenth printed where there is no terminal
	drawn    time.Time // when the moving line was drawn last
}

// New makes a printer; it asks out whether it is a terminal.
func New(out io.Writer) *Printer {
	file, isFile := out.(*os.File)
	return &Printer{out: out, now: time.Now, terminal: isFile && term.IsTerminal(int(file.Fd()))}
}

// Line prints a line of its own and ends the moving line.
func (p *Printer) Line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.label = ""
	fmt.Fprintf(p.out, format+"\n", args...)
}

// Moving shows that done of total units are there. The text is "label: done of
// total unit"; a total of 0 shows nothing.
func (p *Printer) Moving(label string, done, total int64, unit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if total <= 0 {
		return
	}
	text := fmt.Sprintf("%s: %d of %d%s", label, done, total, unit)
	if label != p.label {
		p.clear()
		p.label, p.tenth, p.drawn = label, -1, time.Time{}
	}
	if !p.terminal {
		if tenth := int(done * 10 / total); tenth > p.tenth {
			p.tenth = tenth
			fmt.Fprintln(p.out, text)
		}
		return
	}
	if now := p.now(); done >= total || now.Sub(p.drawn) >= minRedraw {
		p.drawn = now
		p.redraw(text)
	}
}

// Finish leaves the moving line as it stands and ends it.
func (p *Printer) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width > 0 {
		fmt.Fprintln(p.out)
	}
	p.width, p.label = 0, ""
}

func (p *Printer) redraw(text string) {
	pad := max(0, p.width-len(text))
	fmt.Fprintf(p.out, "\r%s%s", text, strings.Repeat(" ", pad))
	p.width = len(text)
}

func (p *Printer) clear() {
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}
