package full

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
)

// opened is a Screen of this process. stop takes the place of the stop.
func opened(t *testing.T, stop func(*Screen) error) (*Screen, *ptytest.Session) {
	t.Helper()
	terminal := ptytest.Start(t, 40, 10)
	var screen *Screen
	set := make(chan struct{})
	screen, err := open(terminal.Screen, terminal.Screen, true, func() error {
		<-set
		return stop(screen)
	})
	if err != nil {
		t.Fatal(err)
	}
	close(set)
	t.Cleanup(func() {
		if err := screen.Close(); err != nil {
			t.Error(err)
		}
	})
	return screen, terminal
}

// goesOn has this process continue as after a stop.
func goesOn() error { return syscall.Kill(os.Getpid(), syscall.SIGCONT) }

func picture(text string) *canvas.Picture {
	p := canvas.New(40, 10)
	p.Text(0, 0, canvas.Plain, text)
	return p
}

// checkGivenBack checks that a terminal got nothing each time that it was given back.
func checkGivenBack(t *testing.T, shown string, times int) {
	t.Helper()
	parts := strings.Split(shown, leave)
	if len(parts) != times+1 {
		t.Fatalf("given back %d times, not %d: %q", len(parts)-1, times, shown)
	}
	for _, part := range parts[1:] {
		if part != "" && !strings.HasPrefix(part, enter) {
			t.Errorf("a terminal that is given back gets %q", part)
		}
	}
}

// TestATerminalThatIsGivenBackGetsNothing would catch a picture between the lines of the shell: while the process is about to
// stop, and after the end. It would also catch a picture that is not drawn anew afterwards.
func TestATerminalThatIsGivenBackGetsNothing(t *testing.T) {
	screen, terminal := opened(t, func(s *Screen) error {
		if err := s.Draw(picture("too early")); err != nil {
			t.Error(err)
		}
		return goesOn()
	})
	draw := func(text string) {
		t.Helper()
		if err := screen.Draw(picture(text)); err != nil {
			t.Error(err)
		}
	}
	draw("first")
	if err := screen.Suspend(); err != nil {
		t.Fatal(err)
	}
	<-screen.Resized()
	draw("first")
	at := terminal.Await(terminal.Await(0, leave), "first")
	if err := screen.Close(); err != nil {
		t.Fatal(err)
	}
	draw("too late")
	if err := screen.Suspend(); err != nil { // after the end it does nothing
		t.Fatal(err)
	}
	terminal.Await(at, leave)
	checkGivenBack(t, terminal.Shown(), 2)
}

// TestTwoSuspensionsAtOnceStopTheProcessOnce would catch a process that stops a second time, with a raw terminal, when the
// user has it continue: Ctrl-Z and a signal may come together, while other goroutines draw.
func TestTwoSuspensionsAtOnceStopTheProcessOnce(t *testing.T) {
	var stops int
	var drawing sync.WaitGroup
	ended := make(chan struct{})
	screen, terminal := opened(t, func(s *Screen) error {
		if stops++; stops > 1 {
			return goesOn()
		}
		if err := s.Suspend(); err != nil {
			t.Error(err)
		}
		return goesOn()
	})
	for _, text := range []string{"one", "two"} {
		drawing.Go(func() { // ends below
			for {
				select {
				case <-ended:
					return
				default:
					if err := screen.Draw(picture(text)); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	if err := screen.Suspend(); err != nil {
		t.Fatal(err)
	}
	terminal.Await(terminal.Await(0, leave), enter)
	close(ended)
	drawing.Wait()
	if stops != 1 {
		t.Errorf("stopped %d times", stops)
	}
	if err := screen.Close(); err != nil {
		t.Fatal(err)
	}
	terminal.Await(terminal.Await(0, leave), leave)
	checkGivenBack(t, terminal.Shown(), 2)
}

// TestATerminalThatIsLostEndsTheView would catch a command that goes on without a picture for ever, because a signal came
// when nobody could tell the command that its terminal is gone.
func TestATerminalThatIsLostEndsTheView(t *testing.T) {
	refused := errors.New("refused")
	screen, terminal := opened(t, func(*Screen) error { return refused })
	drained(screen)
	if err := syscall.Kill(os.Getpid(), unix.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	<-screen.Resized()
	if err := screen.Draw(picture("after it")); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	terminal.Await(0, leave)
}

// drained forgets that a picture is asked for.
func drained(s *Screen) {
	select {
	case <-s.Resized():
	default:
	}
}
