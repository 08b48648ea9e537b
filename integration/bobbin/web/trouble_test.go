package web

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// troubled is a session in a full queue with a job that has failed, one that is slow because of a skewed key, and one that waits.
type troubled struct {
	*bobbintest.User
	id                    string // of the application
	input                 string
	failed, slow, waiting string // jobs
}

// users are those who have the other clicks.
const users = 8

// hot is the subtask of user-0.
const hot = "subtask 2 of 4"

// lines is how many clicks a file has. The slow job takes each of them 4 times, and waits a second for some 250. So it goes on
// for hours, however fast the machine is, and a test cancels it.
const lines = 100_000

// trouble starts the session and its jobs.
func trouble(t *testing.T) troubled {
	t.Helper()
	s := troubled{User: suite.Newcomer(t).With("TMPDIR=" + t.TempDir())}
	s.id = s.StartSession(t, "-qu", clusters.Full, "-jm", "384m", "-tm", "768m", "-s", "4",
		"-D", "rest.flamegraph.enabled=true", "-D", "rest.profiling.enabled=true", "-D", "rest.flamegraph.refresh-interval=5s", "-D", "slot.request.timeout=1h",
		"-D", "restart-strategy.type=fixed-delay", "-D", "restart-strategy.fixed-delay.attempts=2", "-D", "restart-strategy.fixed-delay.delay=100ms")
	text, dir := t.TempDir(), s.Scratch(t)
	for i := range 8 {
		var clicks strings.Builder
		for n := range lines {
			user := 0 // who has three of four clicks
			if n%4 == 0 {
				user = 1 + n/4%users
			}
			fmt.Fprintf(&clicks, "user-%d /pages/%d\n", user, n%997)
		}
		if err := os.WriteFile(filepath.Join(text, fmt.Sprintf("clicks-%d.txt", i)), []byte(clicks.String()), 0o600); err != nil {
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
		got := s.Run(t, append(args, suite.Program(t, "clicks"), flag, value, s.input, dir+"/"+output)...)
		if (got.Code != 0) != failure {
			t.Fatal(got)
		}
		return got.JSON(t).Job
	}
	s.failed = run("none", "-panic", "200", true)
	s.slow = run("first", "-times", "4", false)
	s.waiting = run("second", "-times", "4", false)
	s.Master(t, s.id).WaitingOf(t, s.waiting, msg.QueueFull)
	return s
}

// TestThePageNamesTheTrouble would catch a page that does not say at once why a job has failed, waits or is slow, and one that
// cannot be used for a change: with a link of `bobbin open`, a person looks at flame graphs and slots, cancels jobs, follows a log,
// uploads a program, looks at its plan, runs it, and stops the session. The pictures of docs/web.md are made here: CONTRIBUTING.md has the command.
func TestThePageNamesTheTrouble(t *testing.T) {
	t.Parallel()
	s := trouble(t)
	t.Run("through the proxy", s.looks)
	t.Run("through the link", s.acts)
}

func (s troubled) looks(t *testing.T) {
	b := open(t)
	b.during(t, s.Master(t, s.id), s.slow)
	base := "http://" + s.Cluster.RMWebAddress() + "/proxy/" + s.id + "/"
	b.keepsTo(base)
	job := func(id, tab string) string { return base + "#/jobs/" + id + "/" + tab }

	b.visit(t, "failed", job(s.failed, "graph"), "Why it failed", "index out of range", "main.amountOf", "clicks/main.go:", "the line at byte ", "It had restarted 2 times")
	b.visit(t, "exceptions", job(s.failed, "exceptions"), "Root cause", "main.amountOf", "parse clicks", "3 failures, the newest first")
	b.visit(t, "waiting", job(s.waiting, "graph"), "Why it waits, since", "YARN's queue root."+clusters.Full+" is full", "768 MB", "To help: cancel another job of this application (clicks by user "+s.slow[:8]+" has 4 slots), or end", "It needs 4 slots and has 0.", "Slots are held by clicks by user "+s.slow[:8]+" (4)")
	b.visit(t, "slow", job(s.slow, "graph"), "Where it is slow", "Slow at “clicks of each user", "because of a skewed key: "+hot+" is now busy", "is back-pressured by it",
		"Skewed key: "+hot+" read ", "of all bytes since the start", "All records of a key go to one subtask")
	if skewed := evaluates[[]string](t, b, `[...document.querySelectorAll("[data-vertex]")].filter((card) => card.innerText.includes("Skewed")).map((card) => card.innerText)`); len(skewed) != 1 || !strings.Contains(skewed[0], "clicks of each user") || !strings.Contains(skewed[0], hot) {
		t.Errorf("the graph says that these are skewed: %q", skewed)
	}
	wait.Until(t, "the vertices have the colours of what they do, and the edge what went over it", func() bool {
		return evaluates[bool](t, b, `document.querySelector("[data-vertex].card-busy") && document.querySelector("[data-vertex].card-pressed") && [...document.querySelectorAll(".graph-label")].some((label) => /[1-9].* rec · [1-9].*B in all/.test(label.textContent)) || false`)
	})
	b.dark(t, true)
	b.shows(t, "slow-dark", "Where it is slow")
	b.dark(t, false)
	b.visit(t, "subtasks", job(s.slow, "subtasks"), "Skewed key: "+hot+" read ", "times the median", "All records of a key go to one subtask", "Busy time")
	b.visit(t, "timeline", job(s.slow, "timeline"), "parse clicks")
	b.visit(t, "counters", job(s.slow, "counters"), "odd lines")
	b.visit(t, "configuration", job(s.slow, "configuration"), "restart-strategy.fixed-delay.attempts")
	b.visit(t, "plan", job(s.slow, "plan"), "Parallelism")
	b.visit(t, "overview", base, "clicks by user", "index out of range", "is full", "because of a skewed key", "4 of 4 slots in use", "The start", "container of the master")
	checkStructure(t, b)
	b.phone(t, "phone", "is full")
	b.visit(t, "phone-job", job(s.slow, "graph"), "Where it is slow")
	b.phone(t, "phone-job", "Where it is slow")
	for _, at := range []struct{ name, address, text string }{
		{"subtasks", job(s.slow, "subtasks"), "times the median"},
		{"timeline", job(s.slow, "timeline"), "parse clicks"},
		{"exceptions", job(s.failed, "exceptions"), "Root cause"},
		{"workers", base + "#/workers", "Last heartbeat"},
		{"worker", base + "#/workers/" + s.Master(t, s.id).Workers(t)[0], "Memory of the container"},
		{"master", base + "#/master", "Memory"},
	} {
		b.visit(t, "phone-"+at.name, at.address, at.text)
		b.phone(t, "phone-"+at.name, at.text)
	}
}

func (s troubled) acts(t *testing.T) {
	b, master := open(t), s.Master(t, s.id)
	b.during(t, master, s.slow)
	door := b.door(t, s.User, s.id)
	b.visit(t, "flames", door+"#/jobs/"+s.slow+"/flames", "On the processor", "Waiting")
	b.clicks(t, button("Waiting"))
	b.shows(t, "flames", "main.compare")

	worker := master.Workers(t)[0]
	at := door + "#/workers/" + worker
	b.visit(t, "workers", door+"#/workers", "Slots in use", "4 of 4", "Last heartbeat")
	b.visit(t, "worker", at+"/logs/taskmanager.log", worker, "TaskExecutor")
	b.visit(t, "our-slots", at+"/slots", "4 of 4 slots in use", "clicks by user", "job "+s.slow[:8], "network buffers")
	b.visit(t, "our-hosts", at+"/hosts", "clicks by user", "4 of its slots are here")
	b.visit(t, "our-worker", at, worker, "Memory of the container")
	b.draws(t, "our-worker")
	b.flames(t, "our-host-heap", at, "Heap", aHost, "main.Args.parse")
	b.holds(t, "our-host-heap")
	b.flames(t, "our-worker-heap", at, "Heap", theWorker, "runtime.")
	b.visit(t, "our-goroutines", at+"/goroutines", "goroutines with")
	b.seeks(t, "our-goroutines", button("Look again"), "time.Sleep") // while it joins: most of the time, and not at each moment
	b.visit(t, "our-stdout", at+"/stdout", "Standard output")
	b.visit(t, "master", door+"#/master", "Memory")
	b.draws(t, "master")
	b.visit(t, "our-services", door+"#/master/services", "NodeManagers: starts and stops of containers")
	b.visit(t, "our-options", door+"#/master/configuration", "Options in force", "rest.flamegraph.enabled")
	b.visit(t, "our-blocklist", door+"#/master/blocklist", "Blocked nodes")
	b.visit(t, "our-master-stdout", door+"#/master/stdout", "Standard output")
	b.visit(t, "our-master-goroutines", door+"#/master/goroutines", "goroutines with")
	b.visit(t, "our-master-heap", door+"#/master/flames", "Processor time")
	b.clicks(t, button("Heap"))
	b.shows(t, "our-master-heap", "sampled at", "of all;")

	b.visit(t, "our-cancel", door+"#/session", "Jobs that go on")
	opener := fmt.Sprintf(`button[aria-label^="Cancel "][aria-label*=%q]`, s.waiting[:8])
	b.seeks(t, "cancel", opener, "Its tasks end, and its output is removed.") // again if the button moved
	checkStructure(t, b)
	b.presses(t, kb.Escape) // from here on without a mouse
	wait.Until(t, "Escape closes the dialog, and the focus is where it was", func() bool {
		return evaluates[bool](t, b, fmt.Sprintf(`!document.querySelector("dialog") && document.activeElement.matches(%q)`, opener))
	})
	wait.Until(t, "Enter opens the dialog again", func() bool { // the key is lost if the page draws the button anew at this moment
		if evaluates[bool](t, b, `!!document.querySelector("dialog")`) {
			return true
		}
		b.presses(t, kb.Enter)
		return false
	})
	b.shows(t, "cancel-again", "Its tasks end, and its output is removed.")
	b.presses(t, kb.Tab)
	if on := evaluates[string](t, b, `document.activeElement.innerText`); on != "Cancel the job" {
		t.Errorf("Tab in the dialog leads to %q", on)
	}
	b.presses(t, kb.Enter)
	b.visit(t, "our-cancelled", door+"#/jobs/"+s.waiting, "canceled")
	s.follows(t, b, door)

	b.visit(t, "our-session-open", door+"#/session", "Programs", "clicks", "Jobs that go on")
	b.uploads(t, suite.Program(t, "dawdle"))
	b.shows(t, "our-uploaded", "The session has dawdle.")
	s.runs(t, b)

	b.visit(t, "our-stop", door+"#/session", "Stop the session…")
	b.seeks(t, "our-stop-asked", button("Stop the session…"), "This cancels every job that goes on here") // again if the button moved: jobs end meanwhile
	b.clicks(t, button("Stop the session"))
	b.says(t, "our-stopped", "The session stops.")
	if app := s.WaitEnded(t, s.id); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
}

// follows looks at the log of the master while somebody else cancels the slow job.
func (s troubled) follows(t *testing.T, b *browser, door string) {
	t.Helper()
	b.visit(t, "our-log", door+"#/master/logs/jobmanager.log", "follow")
	b.types(t, `input[type=search]`, "job has ended")
	b.shows(t, "our-log-found", "2 lines", s.waiting) // and the failed one
	b.during(t, nil, "")
	if got := s.Run(t, "cancel", "-id", s.id, s.slow); got.Code != 0 {
		t.Fatal(got)
	}
	b.shows(t, "our-log-followed", "3 lines", s.slow)
	if marked := evaluates[int](t, b, `document.querySelectorAll(".text mark").length`); marked < 3 {
		t.Errorf("the page marks the text that was found in %d lines of 3", marked)
	}
}

// runs runs a program that was uploaded, and sees its job until it ends.
func (s troubled) runs(t *testing.T, b *browser) {
	t.Helper()
	gate := filepath.Join(t.TempDir(), "gate")
	b.clicks(t, `button[aria-label="Run dawdle…"]`)
	b.types(t, `form[aria-label="Run dawdle"] input`, gate+" "+s.input+"-counted "+s.input)
	b.clicks(t, button("Show the plan"))
	b.shows(t, "session", "The plan of “dawdle”", "gate")
	checkStructure(t, b)
	b.clicks(t, button("Run"))
	b.shows(t, "our-run", "dawdle", "running", "gate", "Flame graph") // the page of its job
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the page says that the job is finished", func() bool { // and not that its tasks are
		return evaluates[string](t, b, `document.querySelector(".page-head .badge")?.innerText ?? ""`) == "finished"
	})
	b.shows(t, "our-run-end", "dawdle", "finished", "Flame graph")
	if names := s.Names(t, s.input+"-counted"); !slices.Contains(names, "_SUCCESS") {
		t.Errorf("the output has %q", names)
	}
}
