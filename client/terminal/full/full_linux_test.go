package full

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/client/terminal/keyboard"
	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
)

// asProgram is the environment variable that makes the test binary the program of a test.
const asProgram = "BOBBIN_TEST_SCREEN"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asShell) != "":
		shell()
	case os.Getenv(asProgram) != "":
		if err := program(); err != nil {
			fmt.Println("error:", err)
		}
		fmt.Println("program has ended")
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// program shows the last key and the size until q. Other keys do what the tests are about.
func program() (err error) {
	screen, err := Open(os.Stdin, os.Stdout, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, screen.Close(), screen.Close()) }()
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM)
	defer screen.Guard()
	last := keyboard.Key("none")
	for {
		columns, lines := screen.Size()
		p := canvas.New(columns, lines)
		p.Text(0, 0, canvas.Plain, fmt.Sprintf("[key %s, %dx%d]", last, columns, lines))
		if err := screen.Draw(p); err != nil {
			return err
		}
		select {
		case key, open := <-screen.Keys():
			switch last = key; {
			case key == "q" || !open:
				return nil
			case key == keyboard.CtrlC:
				return errors.New("interrupted")
			case key == keyboard.CtrlZ:
				err = screen.Suspend()
			case key == "x":
				panic("broken on purpose")
			case key == "X":
				go func() {
					defer screen.Guard()
					panic("broken beside")
				}()
			}
		case <-screen.Resized():
		case <-ends:
			return errors.New("terminated")
		}
		if err != nil {
			return err
		}
	}
}

// start runs the program in a terminal, as the only process of its session, and waits until it has drawn. at is how much the terminal has got.
func start(t *testing.T) (s *ptytest.Session, cmd *exec.Cmd, at int) {
	t.Helper()
	s = ptytest.Start(t, 40, 10)
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProgram+"=1")
	s.Program(cmd)
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return s, cmd, s.Await(s.Await(0, enter), "[key none, 40x10]")
}

// TestEachEndPutsTheTerminalBack would catch a shell in which typed text cannot be seen: after q, Ctrl-C, a signal, or a
// panic in any goroutine.
func TestEachEndPutsTheTerminalBack(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *ptytest.Session, p *os.Process)
		says string
	}{
		"a key":                  {func(s *ptytest.Session, _ *os.Process) { s.Type("q") }, "program has ended"},
		"Ctrl-C":                 {func(s *ptytest.Session, _ *os.Process) { s.Type("\x03") }, "error: interrupted"},
		"SIGTERM":                {func(_ *ptytest.Session, p *os.Process) { _ = p.Signal(syscall.SIGTERM) }, "error: terminated"},
		"a panic":                {func(s *ptytest.Session, _ *os.Process) { s.Type("x") }, "panic: broken on purpose"},
		"a panic in a goroutine": {func(s *ptytest.Session, _ *os.Process) { s.Type("X") }, "panic: broken beside"},
	} {
		t.Run(name, func(t *testing.T) {
			before := ptytest.Start(t, 40, 10).Modes()
			s, cmd, at := start(t)
			if cmp.Equal(before, s.Modes()) {
				t.Fatal("the program has not taken the terminal")
			}
			c.end(s, cmd.Process)
			s.Await(s.Await(at, leave), c.says)
			_ = cmd.Wait() // a panic is an error
			if diff := cmp.Diff(before, s.Modes()); diff != "" {
				t.Errorf("settings of the terminal (-before +after):\n%s", diff)
			}
		})
	}
}

// TestAStopWithoutWarning would catch a screen that stays as the shell left it after SIGSTOP and SIGCONT.
func TestAStopWithoutWarning(t *testing.T) {
	s, cmd, at := start(t)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ptytest.Stopped(t, cmd.Process)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	at = s.Await(s.Await(at, enter), "[key none")
	s.Type("q")
	s.Await(at, "program has ended")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestKeysAndSizes would catch a key that does not arrive, and a picture that keeps the old size.
func TestKeysAndSizes(t *testing.T) {
	s, cmd, at := start(t)
	for keys, want := range map[string]string{"j": "[key j", "\x1b[A": "[key up", "\x1b": "[key escape", "每": "[key 每"} {
		s.Type(keys)
		at = s.Await(at, want)
	}
	s.Resize(60, 20)
	at = s.Await(at, "60x20]")
	s.Type("q")
	s.Await(at, "program has ended")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAFileIsNoScreen would catch control sequences in a file.
func TestAFileIsNoScreen(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := Open(file, file, true); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("error %v", err)
	}
	if _, err := Open(nil, nil, true); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("error %v", err)
	}
	if text, err := os.ReadFile(file.Name()); err != nil || strings.Contains(string(text), "\x1b") {
		t.Errorf("the file has %q, %v", text, err)
	}
}
