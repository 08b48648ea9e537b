package web

import (
	"archive/zip"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// dashboard serves the static files of Flink's dashboard, and passes other requests on to an ApplicationMaster.
func dashboard(t *testing.T, m *bobbintest.Master) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../../../scripts/flink").Output()
	if err != nil {
		t.Fatalf("fetch Flink: %v", err)
	}
	jars, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "lib", "flink-dist-*.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatalf("flink-dist: %v, %v", jars, err)
	}
	jar, err := zip.OpenReader(jars[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = jar.Close() })
	static, err := fs.Sub(jar, "web")
	if err != nil {
		t.Fatal(err)
	}
	files := http.FileServerFS(static)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := strings.TrimPrefix(r.URL.Path, "/"); name == "" || exists(static, name) {
			files.ServeHTTP(w, r)
			return
		}
		answer, err := m.Ask(r.Context(), r.Method, r.URL.RequestURI(), nil, r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		if strings.HasPrefix(strings.TrimSpace(answer.Body), "{") || strings.HasPrefix(strings.TrimSpace(answer.Body), "[") {
			w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		}
		w.WriteHeader(answer.Status)
		_, _ = w.Write([]byte(answer.Body)) // the browser reports an answer that breaks off
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func exists(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && !info.IsDir()
}

// page is a tab of the dashboard, and a text that it shows.
type page struct{ tab, text string }

// TestFlinksDashboardShowsOurJob would catch an answer of REST that Flink's own pages cannot read, a path that they ask for and
// nobody answers, and a job, a vertex, a worker or a log that they do not show.
func TestFlinksDashboardShowsOurJob(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	d := suite.Dawdle(t, u, "-p", "2")
	var jobs struct{ Jobs []struct{ JID string } }
	if err := d.Master.Get(t.Context(), "/jobs/overview", &jobs); err != nil || len(jobs.Jobs) != 1 {
		t.Fatalf("jobs are %+v: %v", jobs, err)
	}
	var details struct {
		Name     string
		Vertices []struct{ ID, Name string }
	}
	if err := d.Master.Get(t.Context(), "/jobs/"+jobs.Jobs[0].JID, &details); err != nil || len(details.Vertices) == 0 {
		t.Fatalf("the job is %+v: %v", details, err)
	}
	base := dashboard(t, d.Master) + "/#"
	b := open(t)
	b.visit(t, "overview", base+"/overview", "Available Task Slots", details.Name, "RUNNING")
	job := base + "/job/running/" + jobs.Jobs[0].JID
	var names []string
	for _, v := range details.Vertices {
		names = append(names, strings.Fields(v.Name)[0])
	}
	b.visit(t, "job", job+"/overview", append(names, details.Name, "RUNNING", "Busy (max)")...)
	vertex := job + "/overview/" + details.Vertices[0].ID
	for _, page := range []page{
		{"detail", "Status"},
		{"subtasks", "Records Received"},
		{"taskmanagers", "RUNNING"},
		{"watermarks", "Watermarks"},
		{"accumulators", "Accumulators"},
		{"backpressure", "Back Pressure Status:"},
		{"metrics", "Metrics"},
	} {
		b.visit(t, "vertex-"+page.tab, vertex+"/"+page.tab, "Busy (max)", page.text)
	}
	b.visit(t, "timeline", job+"/timeline", "Vertex TimeLine")
	b.draws(t, "timeline")
	b.visit(t, "exceptions", job+"/exceptions", "Root Exception")
	b.visit(t, "configuration", job+"/configuration", "User Configuration", "execution.target")
	for _, page := range []page{
		{"config", "jobmanager.memory.process.size"},
		{"metrics", "Metrics"},
		{"logs", "ApplicationMaster starts"},
		{"stdout", "Stdout"},
		{"log", "jobmanager.log"},
		{"thread-dump", "goroutine"},
	} {
		b.visit(t, "master-"+page.tab, base+"/job-manager/"+page.tab, page.text)
	}
	worker := d.Master.Workers(t)[0]
	b.visit(t, "workers", base+"/task-manager", "Free Slots", worker)
	for _, page := range []page{
		{"metrics", "Free/All Slots"}, {"logs", "TaskExecutor"}, {"stdout", "Stdout"}, {"log-list", "taskmanager.log"}, {"thread-dump", "goroutine"},
	} {
		b.visit(t, "worker-"+page.tab, base+"/task-manager/"+worker+"/"+page.tab, page.text)
	}
	d.Release(t)
	d.CheckSucceeds(t)
}
