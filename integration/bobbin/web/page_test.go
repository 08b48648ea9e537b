package web

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestThePageShowsARunningJob would catch a page that does not work below YARN's proxy, asks another host, breaks its own
// content security policy, or has a fault in its console; and a page that shows neither a job, how far it is, nor its
// application's end, or that does not come back by itself when YARN has replaced the ApplicationMaster.
func TestThePageShowsARunningJob(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	d := suite.Dawdle(t, u, "-p", "2")
	var job struct {
		Name     string
		Vertices []struct{ ID, Name string }
	}
	if err := d.Master.Get(t.Context(), "/jobs/"+d.Job, &job); err != nil || len(job.Vertices) == 0 {
		t.Fatalf("the job is %+v: %v", job, err)
	}
	b := open(t)
	b.during(t, d.Master, d.Job)
	base := "http://" + u.Cluster.RMWebAddress() + "/proxy/" + d.Application + "/"
	b.keepsTo(base)
	b.visit(t, "our-overview", base, job.Name, "running", "2 of 2 slots in use", "The start", "container of the master", d.Application, "Queue", "High availability")
	checkStructure(t, b)
	b.visit(t, "our-session", base+"#/session", "This page only looks here", "bobbin open "+d.Application)
	checkStructure(t, b)
	for _, tab := range []page{
		{"graph", "busy"}, {"subtasks", "Busy time"}, {"timeline", "count"}, {"exceptions", "Nothing has failed so far."}, {"configuration", "that the job was planned with"}, {"plan", "Parallelism"},
	} {
		b.visit(t, "our-job-"+tab.tab, base+"#/jobs/"+d.Job+"/"+tab.tab, job.Name, tab.text)
		checkStructure(t, b)
	}
	checkTimeline(t, b, base+"#/jobs/"+d.Job+"/timeline")
	worker := d.Master.Workers(t)[0]
	b.visit(t, "our-workers", base+"#/workers", "Slots in use", "Last heartbeat")
	checkStructure(t, b)
	b.visit(t, "our-worker", base+"#/workers/"+worker, worker, "Memory")
	b.draws(t, "our-worker")
	checkStructure(t, b)
	b.visit(t, "our-master", base+"#/master", "Master", "Memory")
	checkStructure(t, b)
	checkKeyboard(t, b, base+"#/jobs/"+d.Job)
	checkPolicy(t, b, base)
	behind := checkGateway(t, d, job.Name, worker)

	// The browser stays on the page until the application has ended, and long after.
	b.visit(t, "our-overview-again", base, job.Name)
	b.keepsTo("") // while YARN's proxy leads away, the page asks the ResourceManager what is the matter
	evaluates[bool](t, b, `(() => {
		const look = () => { window.saidEnd ||= document.querySelector(".page-head .badge")?.innerText === "ended" }
		new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true})
		return true
	})()`)
	b.during(t, nil, "")
	bobbintest.ProcessesIn(t, d.Application, bobbintest.ApplicationMaster)[0].Kill(t)
	b.says(t, "our-replaced", "attempt 2", "running", job.Name)
	if evaluates[bool](t, b, `window.saidEnd === true`) {
		t.Error("the page takes the replacement of the ApplicationMaster for the end of the application")
	}
	d.CheckSucceeds(t)
	const end = "The application has ended. It has succeeded."
	b.says(t, "our-end", end, job.Name)
	behind.says(t, "gateway-end", end, job.Name)
	behind.forgets() // while there was no master
	behind.faultless(t, "gateway-end")
}

// checkGateway would catch a page that asks outside of the prefix of a gateway such as Knox, and one that says nothing, or
// something wrong, while an answer has not come yet, did not come, or is about a job that is not there. It returns a browser that
// stays on the overview.
func checkGateway(t *testing.T, d *bobbintest.Dawdler, job, worker string) *browser {
	t.Helper()
	g, b := newGateway(t, d.User), open(t)
	b.keepsTo(g.URL)
	b.during(t, d.Master, d.Job)
	base := g.URL + "proxy/" + d.Application + "/"
	b.visit(t, "gateway-job", base+"#/jobs/"+d.Job+"/graph", job, "busy")
	b.visit(t, "gateway-log", base+"#/workers/"+worker+"/logs/taskmanager.log", "follow", "TaskExecutor")
	b.goes(t, base+"#/jobs/"+strings.Repeat("0", len(d.Job)))
	b.says(t, "gone", "There is nothing here about this job.", "The history server has its archive")
	b.forgets()

	const slots = "taskmanagers"
	g.hold(slots)
	b.goes(t, base)
	wait.Satisfied(t, "the page says that it asks", func() error {
		err := b.has([]string{job, "Asking for the workers…"})
		if err != nil && b.has([]string{"There was no answer in time."}) == nil {
			b.goes(t, base) // the test was late
		}
		return err
	})
	b.picture(t, "loading")
	g.fail(slots)
	g.release(slots)
	b.says(t, "error", "There is no answer for the workers.", "Something else answers at this address, with status 502.")
	b.forgets()
	g.mend(slots)
	b.clicks(t, button("Ask again"))
	b.shows(t, "gateway-overview", job, "2 of 2 slots in use")
	checkStale(t, b, g, slots, job)
	b.during(t, nil, "")
	return b
}

// checkStructure would catch a control or a drawing without a name for those who cannot see it, and a script or style that the
// page's own policy refuses.
func checkStructure(t *testing.T, b *browser) {
	t.Helper()
	nameless := evaluates[[]string](t, b, `[...document.querySelectorAll("a, button, input, select, textarea, [role=tree], [role=dialog], dialog")]
		.filter(e => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.innerText?.trim() || e.labels?.length || e.title)).map(e => e.outerHTML)`)
	if len(nameless) > 0 {
		t.Errorf("these controls have no name: %q", nameless)
	}
	if drawn := evaluates[[]string](t, b, `[...document.querySelectorAll("canvas")]
		.filter(e => !e.closest("[role=img][aria-label], [role=application][aria-label]")).map(e => e.parentElement.outerHTML)`); len(drawn) > 0 {
		t.Errorf("these drawings have no name: %q", drawn)
	}
	if styled := evaluates[[]string](t, b, `[...document.querySelectorAll("script:not([src]), style")].map(e => e.outerHTML)`); len(styled) > 0 {
		t.Errorf("the page has scripts or styles inline: %q", styled)
	}
}

// checkStale would catch a page that shows old facts as new ones, or drops them, while one answer or all do not come; and one that
// goes on to say so when they come again. The page is the overview, and a gateway is before it.
func checkStale(t *testing.T, b *browser, g *gateway, slots, job string) {
	t.Helper()
	const reason = "the workers are not known"
	g.refuse(slots, reason)
	b.says(t, "stale", "As of ", reason, "2 of 2 slots in use", job)
	if looks := evaluates[string](t, b, `(e => getComputedStyle(e).borderLeftStyle + " " + (getComputedStyle(e).backgroundColor !== getComputedStyle(e.parentElement).backgroundColor))(document.querySelector(".stale"))`); looks != "solid true" {
		t.Errorf("old facts look like new ones: border and colour of their own: %s", looks)
	}
	const overview = "overview" // also that of jobs
	g.fail(overview)
	b.says(t, "stale-all", "no answer since ", "As of ", "2 of 2 slots in use", job)
	g.mend(overview)
	g.mend(slots)
	wait.Satisfied(t, "the page has new facts", func() error {
		if old := evaluates[int](t, b, `document.querySelectorAll(".stale, .away").length`); old > 0 {
			return b.missing(fmt.Errorf("%d parts of it are old", old))
		}
		return b.has([]string{"as of ", "times in ", job})
	})
	b.forgets()
}

// checkTimeline would catch a time line that draws nothing, one that the keyboard does not reach, and one that tells other attempts,
// states or durations than the job has; and a start whose bars are not in one another's order, or without their durations.
func checkTimeline(t *testing.T, b *browser, address string) {
	t.Helper()
	b.visit(t, "our-timeline", address, "The start of the job", "Point at a row")
	b.draws(t, "our-timeline")
	evaluates[bool](t, b, `(document.querySelector(".timeline-box").focus(), true)`)
	b.presses(t, kb.ArrowDown)
	wait.Until(t, "the time line tells of the first vertex", func() bool {
		return !strings.Contains(evaluates[string](t, b, `document.querySelector(".timeline-words").innerText`), "Point at a row")
	})
	b.presses(t, kb.ArrowDown) // the first attempt, below its vertex
	told := wait.Answer(t, "the time line tells of an attempt", func() (string, error) {
		told, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector(".timeline-words").innerText`))
		if err == nil && !strings.Contains(told, "attempt 1") {
			err = b.missing(fmt.Errorf("it says %q", told))
		}
		return told, err
	})
	if !regexp.MustCompile(`, subtask 1 of 2, attempt 1: (running|finished)\. \S+ container_\S+\. From \+.*: waiting .*running \d+(\.\d+)? (ms|s|min)`).MatchString(told) {
		t.Errorf("the time line tells of the first attempt: %q", told)
	}
	bars := evaluates[[]struct {
		Left, Right float64
		Time        string
	}](t, b, `[...document.querySelectorAll(".steps li:not(.steps-pause)")].map(li => {
		const lane = li.querySelector(".steps-lane").getBoundingClientRect(), bar = li.querySelector(".steps-bar").getBoundingClientRect()
		return { left: (bar.left - lane.left) / lane.width, right: (bar.right - lane.left) / lane.width, time: li.querySelector(".steps-time").innerText }
	})`)
	if len(bars) < 2 {
		t.Errorf("the start has the bars %+v", bars)
	}
	for i, bar := range bars {
		if bar.Left < -0.01 || bar.Right > 1.01 || bar.Right <= bar.Left || i > 0 && bar.Left < bars[i-1].Left-0.01 || !regexp.MustCompile(`^\d+(\.\d+)? (ms|s|min)`).MatchString(bar.Time) {
			t.Errorf("bar %d of the start is %+v, in %+v", i, bar, bars)
		}
	}
}

// checkPolicy would catch a content security policy that lets the page run, show, send or load more than its own files; one that
// refuses what the page needs is a fault in the console of each visit.
func checkPolicy(t *testing.T, b *browser, address string) {
	t.Helper()
	b.visit(t, "our-policy", address, "The start")
	b.keepsTo("") // the browser notes a request before it refuses it
	evaluates[bool](t, b, `(() => {
		window.refused = new Set()
		document.addEventListener("securitypolicyviolation", e => window.refused.add(e.effectiveDirective))
		const put = (name, set) => document.body.appendChild(Object.assign(document.createElement(name), set))
		const there = "http://127.0.0.9/there"
		put("script", { text: "window.ran = true" })
		put("style", { textContent: "body { color: red }" })
		put("img", { src: there })
		put("iframe", { src: there })
		put("object", { data: there })
		put("video", { src: there })
		put("base", { href: there })
		fetch(there).catch(() => {})
		new FontFace("there", "url(" + there + ")").load().catch(() => {})
		put("form", { action: there, method: "post" }).submit()
		return true
	})()`)
	want := []string{"base-uri", "connect-src", "font-src", "form-action", "frame-src", "img-src", "media-src", "object-src", "script-src-elem", "style-src-elem"}
	wait.Satisfied(t, "the policy refuses all that is not the page's own", func() error {
		refused, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`[...window.refused].sort()`))
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
		case !slices.Equal(refused, want):
			return b.missing(fmt.Errorf("it refuses %q, want %q", refused, want))
		}
		return nil
	})
	if evaluates[bool](t, b, `window.ran === true`) {
		t.Error("the page runs a script inline")
	}
	b.goes(t, "about:blank") // what was refused is noted until here
	b.forgets()
	b.keepsTo(address)
}

// checkKeyboard would catch a page that needs a mouse: the first Tab reaches the link to the content, and Enter follows
// the links after it; in the graph, arrow keys go from vertex to vertex, and Enter opens the details of one, which give the focus
// back.
func checkKeyboard(t *testing.T, b *browser, job string) {
	t.Helper()
	b.visit(t, "our-keyboard", job, "running")
	b.presses(t, kb.Tab)
	if first := evaluates[string](t, b, `document.activeElement.innerText`); first != "To the content" {
		t.Errorf("the first Tab reaches %q", first)
	}
	b.presses(t, kb.Tab)
	b.presses(t, kb.Tab) // the name of the program, and then the overview
	b.presses(t, kb.Enter)
	b.shows(t, "our-keyboard-overview", "Slots and workers")
	if at := evaluates[string](t, b, `location.hash`); strings.Contains(at, "jobs") {
		t.Errorf("Enter on the link to the overview leads to %s", at)
	}

	b.visit(t, "our-keyboard-graph", job, "running", "busy")
	const focused = `document.activeElement.dataset.vertex ?? ""`
	b.offersNow(t, "[data-vertex]")
	first := evaluates[string](t, b, `(document.querySelector("[data-vertex]").focus(), `+focused+`)`)
	b.presses(t, kb.ArrowRight)
	second := evaluates[string](t, b, focused)
	if second == "" || second == first {
		t.Errorf("the arrow key goes from vertex %q to %q", first, second)
	}
	b.presses(t, kb.Enter)
	b.shows(t, "our-keyboard-vertex", "Out, in all")
	if at := evaluates[string](t, b, `location.hash`); !strings.HasSuffix(at, "/"+second) {
		t.Errorf("Enter on vertex %s leads to %s", second, at)
	}
	evaluates[bool](t, b, `(document.querySelector("[aria-label='Close the details']").focus(), true)`)
	b.presses(t, kb.Enter)
	wait.Until(t, "the details are closed, and the focus is at their vertex", func() bool {
		return evaluates[string](t, b, `document.querySelector(".graph-side") ? "" : `+focused) == second
	})
}
