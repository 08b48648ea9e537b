package web

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/flink"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// dashboard serves the static files of Flink's dashboard, and passes other requests on to an ApplicationMaster as they are, with
// the token of its owner. It changes no answer.
func dashboard(t *testing.T, m *bobbintest.Master) string {
	t.Helper()
	static := flink.Dashboard(t)
	files := http.FileServerFS(static)
	tls, err := pki.RESTClientTLS(m.Access.Authority)
	if err != nil {
		t.Fatal(err)
	}
	way := &http.Transport{TLSClientConfig: tls}
	t.Cleanup(way.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{Transport: way, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "https", Host: m.Access.Address})
		r.Out.Header.Set("Authorization", "Bearer "+m.Access.Token)
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := strings.TrimPrefix(r.URL.Path, "/"); name == "" || exists(static, name) {
			w.Header().Set("Cache-Control", "max-age=3600") // reading a megabyte of scripts anew takes the browser seconds
			files.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func exists(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && !info.IsDir()
}

// page is a tab of a page, and a text that it shows.
type page struct{ tab, text string }

// opens opens an address of Flink's dashboard, waits until a component of the page, such as "job-exceptions", shows all these
// texts, and reports the faults that it has seen meanwhile. The page is loaded anew only from another site, or after a page with
// Flink's editor or its graph of a job, which fail if they are left too soon.
func (b *browser) opens(t *testing.T, name, address, component string, texts ...string) {
	t.Helper()
	if !evaluates[bool](t, b, fmt.Sprintf(`new URL(%q).origin === location.origin && !document.querySelector("nz-code-editor, flink-dagre")`, address)) {
		if err := chromedp.Do(b.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(address)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	} else if got := evaluates[string](t, b, fmt.Sprintf(`location.href = %q`, address)); got != address {
		t.Fatalf("%s: the browser is at %s", name, got)
	}
	b.contains(t, name, component, texts...)
}

// contains waits until a component of the page of Flink's dashboard is there and shows all these texts, and reports the faults.
func (b *browser) contains(t *testing.T, name, component string, texts ...string) {
	t.Helper()
	wait.Satisfied(t, fmt.Sprintf("%s of page %s shows %q", component, name, texts), func() error {
		shown, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector("flink-%s")?.innerText ?? "no component"`, component)))
		if err != nil {
			return fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
		}
		if shown == "no component" {
			return errors.New("it is not there")
		}
		shown = strings.ReplaceAll(shown, "\u00a0", " ") // in editors
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return fmt.Errorf("it has no %q, but\n%s", text, shown)
			}
		}
		return nil
	})
	b.shows(t, name)
}

// hits waits for an element of Flink's dashboard, and clicks on it wherever an animation has it.
func (b *browser) hits(t *testing.T, element string) {
	t.Helper()
	wait.Satisfied(t, "the page has "+element, func() error {
		found, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`(e => { e?.click(); return !!e })(document.evaluate(%q, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue)`, element)))
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
		case !found:
			return errors.New("it has not")
		}
		return nil
	})
}

// vertices returns the vertices of a job.
func vertices(t *testing.T, m *bobbintest.Master, job string) (ids, names []string) {
	t.Helper()
	var details struct{ Vertices []struct{ ID, Name string } }
	if err := m.Get(t.Context(), "/jobs/"+job, &details); err != nil || len(details.Vertices) == 0 {
		t.Fatalf("the job is %+v: %v", details, err)
	}
	for _, v := range details.Vertices {
		ids, names = append(ids, v.ID), append(names, strings.Fields(v.Name)[0])
	}
	return ids, names
}

// TestFlinksDashboardShowsOurJobs would catch an answer of REST that Flink's own pages cannot read, a path that they ask for and
// nobody answers, and a job, a vertex, an exception, a flame graph, a worker or a log that they do not show. And it would catch
// archives on HDFS that Flink's HistoryServer does not read, or in which an answer is missing that its pages ask for.
func TestFlinksDashboardShowsOurJobs(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	archives, dir := u.Scratch(t), u.Scratch(t)
	application := u.StartSession(t, slices.Concat([]string{"-jm", "256m", "-tm", "512m", "-s", "2"}, bobbintest.Option(config.ArchiveDir.Name(), "hdfs://"+archives),
		bobbintest.Option(config.RESTFlames.Name(), "true"), bobbintest.Option("restart-strategy.type", "none"))...)
	history := flink.StartHistoryServer(t, u, "hdfs://"+archives)
	u.Put(t, suite.Generate(t, "-size", "100k", "-files", "1"), dir+"/text")
	run := func(fails bool, args ...string) {
		t.Helper()
		if got := u.Run(t, append([]string{"run", "-t", "yarn-session", "-id", application}, args...)...); (got.Code != 0) != fails {
			t.Fatal(got)
		}
	}
	run(false, "-p", "1", suite.Program(t, "grep"), "a", dir+"/text", dir+"/sifted")
	run(true, "-p", "1", suite.Program(t, "faulty"), "task-panic", dir+"/text", dir+"/none")
	run(false, append([]string{"-d", "-p", "2"}, suite.SlowJob(t, u).Args...)...)
	master := u.Master(t, application)
	slow, failed, finished := listed(t, master, "dawdle"), listed(t, master, "faulty"), listed(t, master, "grep")

	b := open(t)
	t.Run("live", func(t *testing.T) {
		base := dashboard(t, master) + "/#"
		b.opens(t, "overview", base+"/overview", "overview", "Available Task Slots", "dawdle", "RUNNING", "faulty", "FAILED", "grep", "FINISHED")
		checkRunning(t, b, master, base, slow)
		checkFailed(t, b, base+"/job/completed/"+failed)
		checkProcesses(t, b, base, master.Workers(t)[0])
		b.opens(t, "job", base+"/job/running/"+slow+"/overview", "job-detail", "dawdle", "RUNNING")
		b.hits(t, `//a[normalize-space()="Cancel Job"]`)
		b.hits(t, `//button[normalize-space()="Yes"]`)
		history.Await(t, slow)   // the dashboard has cancelled the job
		b.goes(t, "about:blank") // before the proxy of the dashboard ends
	})
	t.Run("past", func(t *testing.T) {
		all := []string{finished, failed, slow}
		history.Await(t, all...)
		for _, job := range all {
			archive, err := u.Files(t).ReadFile(t.Context(), path.Join(archives, job), 16<<20)
			if err != nil {
				t.Fatal(err)
			}
			if compared := history.Check(t, archive); len(compared) < 20 {
				t.Errorf("the archive of %s has only %q", job, compared)
			}
		}
		checkPast(t, b, master, history.URL+"/#/job/completed", finished, failed, slow)
	})
}

// checkRunning looks at the pages of a job that runs.
func checkRunning(t *testing.T, b *browser, m *bobbintest.Master, base, job string) {
	t.Helper()
	ids, names := vertices(t, m, job)
	address := base + "/job/running/" + job
	b.opens(t, "job", address+"/overview", "job", append(names, "dawdle", "RUNNING", "Busy (max)")...)
	vertex := address + "/overview/" + ids[0]
	for _, page := range []page{
		{"subtasks", "RUNNING"}, // the first one: now there are workers, and metrics
		{"detail", "State"},
		{"taskmanagers", "RUNNING"},
		{"watermarks", "Watermark"},
		{"accumulators", "lines"}, // a counter of the program
		{"backpressure", "OK"},    // there is none
		{"flamegraph", "Mixed"},
	} {
		b.opens(t, "vertex-"+page.tab, vertex+"/"+page.tab, "job-overview-drawer-"+page.tab, page.text)
	}
	b.hits(t, `//label[normalize-space()="Mixed"]`) // the tasks sleep
	b.contains(t, "vertex-flames", "job-overview-drawer-flamegraph", "Measurement:", "main.gate", "time.Sleep")
	b.opens(t, "vertex-metrics", vertex+"/metrics", "job-overview-drawer-chart", "Add Metric")
	b.hits(t, `//flink-job-overview-drawer-chart//nz-select`)
	b.hits(t, `//nz-option-item[contains(normalize-space(), "0.")]`) // a metric of a subtask, of those that the master lists
	b.opens(t, "timeline", address+"/timeline", "job-timeline", "Vertex TimeLine")
	b.draws(t, "timeline")
	b.opens(t, "configuration", address+"/configuration", "job-configuration", "User Configuration", "execution.target")
	b.opens(t, "exceptions", address+"/exceptions", "job-exceptions", "No Root Exception")
}

// checkFailed looks at the exceptions of the job faulty, in the dashboard of a running application or in that of a HistoryServer.
func checkFailed(t *testing.T, b *browser, job string) {
	t.Helper()
	b.opens(t, "failed", job+"/overview", "job", "faulty", "FAILED")
	b.opens(t, "failed-exceptions", job+"/exceptions", "job-exceptions", "Root Exception", "a task has had enough", "main.misbehave")
	b.hits(t, `//*[@role="tab"][normalize-space()="Exception History"]`)
	b.contains(t, "failed-history", "job-exceptions", "Task Name", "Location", "misbehave", "panic")
}

// checkProcesses looks at the pages of the ApplicationMaster and of a worker.
func checkProcesses(t *testing.T, b *browser, base, worker string) {
	t.Helper()
	for _, page := range []struct{ tab, component, text string }{
		{"config", "job-manager-configuration", "jobmanager.memory.process.size"},
		{"metrics", "job-manager-metrics", "Heap"},
		{"log", "job-manager-log-list", "jobmanager.log"},
		{"logs", "job-manager-logs", "ApplicationMaster starts"},
		{"stdout", "job-manager-stdout", ""},
		{"thread-dump", "job-manager-thread-dump", "goroutine"},
	} {
		b.opens(t, "master-"+page.tab, base+"/job-manager/"+page.tab, page.component, page.text)
	}
	b.fetched(t, "/jobmanager/stdout")
	b.opens(t, "workers", base+"/task-manager", "task-manager-list", "Free Slots", worker)
	for _, page := range []page{
		{"metrics", "Heap"}, {"log-list", "taskmanager.log"}, {"logs", "TaskExecutor"}, {"stdout", ""}, {"thread-dump", "goroutine"},
	} {
		b.opens(t, "worker-"+page.tab, base+"/task-manager/"+worker+"/"+page.tab, "task-manager-"+page.tab, page.text)
	}
	b.fetched(t, "/taskmanagers/"+worker+"/stdout")
}

// fetched waits until the dashboard has an answer from a path. The output of our processes is empty, and so is the page of it.
func (b *browser) fetched(t *testing.T, path string) {
	t.Helper()
	wait.Until(t, "the dashboard has asked for "+path, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.answered[path]
	})
}

// checkPast looks at the pages of jobs that have ended, in the dashboard of Flink's HistoryServer.
func checkPast(t *testing.T, b *browser, m *bobbintest.Master, base, finished, failed, canceled string) {
	t.Helper()
	b.misses("/watermarks", "/subtasks/metrics?") // Flink archives neither, as its archive in historyserver/testdata shows
	defer b.misses()
	b.opens(t, "past", base, "job-list", "grep", "FINISHED", "faulty", "FAILED", "dawdle", "CANCELED")
	ids, names := vertices(t, m, finished)
	job := base + "/" + finished
	b.opens(t, "past-job", job+"/overview", "job", append(names, "grep", "FINISHED")...)
	for _, page := range []page{{"detail", "State"}, {"subtasks", "FINISHED"}, {"taskmanagers", "FINISHED"}, {"accumulators", "Accumulators"}} {
		b.opens(t, "past-vertex-"+page.tab, job+"/overview/"+ids[0]+"/"+page.tab, "job-overview-drawer-"+page.tab, page.text)
	}
	b.opens(t, "past-timeline", job+"/timeline", "job-timeline", "Vertex TimeLine")
	b.draws(t, "past-timeline")
	b.opens(t, "past-checkpoints", job+"/checkpoints", "job-checkpoints", "")
	b.opens(t, "past-configuration", job+"/configuration", "job-configuration", "User Configuration", "execution.target")
	b.opens(t, "past-cluster", job+"/cluster_configuration", "cluster-config", "jobmanager.memory.process.size")
	checkFailed(t, b, base+"/"+failed)
	b.opens(t, "past-canceled", base+"/"+canceled+"/overview", "job", "dawdle", "CANCELED")
}
