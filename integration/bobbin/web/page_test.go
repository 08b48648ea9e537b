package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
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
	checkStructure(t, b)
	b.visit(t, "our-master", base+"#/master", "Master", "Memory")
	checkStructure(t, b)
	checkKeyboard(t, b, base+"#/jobs/"+d.Job)

	// The browser stays on the page until the application has ended, and long after.
	b.visit(t, "our-overview-again", base, job.Name)
	b.keepsTo("") // while YARN's proxy leads away, the page asks the ResourceManager what is the matter
	evaluates[bool](t, b, `(() => {
		const look = () => { window.saidEnd ||= document.querySelector(".page-head .badge")?.innerText === "ended" }
		new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true})
		return true
	})()`)
	bobbintest.ProcessesIn(t, d.Application, bobbintest.ApplicationMaster)[0].Kill(t)
	b.says(t, "our-replaced", "attempt 2", "running", job.Name)
	if evaluates[bool](t, b, `window.saidEnd === true`) {
		t.Error("the page takes the replacement of the ApplicationMaster for the end of the application")
	}
	d.CheckSucceeds(t)
	b.says(t, "our-end", "The application has ended. It has succeeded.", job.Name)
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
