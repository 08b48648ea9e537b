package bobbintest

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// If a test took another group for its own, its end would kill a container or a daemon of another
// test. If it did not find its group, it would leave processes behind.
func TestAGroupIsKnownByItsMark(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 1000 &")
	cmd.Env = []string{"PATH=/bin:/usr/bin", groupVariable + "=mine"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Run(); err != nil { // its child continues
		t.Fatal(err)
	}
	group := cmd.Process.Pid
	// A process that is just starting has no environment.
	wait.For(t, "the group of a leader that has ended is found", func() (bool, error) { return isGroup(t, group, "mine"), nil })
	if isGroup(t, group, "another") {
		t.Error("the group is taken for another's")
	}
	if err := syscall.Kill(-group, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the group is gone", func() (bool, error) { return !isGroup(t, group, "mine"), nil })
}
