package sessions

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

const (
	wide = 120
	tab  = "\t"
	open = "\r" // Enter
)

// TestATerminalShowsWhatHappens would catch a live view without the vertices of the running job, one that stays when the job has
// ended, control sequences in a pipe; a `bobbin top` that shows less than the jobs, the vertices, the subtasks and the workers, or
// whose keys do nothing, on a narrow or a wide terminal; and a view that does not see the end.
func TestATerminalShowsWhatHappens(t *testing.T) {
	t.Parallel()
	u, _ := person(t)
	id := start(t, u, "-s", "4", "-tm", "640m")
	seen, piped := suite.SlowJob(t, u), suite.SlowJob(t, u)
	running := u.Terminal(t, wide, append([]string{"run", "-p", "2"}, seen.Args...)...)
	quiet := u.Start(t, append([]string{"run", "-p", "2"}, piped.Args...)...)
	watched := u.Terminal(t, wide, "status", "-w")
	noted := u.Start(t, "status", "-w")
	running.Shows(t, "VERTEX", "TASKS", "gate", "Busiest is ", "of 5 tasks done")
	watched.Shows(t, "RUNNING", "2 running")
	noted.Says(t, "2 running")

	for _, columns := range []int{narrow, wide} {
		top := u.Terminal(t, columns, "top", id)
		top.Shows(t, "▸ Jobs 2", "dawdle", "RUNNING", "Vertices of dawdle", "read text", "Workers 1", "4 of 4 slots")
		top.Types(t, tab)
		top.Shows(t, "▸ Vertices of dawdle")
		top.Types(t, open)
		top.Shows(t, "▸ Subtasks of ", "SUBTASK")
		top.Types(t, tab+"/nowhere")
		top.Shows(t, "Workers 0", "nothing with /nowhere")
		top.Types(t, bobbintest.Escape)
		top.Shows(t, "Workers 1")
		top.Types(t, "?")
		top.Shows(t, "MOST is of the busiest subtask", "choose a row", "Tab", "Enter", "Esc", "sort by", "filter", "pause", "quit")
		top.Types(t, "qq") // out of the help, then out
		if got := top.Wait(t); got.Code != 0 {
			t.Errorf("%d columns: %s", columns, got)
		}
	}

	top := u.Terminal(t, wide, "top")
	top.Shows(t, "▸ Jobs 2")
	seen.Release(t)
	piped.Release(t)
	if got := running.Wait(t); got.Code != 0 {
		t.Error(got)
	}
	if last := running.Shows(t, "FINISHED"); strings.Contains(last, "VERTEX") || strings.Contains(last, "busiest") {
		t.Errorf("the view stays after the job's end:\n%s", last)
	}
	if got := quiet.Wait(t); got.Code != 0 || strings.Contains(got.Stdout+got.Stderr, "\x1b") || strings.Contains(got.Stdout+got.Stderr, "VERTEX") {
		t.Errorf("in a pipe: %s", got)
	}
	top.Shows(t, "2 finished")
	if got := u.Run(t, "session", "stop", "-id", id); got.Code != 0 {
		t.Fatal(got)
	}
	top.Shows(t, "the application has ended: SUCCEEDED")
	top.Types(t, "q")
	if got := top.Wait(t); got.Code != 0 || !strings.Contains(got.Stdout, id+" has ended: SUCCEEDED") {
		t.Error(got)
	}
	if got := watched.Wait(t); got.Code != 0 {
		t.Error(got)
	}
	watched.Shows(t, "FINISHED (SUCCEEDED)")
	if got := noted.Wait(t); got.Code != 0 || strings.Contains(got.Stdout+got.Stderr, "\x1b") || !strings.Contains(got.Stdout, "FINISHED (SUCCEEDED)") {
		t.Errorf("in a pipe: %s", got)
	}
}
