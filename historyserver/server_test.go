package historyserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// idOf is the n-th job's id.
func idOf(n int) ids.JobID { return ids.JobID(fmt.Sprintf("%032x", n)) }

// archiveOf is an archive of a job with the answers, which are given as path and text in turns.
func archiveOf(job ids.JobID, state string, answers ...string) string {
	type archived struct {
		Path string `json:"path"`
		JSON string `json:"json"`
	}
	list := []archived{{overviewPath, fmt.Sprintf(`{"jobs":[{"jid":%q,"name":"word <count>","start-time":1,"end-time":2,"state":%q,"tasks":{"total":3},"pending-operators":0}]}`, job, state)}}
	for i := 0; i < len(answers); i += 2 {
		list = append(list, archived{answers[i], answers[i+1]})
	}
	text, err := json.Marshal(map[string]any{"archive": list})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// newTestServer makes a server of the directory /done with a local folder.
func newTestServer(t *testing.T, files filesystem.FileSystem, change func(*Config)) (*Server, *logtest.Hook) {
	t.Helper()
	logger, hook := logtest.NewNullLogger()
	c := Config{
		Files: files, Dirs: []string{"mem:///done"}, Interval: time.Minute, WebInterval: time.Second, Version: "1",
		Limits: Limits{Jobs: 100, Bytes: 1 << 20, Archive: 1 << 18},
	}
	if change != nil {
		change(&c)
	}
	s := New(c, logger)
	s.folder = t.TempDir()
	if err := s.makeLists(); err != nil {
		t.Fatal(err)
	}
	return s, hook
}

func ask(s *Server, path string) (int, string) {
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

// TestAnswersAreThoseOfTheArchive would catch an answer that is not that of the archive, a path that Flink's page needs, and
// a job whose archive speaks for another job.
func TestAnswersAreThoseOfTheArchive(t *testing.T) {
	t.Parallel()
	one, two := string(idOf(1)), string(idOf(2))
	files := dataflowtest.NewFiles(map[string]string{
		"/done/" + one: archiveOf(idOf(1), "FAILED", "/jobs/"+one, `{"jid":"1"}`, "/jobs/"+one+"/vertices/v/subtasks/0", `[0]`, "/jobs/"+two, `{"jid":"forged"}`, "/config", `{"forged":1}`),
		"/done/" + two: archiveOf(idOf(2), "FINISHED", "/jobs/"+two, `{"jid":"2"}`),
		"/done/." + string(idOf(3)) + ".1.running-0": archiveOf(idOf(3), "RUNNING", "/jobs/"+string(idOf(3)), `{"jid":"3"}`),
		"/done/readme": "no archive",
	})
	s, _ := newTestServer(t, files, func(c *Config) { c.WorkerLog = "https://logs/<jobid>/<tmid>" })
	s.refresh(t.Context())
	for path, want := range map[string]string{
		"/jobs/" + one: `{"jid":"1"}`,
		"/v1/jobs/" + one + "/vertices/v/subtasks/0": `[0]`,
		"/jobs/" + two:                               `{"jid":"2"}`,
		"/jobs/" + two + "/status":                   `{"status":"FINISHED"}`,
		"/jobs/" + string(idOf(3)):                   `{"jid":"3"}`,
		"/jobs/" + one + "/taskmanagers/c_1/log-url": `{"url":"https://logs/` + one + `/c_1"}`,
		"/jobs":     `{"jobs":[{"id":"` + one + `","status":"FAILED"},{"id":"` + two + `","status":"FINISHED"},{"id":"` + string(idOf(3)) + `","status":"RUNNING"}]}`,
		"/overview": `{"taskmanagers":0,"slots-total":0,"slots-available":0,"jobs-running":1,"jobs-finished":1,"jobs-cancelled":0,"jobs-failed":1,"flink-version":"1","flink-commit":""}`,
	} {
		if status, got := ask(s, path); status != http.StatusOK || got != want {
			t.Errorf("%s: %d %s, want %s", path, status, got, want)
		}
	}
	for _, path := range []string{"/jobs/" + string(idOf(4)), "/jobs/" + one + "/plan", "/jobs/" + one + "/jobmanager/log-url", "/jobs/overview/x", "/nowhere", "/jobs/../../etc/passwd", "/jobs/readme"} {
		if status, got := ask(s, path); status != http.StatusNotFound && status != http.StatusTemporaryRedirect && status != http.StatusMovedPermanently || strings.Contains(got, "forged") {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	for path, want := range map[string]int{"/jobs/" + one + "/taskmanagers/c_1/log": http.StatusFound, "/v1/jobs/" + one + "/taskmanagers/c_1/log": http.StatusFound, "/jobs/" + string(idOf(4)) + "/taskmanagers/c_1/log": http.StatusNotFound} {
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if at := w.Header().Get("Location"); w.Code != want || want == http.StatusFound && at != "https://logs/"+one+"/c_1" {
			t.Errorf("%s: %d to %q", path, w.Code, at)
		}
	}
	var list struct{ Jobs []map[string]any }
	if _, text := ask(s, "/jobs/overview"); json.Unmarshal([]byte(text), &list) != nil || len(list.Jobs) != 3 || list.Jobs[0]["pending-operators"] == nil {
		t.Errorf("the list of jobs is %v", list)
	}
	var board restapi.DashboardConfiguration
	if _, text := ask(s, "/config"); json.Unmarshal([]byte(text), &board) != nil || !board.Features.WebHistory || !board.Features.WebLogs || board.RefreshInterval != 1000 {
		t.Errorf("the configuration is %+v", board)
	}
	if status, page := ask(s, "/"); status != http.StatusOK || !strings.Contains(page, "page/page.js") {
		t.Errorf("the page, %d: %s", status, page)
	}
}

// TestThePageWithoutJavaScriptLeadsOn would catch a link of the page that leads nowhere here: an archive knows nothing of workers.
func TestThePageWithoutJavaScriptLeadsOn(t *testing.T) {
	t.Parallel()
	s, _ := newTestServer(t, dataflowtest.NewFiles(nil), nil)
	_, page := ask(s, "/")
	_, without, _ := strings.Cut(page, "<noscript>")
	links := regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(without, -1)
	if len(links) == 0 {
		t.Fatalf("the page is %s", page)
	}
	for _, link := range links {
		if status, body := ask(s, "/"+link[1]); status != http.StatusOK {
			t.Errorf("%s: status %d: %s", link[1], status, body)
		}
	}
}

// TestABrokenArchiveIsPassedOver would catch an archive that hides others, that is fetched again and again, or that is
// not shown when it is repaired; a log line in each refresh; and a server that takes an outage for a broken archive.
func TestABrokenArchiveIsPassedOver(t *testing.T) {
	t.Parallel()
	whole := archiveOf(idOf(1), "FINISHED")
	for name, text := range map[string]string{
		"empty": "", "cut off": whole[:len(whole)-3], "not JSON": "hello", "of another job": archiveOf(idOf(7), "FINISHED"), "no list": `{"archive":5}`,
		"no overview": `{"archive":[]}`, "an answer that is no JSON": archiveOf(idOf(1), "FINISHED", "/jobs/"+string(idOf(1)), "<script>"),
		"too large": whole + strings.Repeat(" ", 1<<18), "two jobs": `{"archive":[{"path":"/jobs/overview","json":"{\"jobs\":[{},{}]}"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dataflowtest.NewFiles(map[string]string{"/done/" + string(idOf(1)): text, "/done/" + string(idOf(2)): archiveOf(idOf(2), "FINISHED")})
			opened := 0
			var outage error
			s, hook := newTestServer(t, files.View(func(c dataflowtest.Call) error {
				if c.Op == "Open" && !c.Done && strings.HasSuffix(c.URI, string(idOf(1))) {
					opened++
				}
				if c.Op == "Read" {
					return outage
				}
				return nil
			}), nil)
			outage = errors.New("no DataNode")
			s.refresh(t.Context())
			outage, opened = nil, 0
			for range 3 {
				s.refresh(t.Context())
			}
			warned := 0
			for _, e := range hook.AllEntries() {
				if e.Level == logrus.WarnLevel && strings.HasPrefix(e.Message, "the archive is not shown") {
					warned++
				}
			}
			if warned != 1 || opened > 1 {
				t.Errorf("%d warnings, fetched %d times", warned, opened)
			}
			if status, _ := ask(s, "/jobs/"+string(idOf(2))+"/status"); status != http.StatusOK {
				t.Errorf("the other job: %d", status)
			}
			if status, _ := ask(s, "/jobs/"+string(idOf(1))+"/status"); status != http.StatusNotFound {
				t.Errorf("the broken one: %d", status)
			}
			files.Write("/done/"+string(idOf(1)), whole)
			s.refresh(t.Context())
			if status, _ := ask(s, "/jobs/"+string(idOf(1))+"/status"); status != http.StatusOK {
				t.Errorf("when it is repaired: %d", status)
			}
		})
	}
}

// TestAnOutageForgetsNothing would catch a server that shows no jobs while HDFS is away, or logs a line each ten seconds.
func TestAnOutageForgetsNothing(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/done/" + string(idOf(1)): archiveOf(idOf(1), "FINISHED")})
	var away error
	s, hook := newTestServer(t, files.View(func(dataflowtest.Call) error { return away }), func(c *Config) { c.Limits.Forget = true })
	s.refresh(t.Context())
	away = errors.New("HDFS is away")
	for range 3 {
		s.refresh(t.Context())
	}
	if status, _ := ask(s, "/jobs/"+string(idOf(1))+"/status"); status != http.StatusOK || len(hook.AllEntries()) != 1 {
		t.Errorf("status %d, %d log lines", status, len(hook.AllEntries()))
	}
	away = nil
	if err := files.Remove(t.Context(), "mem:///done/"+string(idOf(1))); err != nil {
		t.Fatal(err)
	}
	s.refresh(t.Context())
	if status, _ := ask(s, "/jobs/"+string(idOf(1))+"/status"); status != http.StatusNotFound {
		t.Errorf("its archive is removed: status %d", status)
	}
}

// TestARefusedArchiveIsTold would catch jobs that are missing without a line in the log, because HDFS or the local disk refuses
// their archives; a line at each refresh; and a memory of refused archives that grows with the directory.
func TestARefusedArchiveIsTold(t *testing.T) {
	t.Parallel()
	const all = 2 * mostRefused
	for name, refused := range map[string]string{"no right to read": "Open", "no right to remove": "Remove", "no local folder": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archives := make(map[string]string)
			for n := range all {
				archives["/done/"+string(idOf(n))] = archiveOf(idOf(n), "FINISHED")
			}
			files, cause := dataflowtest.NewFiles(archives), fs.ErrPermission
			s, hook := newTestServer(t, files.View(func(c dataflowtest.Call) error {
				if c.Op == refused {
					return cause
				}
				return nil
			}), func(c *Config) {
				c.Limits.Jobs = all
				if refused == "Remove" {
					c.Limits.Retained = all - mostRefused - 1
				}
			})
			if refused == "" {
				s.folder = filepath.Join(s.folder, "removed")
			}
			check := func(want, remembered int) {
				t.Helper()
				s.refresh(t.Context())
				warned := 0
				for _, e := range hook.AllEntries() {
					if e.Level == logrus.WarnLevel {
						warned++
					}
				}
				hook.Reset()
				if known := len(s.unread.known) + len(s.stay.known); warned != want || known != remembered {
					t.Errorf("%d warnings, and %d archives are remembered, want %d and %d", warned, known, want, remembered)
				}
			}
			check(mostRefused, mostRefused)
			check(0, mostRefused)
			if cause = errors.New("no NameNode"); refused != "" {
				check(mostRefused, mostRefused)
			}
			for name := range archives {
				if err := files.Remove(t.Context(), "mem://"+name); err != nil {
					t.Fatal(err)
				}
			}
			check(0, 0)
		})
	}
}

// TestTheServerServesAndEnds would catch a server that nobody reaches, or that leaves a goroutine, its folder, or that of a killed
// one.
func TestTheServerServesAndEnds(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/done/" + string(idOf(1)): archiveOf(idOf(1), "FINISHED", "/jobs/"+string(idOf(1)), `{"a":1}`)})
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, folderName+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, _ := newTestServer(t, files, func(c *Config) { c.TempDir, c.Interval = dir, time.Millisecond })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for status := 0; status != http.StatusOK; {
		response, err := client.Get("http://" + l.Addr().String() + "/jobs/" + string(idOf(1)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if status = response.StatusCode; status == http.StatusOK && string(body) != `{"a":1}` {
			t.Errorf("%s, error %v", body, err)
		}
		_ = response.Body.Close()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left, err := http.Dir(dir).Open("/"); err == nil {
		defer left.Close()
		if names, err := left.Readdir(0); err != nil || len(names) > 0 {
			t.Errorf("left are %v, error %v", names, err)
		}
	}
}
