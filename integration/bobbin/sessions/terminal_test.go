package sessions

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// narrow is the width of a terminal that is too narrow for almost all of our lines.
const narrow = 40

// opened starts a session in a terminal, and waits for its prompt.
func opened(t *testing.T, u *bobbintest.User, columns int) (screen *bobbintest.Terminal, id string) {
	t.Helper()
	screen = u.Terminal(t, columns, "session", "start", "-jm", "256m")
	id = screen.Application(t)
	t.Cleanup(func() { u.Run(t, "kill", id) })
	awaitPrompt(t, screen)
	return screen, id
}

// awaitPrompt waits for the prompt after these lines.
func awaitPrompt(t *testing.T, screen *bobbintest.Terminal, behind ...string) {
	t.Helper()
	want := slices.Concat(behind, []string{">"})
	wait.For(t, strings.Join(want, "\n")+" is on the screen", func() (bool, error) {
		if !screen.Running() {
			return false, errors.New(screen.Seen().String())
		}
		lines := screen.Lines()
		return slices.Equal(lines[max(0, len(lines)-len(want)):], want), nil
	})
}

// checkEnded checks that a session has succeeded, and that no command selects it any more.
func checkEnded(t *testing.T, u *bobbintest.User, id, path string) {
	t.Helper()
	if app := u.App(t, id); app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	u.CheckGone(t, id)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its properties file still exists: %v", err)
	}
}

// TestWordsAreTakenInATerminal would catch a missing prompt, a prompt before the answer to the last command, and an
// unknown command without an answer.
func TestWordsAreTakenInATerminal(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, path := person(t)
	screen, id := opened(t, u, narrow)
	const help = "Words: help, stop (stops the session and its jobs), quit (the same). Ctrl-C also stops the session"
	for _, word := range []struct{ typed, answer string }{
		{"help", help},
		{"shop", `unknown word "shop": did you mean stop?`},
		{"list", `unknown word "list". ` + help},
	} {
		screen.Types(t, word.typed+"\n")
		awaitPrompt(t, screen, "> "+word.typed, word.answer)
	}
	checkNarrow(t, u, id)
	screen.Types(t, "stop\n")
	got := screen.Wait(t)
	if want := "session " + id + " is FINISHED (SUCCEEDED). Its logs: bobbin logs " + id; got.Code != 0 || !slices.Contains(screen.Lines(), want) {
		t.Errorf("want %q: %s", want, got)
	}
	checkEnded(t, u, id, path)
}

// checkNarrow checks that a narrow terminal gets lines that it can show instead of columns.
func checkNarrow(t *testing.T, u *bobbintest.User, id string) {
	t.Helper()
	for command, want := range map[string]string{
		"applications": "application:\n  " + id, "status": "application:\n  " + id, "session query": "queue: root.default\nstate: RUNNING",
	} {
		screen := u.Terminal(t, narrow, strings.Fields(command)...)
		got, lines := screen.Wait(t), screen.Lines()
		if got.Code != 0 || !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("%s: want %q: %s", command, want, got)
		}
		for _, line := range lines {
			if len(line) > narrow && strings.Contains(line, " ") {
				t.Errorf("%s: %q is wider than the terminal", command, line)
			}
		}
	}
}

// TestAnAttachedSessionEndsWithItsCommand would catch a session that continues after its command, without a client.
func TestAnAttachedSessionEndsWithItsCommand(t *testing.T) {
	t.Parallel()
	u, path := person(t)
	screen, id := opened(t, u, 100)
	screen.Types(t, bobbintest.CtrlC)
	if got := screen.Wait(t); got.Code != 130 || slices.Contains(screen.Lines(), ">") {
		t.Error(got)
	}
	checkEnded(t, u, id, path)
}

// TestASessionOutlivesTheTerminalsThatAreLost would catch a session that ends with a killed client, or with one that
// only attached to it. It would also catch a session to which nobody can attach afterwards, and a prompt for a session
// that others have ended.
func TestASessionOutlivesTheTerminalsThatAreLost(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	screen, id := opened(t, u, 100)
	screen.Signal(t, os.Kill)
	screen.Wait(t)

	screen = u.Terminal(t, 100, "session", "attach") // to the recorded session
	awaitPrompt(t, screen)
	screen.Types(t, bobbintest.CtrlC)
	if got := screen.Wait(t); got.Code != 130 || !strings.Contains(got.Stdout, "left session "+id+", which goes on") {
		t.Error(got)
	}
	if app := u.App(t, id); app.State != "RUNNING" {
		t.Fatalf("the session is %s", app.State)
	}

	screen = u.Terminal(t, 100, "session", "attach", "-id", id)
	awaitPrompt(t, screen)
	if got := u.Run(t, "kill", id); got.Code != 0 {
		t.Fatal(got)
	}
	if got := screen.Wait(t); got.Code != 1 || !strings.Contains(got.Stdout, "application has ended: "+id+" is KILLED") {
		t.Error(got)
	}
}
