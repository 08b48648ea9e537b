package rest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// profiled is a server with the option on, and its processes.
func profiled(t *testing.T) (*Server, *fakeProcesses) {
	t.Helper()
	s := newServer(&fakeGateway{})
	options, err := testOptions().With(config.Layer{Source: "test", Values: map[string]string{
		config.RESTProfiling.Name(): "true", config.RESTProfilingMax.Name(): "1 min", config.RESTProfilingHistory.Name(): "3",
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := &fakeProcesses{content: "profile"}
	s.config.Options, s.config.Processes = options, p
	s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Modify: ParseACL("carol"), Enforced: true}
	return s, p
}

// TestProfilesAreForThoseWhoMayChange would catch a profile that a viewer takes or reads, one that comes through the
// proxy, where other applications' pages could read it, and a cluster on which the option is off.
func TestProfilesAreForThoseWhoMayChange(t *testing.T) {
	t.Parallel()
	s, _ := profiled(t)
	off, _ := profiled(t)
	off.config.Options = testOptions()
	for _, test := range []struct {
		server *Server
		caller caller
		want   int
	}{
		{s, caller{token: true}, http.StatusOK},
		{s, caller{name: "carol"}, http.StatusOK},
		{s, caller{name: "bob"}, http.StatusForbidden},
		{s, caller{name: "carol", proxied: true}, http.StatusForbidden},
		{s, caller{name: "alice", proxied: true}, http.StatusForbidden},
		{off, caller{token: true}, http.StatusNotFound},
	} {
		h := test.server.behind(func(http.Header, *http.Request) (caller, error) { return test.caller, nil })
		for _, path := range []string{"/jobmanager/profiler", "/taskmanagers/" + workerID + "/profiler"} {
			for _, request := range []string{"GET " + path, "GET " + path + "/x.pprof", "POST " + path} {
				method, path, _ := strings.Cut(request, " ")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(`{"mode": "CPU", "duration": 1}`)))
				if w.Code != test.want {
					t.Errorf("%s by %+v: status %d, want %d: %s", request, test.caller, w.Code, test.want, w.Body)
				}
			}
		}
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/jobmanager/profiler/x.pprof", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	s.Unguarded().ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("a page of another site gets status %d", w.Code)
	}
}

// TestProfilesAreBounded would catch a profile that takes longer than the cluster allows, a host that is ignored, and
// a file that a browser would show in place of saving it.
func TestProfilesAreBounded(t *testing.T) {
	t.Parallel()
	s, p := profiled(t)
	post := func(path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.Unguarded().ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
		return w
	}
	for _, body := range []string{"", `{"mode": "CPU", "duration": 0}`, `{"mode": "CPU", "duration": 61}`, `{"mode": "CPU", "duration": 99999999999}`, `{"mode": "CPU", "duration": -1}`} {
		if w := post("/jobmanager/profiler", body); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", body, w.Code, w.Body)
		}
	}
	if len(p.asked) > 0 {
		t.Errorf("asked: %q", p.asked)
	}
	path := "/taskmanagers/" + workerID + "/profiler"
	if w := post(path+"?host="+workerID+"-1", `{"mode": "alloc", "duration": 60}`); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"finishedTime":null,"duration":60,"message":null`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	want := workerID + " " + workerID + "-1 new profile  {Offset:0 Length:0 ID:0} {Mode:ALLOC Duration:1m0s Keep:3}"
	if !slices.Equal(p.asked, []string{want}) {
		t.Errorf("asked: %q, want %q", p.asked, want)
	}
	w := httptest.NewRecorder()
	s.Unguarded().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path+"/x%22y.pprof", nil))
	if w.Body.String() != "profile" || w.Header().Get("Content-Disposition") != `attachment; filename="x\"y.pprof"` {
		t.Errorf("header %v: %s", w.Header(), w.Body)
	}
}

// TestLogURLs would catch a link that leads the browser of a user of YARN's proxy to a door that refuses him.
func TestLogURLs(t *testing.T) {
	t.Parallel()
	s := newServer(&fakeGateway{})
	for _, test := range []struct {
		caller     caller
		path, want string
	}{
		{caller{token: true}, "/jobs/x/jobmanager/log-url", "https://example.com/jobmanager/log"},
		{caller{token: true}, "/jobs/x/taskmanagers/a%2Fb/log-url", "https://example.com/taskmanagers/a%2Fb/log"},
		{caller{proxied: true}, "/v1/jobs/x/jobmanager/log-url", "/proxy/application_1_0001/jobmanager/log"},
		{caller{proxied: true}, "/jobs/x/taskmanagers/w1/log-url", "/proxy/application_1_0001/taskmanagers/w1/log"},
	} {
		w := httptest.NewRecorder()
		h := s.behind(func(http.Header, *http.Request) (caller, error) { return test.caller, nil })
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, test.path, nil))
		if want := `{"url":"` + test.want + `"}` + "\n"; w.Body.String() != want {
			t.Errorf("%s: %s, want %s", test.path, w.Body, want)
		}
	}
}
