// Package full gives a command the whole screen of a terminal: it draws pictures on the alternate screen, and passes on
// keys and changes of size. Close puts the terminal back as it was, and so does the suspension with Ctrl-Z.
//
// A Screen starts goroutines for keys and for signals, which end with Close. If one of them panics, the terminal is put
// back first.
package full

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"

	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/client/terminal/keyboard"
)

// ErrNoTerminal says that a command has no terminal to draw on.
var ErrNoTerminal = errors.New("needs a terminal")

// errAlone says that no shell would have the process continue after a stop.
var errAlone = errors.New("no shell waits for this command")

// Sequences of xterm, which all terminals in use understand.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[2J" // alternate screen, no cursor, empty
	leave = "\x1b[0m\x1b[?25h\x1b[?1049l"
)

// Screen is the screen of a terminal while a command draws on it. Its methods may be called from any goroutine.
type Screen struct {
	in, out *os.File
	colours bool
	keys    chan keyboard.Key
	resized chan struct{}
	stop    func() error  // stops the process; errAlone: nobody would have it continue
	stopped chan struct{} // closed by Close
	// Close closes waker: then wake can be read, and the reader of keys, which waits for both, ends.
	wake, waker *os.File
	group       sync.WaitGroup
	closing     sync.Once
	suspending  atomic.Bool // a Suspend is under way

	mu     sync.Mutex      // guards what follows
	before *term.State     // of the terminal; nil while it is given back
	shown  *canvas.Picture // nil: not known
	ended  bool            // the terminal is given back for good
	lost   error           // why a signal could not be handled
}

// Open takes the terminal. in and out are both sides of it. The caller closes the Screen.
func Open(in, out *os.File, colours bool) (*Screen, error) {
	// The stop is for the whole group, as the terminal's own signal is, because the shell may wait for a script that runs
	// this command. This package catches SIGTSTP: SIGSTOP stops the process in its place.
	return open(in, out, colours, func() error {
		if orphaned() {
			return errAlone
		}
		return syscall.Kill(0, syscall.SIGSTOP)
	})
}

// open is Open with the function that stops the process.
func open(in, out *os.File, colours bool, stop func() error) (*Screen, error) {
	if in == nil || out == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, ErrNoTerminal
	}
	s := &Screen{
		in: in, out: out, colours: colours, stop: stop,
		keys: make(chan keyboard.Key), resized: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	var err error
	if s.wake, s.waker, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("take the terminal: %w", err)
	}
	if err := s.resume(); err != nil {
		return nil, errors.Join(err, s.wake.Close(), s.waker.Close())
	}
	caught := newSignals()
	s.group.Go(func() {
		defer caught.stop()
		s.watch(caught)
	})
	sent := make(chan []byte)
	s.group.Go(func() { s.read(sent) })
	s.group.Go(func() { s.decode(sent) })
	return s, nil
}

// Keys are the keys that the user presses. The channel is closed if the terminal is gone.
func (s *Screen) Keys() <-chan keyboard.Key { return s.keys }

// Resized tells that the size has changed, or that the picture must be drawn anew.
func (s *Screen) Resized() <-chan struct{} { return s.resized }

// Size is the present size in cells. A terminal that does not tell has 80 columns and 24 lines.
func (s *Screen) Size() (columns, lines int) {
	columns, lines, err := term.GetSize(int(s.out.Fd()))
	if err != nil || columns <= 0 || lines <= 0 {
		return 80, 24
	}
	return columns, lines
}

// Draw shows a picture. It sends only the lines that have changed. While the terminal is given back, to the shell or for
// good, Draw shows nothing: Resized asks for the picture when the terminal is taken again. The error says that the terminal
// is gone.
func (s *Screen) Draw(p *canvas.Picture) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil || s.before == nil {
		return s.lost
	}
	erase := ""
	if s.shown == nil || s.shown.Width != p.Width || s.shown.Height != p.Height {
		erase = "\x1b[2J"
	}
	if changes := erase + p.Changes(s.shown, s.colours); changes != "" {
		if _, err := s.out.WriteString(changes); err != nil {
			return fmt.Errorf("draw on the terminal: %w", err)
		}
	}
	s.shown = p
	return nil
}

// Redraw forgets what the terminal shows. Something else may have written on it.
func (s *Screen) Redraw() {
	s.mu.Lock()
	s.shown = nil
	s.mu.Unlock()
	s.again()
}

// again asks the command to draw.
func (s *Screen) again() {
	select {
	case s.resized <- struct{}{}:
	default: // it has not looked yet
	}
}

// Close puts the terminal back. It may be called again.
func (s *Screen) Close() (err error) {
	s.closing.Do(func() {
		close(s.stopped)
		err = errors.Join(s.end(), s.waker.Close())
		s.group.Wait()
		err = errors.Join(err, s.wake.Close())
	})
	return err
}

// Guard puts the terminal back before a panic ends the process. Goroutines of the command defer it.
func (s *Screen) Guard() {
	if cause := recover(); cause != nil {
		_ = s.end() // the panic says more
		panic(cause)
	}
}

// end gives the terminal back for good.
func (s *Screen) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	return s.put()
}

// take makes the terminal raw, and enters the alternate screen. The caller holds mu.
func (s *Screen) take() error {
	if s.ended {
		return nil
	}
	now, err := term.MakeRaw(int(s.in.Fd()))
	if err != nil {
		return fmt.Errorf("take the terminal: %w", err)
	}
	if s.shown = nil; s.before == nil { // otherwise the state before is already known
		s.before = now
	}
	if _, err := s.out.WriteString(enter); err != nil {
		return errors.Join(fmt.Errorf("draw on the terminal: %w", err), s.put())
	}
	return nil
}

// put is the opposite of take. It does nothing if the terminal is as it was. The caller holds mu.
func (s *Screen) put() error {
	if s.before == nil {
		return nil
	}
	_, err := s.out.WriteString(leave)
	err = errors.Join(err, term.Restore(int(s.in.Fd()), s.before))
	s.before = nil
	if err != nil {
		return fmt.Errorf("put the terminal back: %w", err)
	}
	return nil
}
