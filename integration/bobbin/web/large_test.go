package web

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	columns, rows = 10, 20
	navigations   = 5
	// polled is how long the page polls before its heap is measured.
	polled = 3 * time.Minute
	// mostHeap is the goal, in bytes.
	mostHeap = 60 << 20
)

// stopwatch notes in the page when it has drawn this many vertices. The time is since the navigation began, in ms.
const stopwatch = `new MutationObserver((_, o) => {
	if (document.querySelectorAll(".graph-plane [data-vertex]").length < %d) return
	o.disconnect()
	requestAnimationFrame(() => setTimeout(() => { window.drawnAfter = performance.now() }))
}).observe(document, { childList: true, subtree: true })`

// TestThePageDrawsAJobOf200Vertices would catch a page that fills the memory of a browser, or never draws the graph, when a job
// has 200 vertices and 2,000 subtasks that run. The job works little, so that the machine is not full of its work. The time of
// drawing is no check, because the machine may have other work: scripts/test prints it.
func TestThePageDrawsAJobOf200Vertices(t *testing.T) {
	cluster.Long(t) // and it fills a node
	u := suite.Newcomer(t)
	application := u.StartSession(t, "-jm", "768m", "-tm", "6g", "-s", "11")
	dir := u.Scratch(t)
	u.Put(t, suite.Generate(t, "-size", "10k", "-files", "1"), dir+"/text")
	got := u.Run(t, "run", "-d", "-t", "yarn-session", "-id", application, "-p", "10", suite.Program(t, "weave"), "-pause", "5s", fmt.Sprint(columns), fmt.Sprint(rows), dir+"/text", dir+"/woven")
	if got.Code != 0 {
		t.Fatal(got)
	}
	master := u.Master(t, application)
	var job struct {
		JID      string
		Vertices []struct{ Parallelism int }
	}
	if err := master.Get(t.Context(), "/jobs/"+listed(t, master, "weave"), &job); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "all tasks run", func() (bool, error) { return runs(t, master, job.JID) })
	subtasks := 0
	for _, v := range job.Vertices {
		subtasks += v.Parallelism
	}
	if len(job.Vertices) <= columns*rows || subtasks < 2000 {
		t.Fatalf("the job has %d vertices and %d subtasks", len(job.Vertices), subtasks)
	}

	b := open(t)
	base := "http://" + u.Cluster.RMWebAddress() + "/proxy/" + application + "/"
	b.keepsTo(base)
	if _, err := chromedp.Call(b.ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(stopwatch, len(job.Vertices))}); err != nil {
		t.Fatal(err)
	}
	address := base + "#/jobs/" + job.JID + "/graph"
	b.visit(t, "large", address, "weave") // the first one starts the browser
	times := make([]float64, navigations)
	for i := range times {
		b.visit(t, "large", address, "weave")
		wait.Until(t, "the graph is drawn", func() bool {
			times[i] = evaluates[float64](t, b, `window.drawnAfter ?? 0`)
			return times[i] > 0
		})
	}
	slices.Sort(times)
	b.during(t, master, job.JID)
	wait.Satisfied(t, "the page has polled long enough", func() error {
		if now := evaluates[float64](t, b, `performance.now()`); now < polled.Seconds()*1000 {
			return b.missing(fmt.Errorf("the page is %.0f s old", now/1000))
		}
		return b.has([]string{"weave", "running"})
	})
	for range 2 { // what the first collection releases may hold more
		if _, err := chromedp.Call(b.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	heap, err := chromedp.Call(b.ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if heap.UsedSize > mostHeap {
		t.Errorf("the page holds %.1f MiB after a collection, want %d MiB at most", heap.UsedSize/(1<<20), mostHeap>>20)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	drawn := func(i int) time.Duration {
		return time.Duration(times[i] * float64(time.Millisecond)).Round(time.Millisecond)
	}
	cluster.Figure(t, "The page draws a running job of %d vertices and %d subtasks in %v (median; %v to %v); its heap has %.1f MiB after %v of polling and a collection; load: %s.",
		len(job.Vertices), subtasks, drawn(navigations/2), drawn(0), drawn(navigations-1), heap.UsedSize/(1<<20), polled, strings.Fields(string(load))[0])
}

// runs reports whether all tasks of a job run. Those of the source that got no split have finished.
func runs(t *testing.T, m *bobbintest.Master, job string) (bool, error) {
	t.Helper()
	var now bobbintest.JobDetails
	if err := m.Get(t.Context(), "/jobs/"+job, &now); err != nil {
		return false, err
	}
	if now.State.GloballyTerminal() {
		return false, fmt.Errorf("the job is %s", now.State)
	}
	for _, v := range now.Vertices {
		if v.Tasks[msg.ExecutionRunning] == 0 || v.Tasks[msg.ExecutionRunning]+v.Tasks[msg.ExecutionFinished] < v.Parallelism {
			return false, nil
		}
	}
	return len(now.Vertices) > 0, nil
}
