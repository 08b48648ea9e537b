package web

import (
	"strings"
	"testing"

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
	}
	worker := d.Master.Workers(t)[0]
	b.visit(t, "our-workers", base+"#/workers", "Slots in use", "Last heartbeat")
	checkStructure(t, b)
	b.visit(t, "our-worker", base+"#/workers/"+worker, worker, "Memory")
	b.draws(t, "our-worker")
	checkStructure(t, b)
	b.visit(t, "our-master", base+"#/master", "Master", "Memory")
	checkStructure(t, b)
	checkKeyboard(t, b, base+"#/jobs/"+d.Job)
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
	b.during(t, nil, "")
	return b
}

// checkStructure would catch a control without a name for those who cannot see it, and a script or style that the page's own policy
// refuses.
func checkStructure(t *testing.T, b *browser) {
	t.Helper()
	nameless := evaluates[[]string](t, b, `[...document.querySelectorAll("a, button, input, select")]
		.filter(e => !(e.getAttribute("aria-label") || e.innerText?.trim() || e.labels?.length || e.title)).map(e => e.outerHTML)`)
	if len(nameless) > 0 {
		t.Errorf("these controls have no name: %q", nameless)
	}
	if styled := evaluates[[]string](t, b, `[...document.querySelectorAll("script:not([src]), style")].map(e => e.outerHTML)`); len(styled) > 0 {
		t.Errorf("the page has scripts or styles inline: %q", styled)
	}
}

// checkKeyboard would catch a page that needs a mouse: the first Tab reaches the link to the content, and Enter follows
// the links after it.
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
}
