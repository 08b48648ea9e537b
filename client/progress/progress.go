// Package progress tells a person how far a command is: one line for each
// change of state, and one line for what moves. On a terminal the moving line
// is written over; elsewhere it is printed now and then, so that a log stays
// short. Either way its last version stays. It starts no goroutine.
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

// The shortest times between two versions of the moving line.
const (
	redrawInterval = 100 * time.Millisecond // on a terminal
	printInterval  = 10 * time.Second       // elsewhere
)

// Printer prints. It may be used from any goroutine.
type Printer struct {
	now      func() time.Time
	terminal bool

	mu      sync.Mutex // guards all below
	out     io.Writer
	subject string    // of the moving line; "" when there is none
	newest  string    // its newest version
	shown   string    // the version that was written last
	at      time.Time // when the moving line began, or was written last
}

// New makes a printer; it asks out whether it is a terminal.
func New(out io.Writer) *Printer {
	file, isFile := out.(*os.File)
	return &Printer{out: out, now: time.Now, terminal: isFile && isTerminal(file)}
}

// Line ends the moving line and prints one of its own.
func (p *Printer) Line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// Moving shows a new version of the line about a subject. That of another
// subject ends.
func (p *Printer) Moving(subject, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if subject != p.subject {
		p.end()
		p.subject, p.at = subject, now
		if p.terminal {
			p.at = time.Time{}
		}
	}
	p.newest = text
	interval := printInterval
	if p.terminal {
		interval = redrawInterval
	}
	if now.Sub(p.at) >= interval {
		p.at = now
		p.write()
	}
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
	if file, isFile := out.(*os.File); !p.terminal || isFile && !isTerminal(file) {
		return out
	}
	return beside{p, out}
}

func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

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
		p.write()
	}
	if p.terminal && p.shown != "" {
		fmt.Fprintln(p.out)
	}
	p.subject, p.newest, p.shown = "", "", ""
}

func (p *Printer) write() {
	if p.newest == p.shown {
		return
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r%s%s", p.newest, strings.Repeat(" ", max(0, len(p.shown)-len(p.newest))))
	} else {
		fmt.Fprintln(p.out, p.newest)
	}
	p.shown = p.newest
}
