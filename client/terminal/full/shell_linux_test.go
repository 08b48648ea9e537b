package full

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
)

// asShell is the environment variable that makes the test binary the shell of a program.
const asShell = "BOBBIN_TEST_SHELL"

// shell runs the program of a test as an interactive shell does: in a group of its own, in the foreground of the terminal. It
// reports the program's id and its stops on its fourth file.
func shell() {
	reports := os.NewFile(3, "reports")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asShell+"=", asProgram+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Fprintln(reports, cmd.Process.Pid)
	for {
		var status syscall.WaitStatus
		switch _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); {
		case err == syscall.EINTR:
		case err == nil && status.Stopped():
			fmt.Fprintln(reports, "stopped")
		default:
			os.Exit(status.ExitStatus())
		}
	}
}

// job is a program below a shell.
type job struct {
	*ptytest.Session
	shell   *exec.Cmd
	program *os.Process
	reports *bufio.Scanner
}

// startJob is start with a shell.
func startJob(t *testing.T) (j *job, at int) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	j = &job{Session: ptytest.Start(t, 40, 10), shell: exec.Command(os.Args[0]), reports: bufio.NewScanner(read)}
	j.shell.Env = append(os.Environ(), asShell+"=1")
	j.shell.ExtraFiles = []*os.File{write}
	j.Program(j.shell)
	_ = write.Close()
	t.Cleanup(func() {
		if j.program != nil {
			_ = j.program.Kill()
		}
		_ = j.shell.Process.Kill()
		_ = read.Close()
	})
	var pid int
	if _, err := fmt.Sscan(j.report(t), &pid); err != nil {
		t.Fatal(err)
	}
	if j.program, err = os.FindProcess(pid); err != nil {
		t.Fatal(err)
	}
	return j, j.Await(j.Await(0, enter), "[key none, 40x10]")
}

// report waits for the next report of the shell.
func (j *job) report(t *testing.T) string {
	t.Helper()
	if !j.reports.Scan() {
		t.Fatalf("the shell has ended: %v, the terminal has got %q", j.reports.Err(), j.Shown())
	}
	return j.reports.Text()
}

// stopped waits until the program has stopped.
func (j *job) stopped(t *testing.T) {
	t.Helper()
	if got := j.report(t); got != "stopped" {
		t.Fatalf("the shell reports %q", got)
	}
}

// goOn is the command fg of the shell.
func (j *job) goOn(t *testing.T) {
	t.Helper()
	if err := j.program.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// suspensions are the ways in which a user stops a program.
func suspensions() map[string]func(s *ptytest.Session, p *os.Process) {
	return map[string]func(s *ptytest.Session, p *os.Process){
		"Ctrl-Z":  func(s *ptytest.Session, _ *os.Process) { s.Type("\x1a") },
		"SIGTSTP": func(_ *ptytest.Session, p *os.Process) { _ = p.Signal(syscall.SIGTSTP) },
	}
}

// TestSuspension would catch a shell that gets a raw terminal after Ctrl-Z or a SIGTSTP, a program that does not draw when it
// continues, and one that does not stop although it has a shell.
func TestSuspension(t *testing.T) {
	for name, suspend := range suspensions() {
		t.Run(name, func(t *testing.T) {
			before := ptytest.Start(t, 40, 10).Modes()
			j, at := startJob(t)
			for range 2 {
				suspend(j.Session, j.program)
				at = j.Await(at, leave)
				j.stopped(t)
				if diff := cmp.Diff(before, j.Modes()); diff != "" {
					t.Errorf("settings of the terminal while the program is stopped (-before +now):\n%s", diff)
				}
				j.goOn(t)
				at = j.Await(j.Await(at, enter), "[key ")
			}
			j.Type("q")
			j.Await(at, "program has ended")
			if err := j.shell.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTheEndOfAStoppedProgram would catch a terminal that stays raw after a SIGTERM right after Ctrl-Z.
func TestTheEndOfAStoppedProgram(t *testing.T) {
	before := ptytest.Start(t, 40, 10).Modes()
	j, at := startJob(t)
	j.Type("\x1a")
	at = j.Await(at, leave)
	_ = j.program.Signal(syscall.SIGTERM)
	j.stopped(t) // SIGCONT in the moment before would have no effect
	j.goOn(t)
	j.Await(at, "error: terminated")
	_ = j.shell.Wait()
	if diff := cmp.Diff(before, j.Modes()); diff != "" {
		t.Errorf("settings of the terminal (-before +after):\n%s", diff)
	}
}

// TestNothingStopsWithoutAShell would catch a view that stops for ever: with `ssh -t HOST bobbin top` no shell could have it
// continue. It goes on at once, draws its screen, and still takes keys.
func TestNothingStopsWithoutAShell(t *testing.T) {
	for name, suspend := range suspensions() {
		t.Run(name, func(t *testing.T) {
			s, cmd, at := start(t)
			for range 2 {
				suspend(s, cmd.Process)
				at = s.Await(s.Await(s.Await(at, leave), enter), "[key ")
			}
			s.Type("q")
			at = s.Await(at, leave)
			s.Await(at, "program has ended")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if n := strings.Count(s.Shown(), enter); n != 3 {
				t.Errorf("the terminal was taken %d times, not 3", n)
			}
		})
	}
}
