// Package progress tells a person how far a command is: one line for each change of state, and one moving line.
// On a terminal the package overwrites the moving line. Elsewhere it prints the line when it has changed, once a minute, so
// that the log of a scheduler stays short. The last version of the line always stays, complete. The package ends a line that waits
// for an answer before it prints anything else. Text that comes from others cannot control the terminal. The
// package starts no goroutine.
//
// A command may also have a picture below the moving line, see Below.
//
// On narrow terminals the terminal breaks the lines that do not move: they contain commands to copy, which line
// ends of ours would cut.
package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/client/terminal"
)

// The shortest times between two versions of the moving line.
const (
	redrawInterval = 100 * time.Millisecond // on a terminal
	firstPrint     = 10 * time.Second       // elsewhere, for the first version
	printInterval  = time.Minute            // elsewhere
)

// Printer prints. It may be used from any goroutine.
type Printer struct {
	now      func() time.Time
	terminal bool
	width    func() int // of the terminal, in cells; 0 if not known
	height   func() int // of the terminal, in lines; 0 if not known
	looks    terminal.Looks

	mu      sync.Mutex // guards all below
	out     io.Writer
	subject string    // of the moving line; "" without a moving line
	newest  string    // its newest version
	shown   string    // the last written version
	at      time.Time // when the moving line started, or was last written
	below   Draw      // nil: nothing is to be shown below the moving line
	drawn   []string  // the lines that are shown below it
}

// New makes a Printer for out, which may be a terminal.
func New(out io.Writer) *Printer {
	return &Printer{
		out: terminal.Raw(out), now: time.Now, terminal: terminal.Is(out),
		width: func() int { return terminal.Columns(out) }, height: func() int { return terminal.Lines(out) },
	}
}

// Line ends the moving line and prints another line.
func (p *Printer) Line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	line := fmt.Sprintf(format, args...)
	if p.terminal {
		line = terminal.VisibleLines(line)
	}
	fmt.Fprintln(p.out, line)
}

// Moving shows a new version of the moving line about a subject. It ends the moving line of another subject.
func (p *Printer) Moving(subject, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moving(subject, text, p.terminal)
}

// Listing shows how many files of a job's input were found so far. It prints the first time at once, since the
// user has already waited.
func (p *Printer) Listing(files int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moving("listing", fmt.Sprintf("listing input: %d files", files), true)
}

// moving shows a new version of the moving line; with atOnce it also shows the first version at once.
func (p *Printer) moving(subject, text string, atOnce bool) {
	now := p.now()
	if subject != p.subject {
		p.end()
		p.subject, p.at = subject, now
		if atOnce {
			p.at = time.Time{}
		}
	}
	if p.terminal {
		text = terminal.Visible(text)
	}
	p.newest = text
	interval := printInterval
	switch {
	case p.terminal:
		interval = redrawInterval
	case p.shown == "":
		interval = firstPrint
	}
	if now.Sub(p.at) >= interval {
		p.at = now
		text := p.fitting(p.newest)
		switch lines := p.picture(); {
		case lines == nil:
			p.erase()
			p.write(text)
		case text != p.shown || !slices.Equal(lines, p.drawn):
			p.writeAbove(lines, text)
		}
	}
}

// Ask shows on a terminal a question after which the user types an answer; elsewhere nobody sees the question.
// Answered says that the user has ended the line.
func (p *Printer) Ask(question string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal {
		return
	}
	p.end()
	question = terminal.Visible(question)
	fmt.Fprint(p.out, question)
	p.newest, p.shown = question, question
}

// Answered says that the user has typed the answer to Ask, and the line end.
func (p *Printer) Answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest, p.shown = "", ""
}

// Finish ends the moving line with its newest version.
func (p *Printer) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

// Beside returns a writer for other text that goes to out. If out is the same terminal, the writer first ends
// the moving line.
func (p *Printer) Beside(out io.Writer) io.Writer {
	if _, isFile := out.(*os.File); !p.terminal || isFile && !terminal.Is(out) {
		return out
	}
	return beside{p, out}
}

type beside struct {
	p   *Printer
	out io.Writer
}

func (b beside) Write(text []byte) (int, error) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.p.end()
	return b.out.Write(text)
}

func (p *Printer) end() {
	p.erase()
	if p.newest != p.shown {
		p.write(terminal.Hang(p.newest, 0, 0, p.width()))
	}
	if p.terminal && p.shown != "" {
		fmt.Fprintln(p.out)
	}
	p.subject, p.newest, p.shown = "", "", ""
}

// write writes a version of the moving line over the previous one.
func (p *Printer) write(text string) {
	if text == p.shown {
		return
	}
	if p.terminal {
		over, more, broken := strings.Cut(text, "\n")
		rest := terminal.Cells(p.shown) - terminal.Cells(over)
		fmt.Fprintf(p.out, "\r%s%s", over, strings.Repeat(" ", max(0, rest)))
		if broken {
			fmt.Fprint(p.out, "\n", more)
		}
	} else {
		fmt.Fprintln(p.out, text)
	}
	p.shown = text
}

// fitting is as much of a text as fits on one line of the terminal. Longer text could not be overwritten.
func (p *Printer) fitting(text string) string {
	if width := p.width(); width > 1 {
		return terminal.Shorten(text, width-1)
	}
	return text
}
