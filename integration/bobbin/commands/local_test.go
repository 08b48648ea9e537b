package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestALocalRunSaysHowItEnded would catch a run that loses the exit code of an os.Exit in a task, a failure that is
// reported as an exit, and a stack that is printed twice.
func TestALocalRunSaysHowItEnded(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("to be\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	local := func(mode string) bobbintest.Outcome {
		return u.Run(t, "run", "-t", "local", suite.Program(t, "faulty"), mode, "file://"+text, "file://"+filepath.Join(dir, mode))
	}
	const exits = "called os.Exit"
	if got := local("task-exit"); got.Code != 1 || !strings.Contains(got.Stderr, "last words of the task\n") || !strings.Contains(got.Stderr, "exit status 7: it "+exits) {
		t.Errorf("os.Exit in a task: %s", got)
	}
	for mode, frame := range map[string]string{"task-panic": "main.misbehave\n", "plan-panic": "main.plan\n", "driver-panic": "main.main.func1("} {
		if got := local(mode); got.Code != 1 || strings.Contains(got.Stderr, exits) || strings.Count(got.Stderr, frame) != 1 {
			t.Errorf("%s: want its stack once, and no exit: %s", mode, got)
		}
	}
}
