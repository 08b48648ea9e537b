package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// troubled is a session in a full queue with a job that has failed, one that is slow because of a skewed key, and one that waits.
type troubled struct {
	*bobbintest.User
	id                    string // of the application
	input                 string
	failed, slow, waiting string // jobs
}

// plain has programs without the race detector, which would fill the workers of the queue.
var plain = suite.Plain() //nolint:gochecknoglobals // as suite

// trouble starts the session and its jobs.
func trouble(t *testing.T) troubled {
	t.Helper()
	s := troubled{User: plain.Newcomer(t).With("TMPDIR=" + t.TempDir())}
	s.id = s.StartSession(t, "-qu", clusters.Full, "-jm", "384m", "-tm", "768m", "-s", "4",
		"-D", "rest.flamegraph.enabled=true", "-D", "rest.profiling.enabled=true", "-D", "slot.request.timeout=1h",
		"-D", "restart-strategy.type=fixed-delay", "-D", "restart-strategy.fixed-delay.attempts=2", "-D", "restart-strategy.fixed-delay.delay=100ms")
	text, dir := t.TempDir(), s.Scratch(t)
	for i := range 8 {
		var lines strings.Builder
		for n := range 200_000 {
			user := 0 // who has half of the clicks
			if n%2 == 0 {
				user = n * 7919 % 20_000
			}
			fmt.Fprintf(&lines, "user-%d /pages/%d\n", user, n%997)
		}
		if err := os.WriteFile(filepath.Join(text, fmt.Sprintf("clicks-%d.txt", i)), []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.input = dir + "/clicks"
	s.Put(t, text, s.input)
	run := func(output, flag, value string, failure bool) (job string) {
		t.Helper()
		args := []string{"run", "-p", "4", "-o", "json"}
		if !failure {
			args = append(args, "-d")
		}
		got := s.Run(t, append(args, plain.Program(t, "clicks"), flag, value, s.input, dir+"/"+output)...)
		if (got.Code != 0) != failure {
			t.Fatal(got)
		}
		return got.JSON(t).Job
	}
	s.failed = run("none", "-panic", "3000", true)
	s.slow = run("first", "-times", "8", false)
	s.waiting = run("second", "-times", "8", false)
	s.Master(t, s.id).WaitingOf(t, s.waiting, msg.QueueFull)
	return s
}

// TestThePageNamesTheTrouble would catch a page that does not say at once why a job has failed, waits or is slow, and one that
// cannot be used for a change: with a link of `bobbin open`, a person looks at a flame graph, uploads a program, looks at its plan,
// cancels jobs, and stops the session. The pictures of docs/web.md are made here: CONTRIBUTING.md has the command.
func TestThePageNamesTheTrouble(t *testing.T) {
	t.Parallel()
	s := trouble(t)
	t.Run("through the proxy", s.looks)
	t.Run("through the link", s.acts)
}

func (s troubled) looks(t *testing.T) {
	b := open(t)
	base := "http://" + s.Cluster.RMWebAddress() + "/proxy/" + s.id + "/"
	b.keepsTo(base)
	job := func(id, tab string) string { return base + "#/jobs/" + id + "/" + tab }

	b.visit(t, "failed", job(s.failed, "graph"), "Why it failed", "index out of range", "main.amountOf", "clicks/main.go:", "the line at byte ", "It had restarted 2 times")
	b.visit(t, "exceptions", job(s.failed, "exceptions"), "Root cause", "main.amountOf", "parse clicks", "3 failures, the newest first")
	b.visit(t, "waiting", job(s.waiting, "graph"), "Why it waits, since", "YARN's queue root."+clusters.Full+" is full", "768 MB", "To help: ", "It needs 4 slots and has 0.", "Slots are held by clicks by user "+s.slow[:8]+" (4)")
	b.visit(t, "slow", job(s.slow, "graph"), "Where it is slow", "clicks of each user", "because of a skewed key: subtask ", "of 4 is busy", "waits for it")
	b.dark(t, true)
	b.shows(t, "slow-dark", "Where it is slow")
	b.dark(t, false)
	b.visit(t, "subtasks", job(s.slow, "subtasks"), "times the median", "Busy time")
	b.visit(t, "timeline", job(s.slow, "timeline"), "parse clicks")
	b.visit(t, "counters", job(s.slow, "counters"), "odd lines")
	b.visit(t, "configuration", job(s.slow, "configuration"), "restart-strategy.fixed-delay.attempts")
	b.visit(t, "plan", job(s.slow, "plan"), "Parallelism")
	b.visit(t, "overview", base, "clicks by user", "index out of range", "is full", "because of a skewed key", "4 of 4 slots in use", "The start", "container of the master")
	checkStructure(t, b)
	b.phone(t, "phone", "is full")
	b.visit(t, "phone-job", job(s.slow, "graph"), "Where it is slow")
	b.phone(t, "phone-job", "Where it is slow")
}

func (s troubled) acts(t *testing.T) {
	b := open(t)
	door := b.door(t, s.User, s.id)
	b.visit(t, "flames", door+"#/jobs/"+s.slow+"/flames", "On the processor", "Waiting")
	b.clicks(t, button("Waiting"))
	b.shows(t, "flames", "main.compare")

	worker := s.Master(t, s.id).Workers(t)[0]
	b.visit(t, "workers", door+"#/workers", "Slots in use", "4 of 4", "Last heartbeat")
	b.visit(t, "worker", door+"#/workers/"+worker+"/logs/taskmanager.log", worker, "TaskExecutor")
	b.visit(t, "our-goroutines", door+"#/workers/"+worker+"/goroutines", "goroutines with", "time.Sleep")
	b.visit(t, "master", door+"#/master", "Memory")

	b.visit(t, "our-session-open", door+"#/session", "Programs", "clicks", "Jobs that go on")
	b.uploads(t, plain.Program(t, "grep"))
	b.shows(t, "our-uploaded", "The session has grep.")
	b.clicks(t, `button[aria-label="Run grep…"]`)
	b.types(t, `form[aria-label="Run grep"] input`, "page "+s.input+" "+s.input+"-found")
	b.clicks(t, button("Show the plan"))
	b.shows(t, "session", "The plan of")
	checkStructure(t, b)

	b.visit(t, "our-cancel", door+"#/session", "Jobs that go on")
	b.clicks(t, fmt.Sprintf(`button[aria-label^="Cancel "][aria-label*=%q]`, s.waiting[:8]))
	b.shows(t, "cancel", "Its tasks end, and its output is removed.")
	b.clicks(t, button("Cancel the job"))
	b.visit(t, "our-cancelled", door+"#/jobs/"+s.waiting, "canceled")
	b.visit(t, "our-stop", door+"#/session", "Stop the session…")
	b.clicks(t, button("Stop the session…"))
	b.shows(t, "our-stop-asked", "This cancels every job that goes on here")
	b.clicks(t, button("Stop the session"))
	b.says(t, "our-stopped", "The session stops.")
	if app := s.WaitEnded(t, s.id); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
}
