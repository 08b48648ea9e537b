// Package processtest observes processes that a test has started: their logs, and how they end. It is
// only for tests, and starts no goroutines.
package processtest

import (
	"errors"
	"os"
	"os/exec"
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

// EndBySignal sends a signal to a process, waits for its end, and checks its exit code, which is not 0.
func EndBySignal(t testing.TB, process *exec.Cmd, signal syscall.Signal, code int) {
	t.Helper()
	if err := process.Process.Signal(signal); err != nil {
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
