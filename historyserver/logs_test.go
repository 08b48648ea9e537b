package historyserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// TestTheLogsOfAMasterAreAtYARNsLogServer would catch a link that Hadoop's log server refuses: its pages (HsWebApp, AHSWebApp) want
// /logs/NODE:PORT/CONTAINER/ENTITY/USER. It would also catch an archive that leads a browser elsewhere, or that has no container and
// gets a link all the same, and a pattern of the operator's that does not count.
func TestTheLogsOfAMasterAreAtYARNsLogServer(t *testing.T) {
	t.Parallel()
	const (
		id    = "container_e17_1700000000000_0007_02_000001"
		pages = "http://jhs:19888/jobhistory/logs"
		files = "http://jhs:19888/ws/v1/history"
		file  = files + "/containerlogs/" + id + "/jobmanager.log"
	)
	for name, c := range map[string]struct {
		environment          string
		pattern, pages, want string
		files                string
	}{
		"its page":             {`{"container":{"id":"` + id + `","node":"node5:45454","user":"alice"}}`, "", pages, pages + "/node5:45454/" + id + "/" + id + "/alice", files},
		"with a slash":         {`{"container":{"id":"` + id + `","node":"[fd00::5]:45454","user":"alice"}}`, "", pages + "/", pages + "/%5Bfd00::5%5D:45454/" + id + "/" + id + "/alice", ""},
		"only REST":            {`{"container":{"id":"` + id + `","node":"node5:45454","user":"alice"}}`, "", "", file, files},
		"the node is missing":  {`{"container":{"id":"` + id + `","user":"alice"}}`, "", pages, file, files},
		"a forged user":        {`{"container":{"id":"` + id + `","node":"node5:1","user":"a/../../../b?c#d"}}`, "", pages, pages + "/node5:1/" + id + "/" + id + "/a%2F..%2F..%2F..%2Fb%3Fc%23d", files},
		"a user that leads up": {`{"container":{"id":"` + id + `","node":"node5:1","user":".."}}`, "", pages, file, files},
		"a forged container":   {`{"container":{"id":"../../x","node":"node5:1","user":"alice"}}`, "", pages, "", files},
		"Flink's":              {`{"jvm":{"version":"11"},"classpath":[]}`, "", pages, "", files},
		"no JSON":              {`7`, "", pages, "", files},
		"a pattern":            {`{}`, "https://logs/<jobid>", pages, "https://logs/" + string(idOf(1)), files},
		"no log server":        {`{"container":{"id":"` + id + `","node":"node5:45454","user":"alice"}}`, "", "", "", ""},
	} {
		job := string(idOf(1))
		archive := dataflowtest.NewFiles(map[string]string{"/done/" + job: archiveOf(idOf(1), "FINISHED", "/jobs/"+job+"/jobmanager/environment", c.environment)})
		s, _ := newTestServer(t, archive, func(config *Config) { config.MasterLog, config.LogPages, config.LogFiles = c.pattern, c.pages, c.files })
		s.refresh(t.Context())
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/jobs/"+job+"/jobmanager/log", nil))
		status := http.StatusFound
		if c.want == "" {
			status = http.StatusNotFound
		}
		if at := w.Header().Get("Location"); w.Code != status || at != c.want {
			t.Errorf("%s: %d to %q, want %q", name, w.Code, at, c.want)
		}
	}
}
