// Package progress tells a person how far a command is: one line for each
// change of state, and one line for what moves. On a terminal the moving line
// is written over; elsewhere it is printed now and then, so that a log stays
// short. Either way its last version stays, all of it. A line that waits for an
// answer is left before anything else is printed. On a terminal what others have put
// into a line does nothing but appear there. The package starts no goroutine.
//
// On narrow terminals the lines that do not move are broken by the terminal: there
// are commands in them to be copied, which a line end of ours would part.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/client/terminal"
)

// The shortest times between two versions of the moving line.
const (
	redrawInterval = 100 * time.Millisecond // on a terminal
	printInterval  = 10 * time.Second       // elsewhere
)

// Printer prints. It may be used from any goroutine.
type Printer struct {
	now      func() time.Time
	terminal bool
	width    func() int // of the terminal, in cells; 0: not known

	mu      sync.Mutex // guards all below
	out     io.Writer
	subject string    // of the moving line; "" when there is none
	newest  string    // its newest version
	shown   string    // the version that was written last
	at      time.Time // when the moving line began, or was written last
}

// New makes a printer; it asks out whether it is a terminal.
func New(out io.Writer) *Printer {
	return &Printer{out: terminal.Raw(out), now: time.Now, terminal: terminal.Is(out), width: func() int { return terminal.Columns(out) }}
}

// Line ends the moving line and prints one of its own.
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

// Moving shows a new version of the line about a subject. That of another
// subject ends.
func (p *Printer) Moving(subject, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moving(subject, text, p.terminal)
}

// Listing shows how many files of a job's input were found so far; the first time at once, as
// whoever calls it has waited already.
func (p *Printer) Listing(files int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moving("listing", fmt.Sprintf("listing input: %d files", files), true)
}

// moving shows a new version of a line, at once if it is the first one and that is asked for.
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
	if p.terminal {
		interval = redrawInterval
	}
	if now.Sub(p.at) >= interval {
		p.at = now
		p.write(p.fitting(p.newest))
	}
}

// Ask shows on a terminal that an answer is awaited, which is typed behind the question;
// elsewhere nobody sees who asks. Answered says that the line has been typed to its end.
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

// Answered says that what Ask has asked for has been typed, and the line ended with that.
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

// Beside gives a writer for other text that goes to out. Where that is the same
// screen, the moving line ends before it.
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
	if p.newest != p.shown {
		p.write(terminal.Hang(p.newest, 0, 0, p.width()))
	}
	if p.terminal && p.shown != "" {
		fmt.Fprintln(p.out)
	}
	p.subject, p.newest, p.shown = "", "", ""
}

// write writes a version of the moving line over the one before.
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

// fitting is as much of a text as one line of the terminal holds: the begin of one that
// goes on in the next could not be written over.
func (p *Printer) fitting(text string) string {
	if width := p.width(); width > 1 {
		return terminal.Shorten(text, width-1)
	}
	return text
}
