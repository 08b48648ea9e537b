package bobbintest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// Outcome is the result of a command.
type Outcome struct {
	Code           int // -1 after a signal
	Stdout, Stderr string
}

// Report is the output of `bobbin run -o json`.
type Report struct {
	Application string           `json:"application"`
	Job         string           `json:"job"`
	TrackingURL string           `json:"trackingUrl"`
	State       string           `json:"state"`
	FinalStatus string           `json:"finalStatus"`
	JobStatus   string           `json:"jobStatus"`
	Duration    int64            `json:"durationMs"`
	Counters    map[string]int64 `json:"counters"`
	Error       string           `json:"error"`
	Steps       []Step           `json:"steps"`
}

// Step is one step of a Report.
type Step struct {
	Name   string `json:"name"`
	Millis int64  `json:"ms"` // from the start of the command
}

// JSON decodes the last line of standard output, which is an object with `-o json`.
func (o Outcome) JSON(t testing.TB) Report {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(o.Stdout), "\n")
	var report Report
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &report); err != nil {
		t.Fatalf("the last line of stdout is not a JSON object: %v\n%s", err, o)
	}
	return report
}

// Application returns the first application that the command's output names.
func (o Outcome) Application(t testing.TB) string {
	t.Helper()
	id := applicationPattern().FindString(o.Stderr + o.Stdout)
	if id == "" {
		t.Fatalf("the output names no application\n%s", o)
	}
	return id
}

// String returns all output of the command, for messages of failed tests.
func (o Outcome) String() string {
	return fmt.Sprintf("exit code %d\n--- stdout\n%s\n--- stderr\n%s", o.Code, o.Stdout, o.Stderr)
}

func applicationPattern() *regexp.Regexp { return regexp.MustCompile(`application_\d+_\d+`) }

// Command is a running command.
type Command struct {
	cmd            *exec.Cmd
	mark           string // of its process group
	stdout, stderr output
	ended          chan struct{} // closed when the process has ended and its output is read
}

// Run runs bobbin with these arguments to its end.
func (u *User) Run(t testing.TB, args ...string) Outcome {
	t.Helper()
	return u.Start(t, args...).Wait(t)
}

// Start starts bobbin with these arguments, in a process group of its own.
func (u *User) Start(t testing.TB, args ...string) *Command {
	t.Helper()
	return u.StartProgram(t, u.bobbin, args...)
}

// StartProgram starts any program in the user's environment. At the end of the test, its processes
// are killed.
func (u *User) StartProgram(t testing.TB, program string, args ...string) *Command {
	t.Helper()
	c := u.command(t, program, args...)
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(c.ended)
		_ = c.cmd.Wait() // ProcessState has the result
	}()
	t.Cleanup(func() { c.end(t) })
	return c
}

// command returns a command of the user that has not started. It will lead a process group.
func (u *User) command(t testing.TB, program string, args ...string) *Command {
	c := &Command{
		mark:  rand.Text(),
		cmd:   exec.CommandContext(context.WithoutCancel(t.Context()), program, args...),
		ended: make(chan struct{}),
	}
	c.cmd.Dir = u.home
	c.cmd.Env = append(u.Environment(), groupVariable+"="+c.mark)
	return c
}

// Wait waits for the command's end.
func (c *Command) Wait(t testing.TB) Outcome {
	t.Helper()
	wait.Satisfied(t, "the end of a command", func() error {
		if c.Running() {
			return fmt.Errorf("%v runs\n%s", c.cmd.Args, c.Seen())
		}
		return nil
	})
	return c.Seen()
}

// Signal sends a signal to the command's process only. It does nothing if the command has ended.
func (c *Command) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// PID returns the id of the command's process.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Running reports whether the command still runs.
func (c *Command) Running() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// Seen returns the command's output so far. Its Code is valid after the command's end.
func (c *Command) Seen() Outcome {
	o := Outcome{Stdout: c.stdout.String(), Stderr: c.stderr.String()}
	if !c.Running() {
		o.Code = c.cmd.ProcessState.ExitCode()
	}
	return o
}

// Says waits until the command has written text to stdout or stderr. If the command ends without
// it, the test fails.
func (c *Command) Says(t testing.TB, text string) {
	t.Helper()
	wait.For(t, fmt.Sprintf("%s says %q", c.cmd.Args[0], text), func() (bool, error) {
		running := c.Running()
		seen := c.Seen()
		if strings.Contains(seen.Stderr, text) || strings.Contains(seen.Stdout, text) {
			return true, nil
		}
		if !running {
			return false, fmt.Errorf("it has ended: %s", seen)
		}
		return false, nil
	})
}

// Application waits until the output names the application.
func (c *Command) Application(t testing.TB) string {
	t.Helper()
	c.Says(t, "application_")
	return c.Seen().Application(t)
}

// output keeps the output of a command.
type output struct {
	mu     sync.Mutex // guards buffer
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// cutEntry splits an entry of an environment.
func cutEntry(entry string) (name, value string, set bool) { return strings.Cut(entry, "=") }

// logger logs to the test's output.
func logger(t testing.TB) logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	if testing.Verbose() {
		l.SetOutput(t.Output())
	}
	return l
}
