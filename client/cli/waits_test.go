package cli

import (
	"strings"
	"testing"
	"time"
)

// TestStatusDoesWithoutYARN would catch a command that fails because YARN does not answer, although the master
// has answered everything.
func TestStatusDoesWithoutYARN(t *testing.T) {
	s := startFakeSession(t)
	s.yarn.Delay("getApplicationReport", 0) // how the master is reached
	s.yarn.Delay("getApplicationReport", time.Hour)
	code, stdout, stderr := command(t, s.env, "status", "-id", s.id.String(), "-D", "client.timeout=2s")
	if code != ExitOK || !strings.HasSuffix(stderr, "YARN does not answer: the output lacks its report of the application\n") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if !strings.HasPrefix(stdout, "application    "+s.id.String()+"\n") || !strings.Contains(stdout, "slots          2, 1 of them free\n") {
		t.Errorf("stdout %q", stdout)
	}
}

// TestStatusSaysWhyWorkersStayWithoutWork would catch a user who takes spare workers for a leak.
func TestStatusSaysWhyWorkersStayWithoutWork(t *testing.T) {
	s := startFakeSession(t)
	_, stdout, stderr := command(t, s.env, "status", "-id", s.id.String())
	for _, line := range []string{
		"\nkept           1 TaskExecutors without work (slotmanager.redundant-taskmanager-num, to replace lost ones)\n",
		"\nkept           2 TaskExecutors without work (slotmanager.number-of-slots.min: 4)\n",
	} {
		if !strings.Contains(stdout, line) {
			t.Errorf("no line %q in %q (stderr %q)", line, stdout, stderr)
		}
	}
	if _, stdout, _ := command(t, s.env, "status", "-id", s.id.String(), "-o", "json"); !strings.Contains(stdout, `"taskManagersSpare":1`) || !strings.Contains(stdout, `"taskManagersOfFloor":2`) {
		t.Errorf("JSON %s", stdout)
	}
}
