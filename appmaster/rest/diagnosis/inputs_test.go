package diagnosis

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestTasksSayForWhichInputsTheyWait would catch a vertex that is only CREATED, with no word about the tasks that hold it up, and a
// wrong word while workers have still to tell what they hold.
func TestTasksSayForWhichInputsTheyWait(t *testing.T) {
	t.Parallel()
	a, b := msg.VertexInput{Vertex: "a", Missing: 3}, msg.VertexInput{Vertex: "b", Missing: 1}
	there := msg.VertexInput{Vertex: "b"}
	for name, c := range map[string]struct {
		vertex       msg.VertexDetails
		awaits       bool
		brief, words string
	}{
		"one input":                {msg.VertexDetails{Parallelism: 2, Blocked: 2, Inputs: []msg.VertexInput{there, a}}, false, "waits for inputs of 3 tasks", "2 tasks wait for the output of 3 tasks of “read”"},
		"two inputs":               {msg.VertexDetails{Parallelism: 1, Blocked: 1, Inputs: []msg.VertexInput{a, b}}, false, "waits for inputs of 4 tasks", "1 task waits for the output of 3 tasks of “read” and 1 task of “side”"},
		"some of its tasks":        {msg.VertexDetails{Parallelism: 4, Blocked: 1, Inputs: []msg.VertexInput{b}}, false, "1 waits for inputs of 1 task", "1 task waits for the output of 1 task of “side”"},
		"a commit":                 {msg.VertexDetails{Parallelism: 1, Blocked: 1, Inputs: []msg.VertexInput{there}}, false, "waits until others are done", "1 task waits until all tasks are done that read the same input"},
		"another master has begun": {msg.VertexDetails{Parallelism: 2, Blocked: 2, Inputs: []msg.VertexInput{a}}, true, "waits for earlier workers", "2 tasks wait until the workers of the earlier ApplicationMaster have said which partitions they hold"},
	} {
		d := msg.JobDetails{AwaitsWorkers: c.awaits, Vertices: []msg.VertexDetails{{ID: "a", Name: "read"}, {ID: "b", Name: "side"}, c.vertex}}
		got := InputsOf(&d, &d.Vertices[2])
		if got == nil || got.Brief != c.brief || got.Words != c.words {
			t.Errorf("%s: %+v, want %q and %q", name, got, c.brief, c.words)
		}
		if got := InputsOf(&d, &d.Vertices[0]); got != nil {
			t.Errorf("%s: a vertex that waits for nothing says %+v", name, got)
		}
	}
}

// TestWhatIsLeftNamesWhatItWaitsFor would catch a job in which nothing runs, and that does not say why, and one that is said to wait
// while its tasks run.
func TestWhatIsLeftNamesWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	vertex := func(name string, state msg.ExecutionState, blocked int) msg.VertexDetails {
		return msg.VertexDetails{Name: name, Parallelism: 2, Blocked: blocked, Tasks: map[msg.ExecutionState]int{state: 2}}
	}
	source, sum := vertex("read", msg.ExecutionScheduled, 0), vertex("sum", msg.ExecutionCreated, 2)
	for name, c := range map[string]struct {
		status   msg.JobStatus
		awaits   bool
		vertices []msg.VertexDetails
		want     string
	}{
		"for one vertex":             {msg.JobRunning, false, []msg.VertexDetails{source, sum}, "all that is left waits for “read”"},
		"for three":                  {msg.JobRunning, false, []msg.VertexDetails{source, source, source, sum}, "all that is left waits for “read”, “read” and 1 more vertex"},
		"for one that restarts":      {msg.JobRestarting, false, []msg.VertexDetails{vertex("read", msg.ExecutionFailed, 0), sum}, "all that is left waits for “read”"},
		"for workers":                {msg.JobRunning, true, []msg.VertexDetails{vertex("read", msg.ExecutionCreated, 2), sum}, "all that is left waits until the workers of the earlier ApplicationMaster have said which partitions they hold"},
		"the producers run":          {msg.JobRunning, false, []msg.VertexDetails{vertex("read", msg.ExecutionRunning, 0), sum}, ""},
		"nothing waits for inputs":   {msg.JobRunning, false, []msg.VertexDetails{source}, ""},
		"it is over":                 {msg.JobFailed, false, []msg.VertexDetails{source, sum}, ""},
		"names that are too long":    {msg.JobRunning, false, []msg.VertexDetails{vertex(strings.Repeat("r", 99), msg.ExecutionScheduled, 0), sum}, "all that is left waits for “" + strings.Repeat("r", longestName-1) + "…”"},
		"producers that have ended":  {msg.JobRunning, false, []msg.VertexDetails{vertex("read", msg.ExecutionFinished, 0), sum}, ""},
		"some are being cancelled":   {msg.JobRunning, false, []msg.VertexDetails{source, sum, vertex("x", msg.ExecutionCanceling, 0)}, ""},
		"some are being deployed":    {msg.JobRunning, false, []msg.VertexDetails{vertex("read", msg.ExecutionDeploying, 0), sum}, ""},
		"it has not begun to run it": {msg.JobInitializing, false, nil, ""},
	} {
		if got := LeftOf(&msg.JobDetails{Status: c.status, AwaitsWorkers: c.awaits, Vertices: c.vertices}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
