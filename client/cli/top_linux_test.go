package cli

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// JobDetails describes the running job, with a vertex whose name is hostile and another one that waits for it, and the job that waits.
func (s *fakeSession) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	d := msg.JobDetails{ID: job, Name: "words", Status: msg.JobRunning}
	switch job {
	case runningJob:
		producer := strings.Repeat("a", 32)
		d.Vertices = []msg.VertexDetails{
			{ID: producer, Name: "sp " + hostile, Parallelism: 4, Status: msg.ExecutionRunning, Tasks: map[msg.ExecutionState]int{msg.ExecutionRunning: 4}},
			{ID: strings.Repeat("c", 32), Name: "sum", Parallelism: 1, Status: msg.ExecutionCreated, Blocked: 1, Tasks: map[msg.ExecutionState]int{msg.ExecutionCreated: 1}, Inputs: []msg.VertexInput{{Vertex: producer, Missing: 4}}},
		}
	case waitingJob:
		d.Name, d.Vertices = "late", []msg.VertexDetails{{ID: strings.Repeat("b", 32), Name: "wait here", Parallelism: 4, Status: msg.ExecutionScheduled, Tasks: map[msg.ExecutionState]int{msg.ExecutionScheduled: 4}}}
	default:
		return d, msg.ErrJobNotFound
	}
	return d, nil
}

// VertexSubtasks has none: the view shows the vertices all the same.
func (*fakeSession) VertexSubtasks(context.Context, ids.JobID, string) (msg.VertexSubtasks, error) {
	return msg.VertexSubtasks{}, msg.ErrSubtasksGone
}

// onTerminal runs a command on a terminal of a kind. code gets its exit code when it has ended. The next command of the test must
// wait for what this one shows: the library of the command line has a flag that all commands share.
func onTerminal(ctx context.Context, t *testing.T, s *fakeSession, kind string, columns, lines int, words ...string) (screen *ptytest.Session, code <-chan int) {
	t.Helper()
	env := maps.Clone(s.env)
	env["TERM"] = kind
	return ptytest.On(t, columns, lines, func(screen *os.File) int {
		return Run(ctx, process(t, env, screen, screen, screen, words...))
	})
}

// TestTopShowsAnApplication would catch a view without jobs, keys that do nothing, a name that controls the terminal, and
// an exit code that is not that of success.
func TestTopShowsAnApplication(t *testing.T) {
	s := startFakeSession(t)
	for _, columns := range []int{40, 80, 120} {
		screen, code := onTerminal(t.Context(), t, s, "xterm", columns, 30, "top", s.id.String())
		at := screen.Await(0, "sp mallory")
		screen.Type("j") // the job that waits
		at = screen.Await(at, "wait here")
		screen.Type("?")
		at = screen.Await(at, "sort by another column")
		screen.Type("xq")
		screen.Await(at, "\x1b[?1049l")
		if got := <-code; got != ExitOK {
			t.Errorf("%d columns: exit code %d", columns, got)
		}
		if text := screen.Shown(); strings.Contains(text, "mallory\x1b[2J") || strings.ContainsAny(text, "\u009b\u202e") {
			t.Errorf("%d columns: a name controls the terminal: %q", columns, text)
		}
	}
}

// TestTopSeesTheEnd would catch a view that hides that the application has ended, and one that stays open after Ctrl-C or
// a signal.
func TestTopSeesTheEnd(t *testing.T) {
	s := startFakeSession(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	top := func(ctx context.Context) (screen *ptytest.Session, code <-chan int) {
		screen, code = onTerminal(ctx, t, s, "xterm", 80, 24, "top", "-id", s.id.String())
		screen.Await(0, "sp mallory")
		return screen, code
	}
	screen, code := top(t.Context())
	interrupted, byKey := top(t.Context())
	terminated, bySignal := top(ctx)
	interrupted.Type("\x03")
	interrupted.Await(0, "bobbin: interrupted")
	cancel(run.ErrTerminated)
	terminated.Await(0, "bobbin: interrupted")
	for _, ended := range []<-chan int{byKey, bySignal} {
		if got := <-ended; got != ExitInterrupted {
			t.Errorf("after an interruption: exit code %d", got)
		}
	}
	if err := s.alice.Kill(t.Context(), s.id, "enough"); err != nil {
		t.Fatal(err)
	}
	// Its ApplicationMaster, this test, still answers: the view says what YARN does.
	at := screen.Await(0, "the application has ended: KILLED")
	screen.Type("q")
	screen.Await(at, s.id.String()+" has ended: KILLED")
	if got := <-code; got != ExitOK {
		t.Errorf("exit code %d", got)
	}
}

// TestTopEndsWithoutAnApplication would catch a view that waits for ever for an application whose id is mistyped.
func TestTopEndsWithoutAnApplication(t *testing.T) {
	s := startFakeSession(t)
	unknown := s.id
	unknown.ID++
	screen, code := onTerminal(t.Context(), t, s, "xterm", 120, 24, "top", unknown.String())
	screen.Await(screen.Await(0, "\x1b[?1049l"), unknown.String()+" is not known to YARN")
	if got := <-code; got != ExitFailed {
		t.Errorf("exit code %d", got)
	}
}

// TestTopNeedsATerminal would catch control sequences in a file, and a terminal that cannot show them.
func TestTopNeedsATerminal(t *testing.T) {
	s := startFakeSession(t)
	const want = "bobbin: usage: bobbin top needs a terminal that can move its cursor: use bobbin status -w, or bobbin status -o json\n"
	if code, stdout, stderr := command(t, s.env, "top", s.id.String()); code != ExitUsage || stdout != "" || stderr != want {
		t.Errorf("into a file: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	for line, want := range map[string]string{
		"top 17":                      `"17" is no application id`,
		"top a b":                     `takes one application: leave out "b"`,
		"top -id application_1_001 a": "both name the application",
	} {
		screen, code := onTerminal(t.Context(), t, s, "xterm", 80, 24, strings.Fields(line)...)
		screen.Await(0, want)
		if got := <-code; got != ExitUsage {
			t.Errorf("%s: exit code %d", line, got)
		}
	}
	if _, code := onTerminal(t.Context(), t, s, "dumb", 80, 24, "top", s.id.String()); <-code != ExitUsage {
		t.Error("on a dumb terminal it runs")
	}
}

// TestStatusIsWatchedUntilTheEnd would catch a status -w that ends before the application or never, screens full of old
// versions or without the time of the look, and a file with the same text again and again.
func TestStatusIsWatchedUntilTheEnd(t *testing.T) {
	s := startFakeSession(t)
	file, code := onTerminal(t.Context(), t, s, "", 80, 40, "status", "-w", "-id", s.id.String())
	file.Await(0, "2 running, 1 finished")
	screen, onScreen := onTerminal(t.Context(), t, s, "xterm", 80, 40, "status", "-w", "-id", s.id.String())
	screen.Await(screen.Await(0, "2 running, 1 finished"), "as of ")
	if err := errors.Join(s.rm.Finish(t.Context(), records.FinalSucceeded, "", "")); err != nil {
		t.Fatal(err)
	}
	at := screen.Await(0, "A\r\x1b[J") // over the last version
	screen.Await(at, "FINISHED (SUCCEEDED)")
	for _, ended := range []<-chan int{code, onScreen} {
		if got := <-ended; got != ExitOK {
			t.Errorf("exit code %d", got)
		}
	}
	file.Await(0, "FINISHED (SUCCEEDED)")
	text := file.Shown()
	if strings.Contains(text, "\x1b") || strings.Contains(text, "as of ") || strings.Count(text, "2 running, 1 finished") != 1 || strings.Count(text, "FINISHED (SUCCEEDED)") != 1 {
		t.Errorf("without a cursor: %q", text)
	}
	if code, _, stderr := command(t, s.env, "status", "-w", "-o", "json"); code != ExitUsage || !strings.Contains(stderr, "leave out -o json") {
		t.Errorf("with JSON: exit code %d, %q", code, stderr)
	}
}
