package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/integration/internal/screen"
	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
)

// Size of the terminal, in cells.
const (
	columns = 92
	lines   = 25
)

// keystroke is how long a typed character takes in the recording.
const keystroke = 45 * time.Millisecond

// frame is what the terminal shows from a time on.
type frame struct {
	at     time.Duration
	typed  bool // by a person
	rows   [][]screen.Cell
	cursor bool
	x, y   int
}

// recorder keeps what a terminal shows while commands run on it, one after the other.
type recorder struct {
	began time.Time

	mu     sync.Mutex // guards what follows
	more   *sync.Cond // the terminal shows something else, or the command has ended
	shown  *screen.Screen
	typed  time.Duration // how long the typing takes, which takes no time while it is recorded
	frames []frame
	over   bool  // nothing is recorded any more
	ended  bool  // the command
	failed error // what the terminal got cannot be shown
}

func newRecorder() *recorder {
	r := &recorder{began: time.Now(), shown: screen.New(columns, lines)}
	r.more = sync.NewCond(&r.mu)
	return r
}

// write shows what a program writes. The caller holds mu.
func (r *recorder) write(sent []byte) {
	if r.over {
		return
	}
	if _, err := r.shown.Write(sent); err != nil {
		r.failed = errors.Join(r.failed, err)
	}
	f := frame{at: time.Since(r.began) + r.typed, cursor: r.shown.Cursor, x: min(r.shown.X, columns-1), y: r.shown.Y}
	for y := range lines { // rows do not change
		f.rows = append(f.rows, r.shown.Row(y))
	}
	r.frames = append(r.frames, f)
	r.more.Broadcast()
}

// types shows how a person types a command at a prompt.
func (r *recorder) types(command string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	prompt := canvas.New(columns, 1)
	prompt.Text(0, 0, canvas.Accent, "$")
	r.write([]byte("\r" + prompt.Line(0, true) + "\r\x1b[2C"))
	r.typed += 10 * keystroke
	for _, c := range command {
		r.write([]byte(string(c)))
		r.frames[len(r.frames)-1].typed = true
		r.typed += keystroke
	}
	r.typed += 5 * keystroke
	r.write([]byte("\r\n"))
}

// process is a command that runs on the recorder's terminal.
type process struct {
	r      *recorder
	person *os.File
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended and its output is read
}

// start types a command of bobbin, and starts it on the terminal. bin has the programs.
func (r *recorder) start(ctx context.Context, bin string, args ...string) (*process, error) {
	r.types(strings.Join(append([]string{"bobbin"}, args...), " "))
	person, theirs, err := ptytest.Pair(columns, lines)
	if err != nil {
		return nil, err
	}
	program, err := filepath.Abs(filepath.Join(bin, "bobbin"))
	if err != nil {
		return nil, errors.Join(err, person.Close(), theirs.Close())
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = bin, append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	if err = errors.Join(err, theirs.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("start bobbin %v: %w", args, err), person.Close())
	}
	p := &process{r, person, cmd, make(chan struct{})}
	r.mu.Lock()
	r.ended = false
	r.mu.Unlock()
	go p.read() // ends with the command
	return p, nil
}

// read reads the command's output to its end.
func (p *process) read() {
	defer close(p.done)
	buffer := make([]byte, 64<<10)
	for {
		n, err := p.person.Read(buffer)
		p.r.mu.Lock()
		if n > 0 {
			p.r.write(buffer[:n])
		}
		if p.r.ended = err != nil; p.r.ended { // EIO: nobody has the terminal any more
			p.r.more.Broadcast()
		}
		p.r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// sees waits until the terminal shows a text, which may be broken into lines.
func (p *process) sees(text string) error {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	for !strings.Contains(strings.Join(strings.Fields(p.r.shown.String()), " "), text) {
		if p.r.ended || p.r.failed != nil {
			return errors.Join(fmt.Errorf("the terminal never shows %q, but\n%s", text, p.r.shown), p.r.failed)
		}
		p.r.more.Wait()
	}
	return nil
}

// stays looks on for a time.
func (p *process) stays(ctx context.Context, d time.Duration) error {
	looked := time.NewTimer(d)
	defer looked.Stop()
	select {
	case <-looked.C:
		return nil
	case <-p.done:
		return fmt.Errorf("the command has ended: %v", p.cmd.ProcessState)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// presses presses a key.
func (p *process) presses(key string) error {
	if _, err := p.person.WriteString(key); err != nil {
		return fmt.Errorf("press %q: %w", key, err)
	}
	return nil
}

// wait waits for the end of the command.
func (p *process) wait() error {
	<-p.done
	err := p.cmd.Wait()
	if err != nil {
		err = fmt.Errorf("%s: %w", p.cmd, err)
	}
	return errors.Join(err, p.person.Close(), p.r.failed)
}

// kill ends a command that goes wrong.
func (p *process) kill() error {
	return errors.Join(p.cmd.Process.Kill(), p.wait())
}

// stop ends the recording, and not the command.
func (r *recorder) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// cut is the recording.
func (r *recorder) cut() []frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.frames)
}
