// Package processtest observes processes that a test has started: their logs, and how they end. It is
// only for tests, and starts no goroutines.
package processtest

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// AwaitLog waits until a log has this text, and returns the log. The file need not exist yet.
func AwaitLog(t testing.TB, file, text string) string {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		content, err := os.ReadFile(file)
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			t.Fatal(err)
		case strings.Contains(string(content), text):
			return string(content)
		case t.Context().Err() != nil:
			t.Fatalf("test ended before %s has %q:\n%s", file, text, content)
		}
	}
}

// Start starts a process to which the test sends signals. The process obeys SIGHUP, also if nohup makes this one
// ignore it: a child inherits that.
func Start(t testing.TB, process *exec.Cmd) {
	t.Helper()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
}

// EndBySignal sends a signal to a process, waits for its end, and checks its exit code, which is not 0.
func EndBySignal(t testing.TB, process *exec.Cmd, sent syscall.Signal, code int) {
	t.Helper()
	if err := process.Process.Signal(sent); err != nil {
		t.Fatal(err)
	}
	if _, ended := errors.AsType[*exec.ExitError](process.Wait()); !ended || process.ProcessState.ExitCode() != code {
		t.Errorf("it ended with %v, want code %d", process.ProcessState, code)
	}
}

// CheckLog checks that a log has all of these texts.
func CheckLog(t testing.TB, log string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
}
