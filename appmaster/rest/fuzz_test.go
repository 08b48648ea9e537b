package rest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// FuzzRequest sends what any program on the network can send to both doors. It would catch a request that
// changes the cluster or waits for long without the right to, a request that crashes a handler, and a
// refusal without a reason.
func FuzzRequest(f *testing.F) {
	for _, r := range []string{
		"GET /jobs/" + string(runningID) + "/result?wait=10s HTTP/1.1\r\nHost: am\r\nAuthorization: Bearer " + token + "\r\n\r\n",
		"GET /jobs/" + string(failedID) + "/collect/words?cursor=41&wait=9223372036s HTTP/1.1\r\nHost: am\r\n\r\n",
		"PATCH /v1/jobs/" + string(runningID) + "?mode=cancel HTTP/1.1\r\nHost: am\r\nAuthorization: bearer " + token + "\r\n\r\n",
		"PUT /jobs/" + string(runningID) + " HTTP/1.1\r\nHost: am\r\nCookie: proxy-user=alice\r\nOrigin: http://rm:8088\r\n\r\n",
		"GET /config HTTP/1.1\r\nHost: am\r\nAuthorization: ClientToAM token=CgA, proof=AA\r\n\r\n",
		"GET /jobs/" + string(runningID) + "/yarn-cancel HTTP/1.1\r\nHost: am\r\nContent-Type: application/json\r\nCookie: proxy-user=alice\r\n\r\n",
		"POST /jobs HTTP/1.1\r\nHost: am\r\nContent-Length: 98\r\n\r\n{\"program\":{\"sha256\":\"" + wordcountID + "\"}}",
		"POST /jars/upload HTTP/1.1\r\nHost: am\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 86\r\n\r\n--x\r\nContent-Disposition: form-data; name=jarfile; filename=a.jar\r\n\r\nELF\r\n--x--\r\n",
		"POST /programs?name=a%2Fb&sha256=" + wordcountID + " HTTP/1.1\r\nHost: am\r\nContent-Length: 3\r\n\r\nELF",
		"DELETE /cluster HTTP/1.0\r\n\r\n",
		"GET /open HTTP/1.1\r\nHost: am\r\n\r\n",
		"POST /access HTTP/1.1\r\nHost: am\r\nAuthorization: Bobbin-Link x\r\n\r\n",
		"DELETE /cluster HTTP/1.1\r\nHost: am\r\nCookie: __Host-bobbin=x\r\nX-Bobbin-CSRF: x\r\n\r\n",
		"GET /%2e%2e/jobs/../cluster?a=%zz;b HTTP/1.1\r\nHost: am\r\n\r\n",
	} {
		f.Add([]byte(r))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return
		}
		owner := request.Header.Get("Authorization") == "Bearer "+token
		for name, door := range map[string]struct {
			open   func(*Server) http.Handler
			from   string
			status int // error of every answer, if set
			owner  bool
		}{
			"behind the doors":                            {(*Server).Unguarded, "10.0.0.9:1", 0, true},
			"to the owner's door":                         {(*Server).secure, "10.0.0.9:1", refusedUnless(owner, strangersStatus(request)), owner},
			"to the proxy's door":                         {(*Server).proxied, "10.0.0.1:1", 0, false},
			"to the door of a proxy that knows its users": {knowing, "10.0.0.1:1", 0, false},
			"to that door, where it may change something": {changing, "10.0.0.1:1", 0, changesByProxy(request)},
			"to the proxy's door by else":                 {(*Server).proxied, "10.0.0.9:1", http.StatusForbidden, false},
		} {
			g, session := new(fakeGateway), new(fakeSession)
			request.RemoteAddr = door.from
			answer := httptest.NewRecorder()
			server := newServer(g)
			server.config.Session = session
			door.open(server).ServeHTTP(answer, request)
			if door.status != 0 && answer.Code != door.status {
				t.Errorf("%s: status %d, want %d", name, answer.Code, door.status)
			}
			if !door.owner && (g.shut || len(g.cancelled)+len(g.seen)+len(g.waits)+len(g.cursors)+session.asked() > 0) {
				t.Errorf("%s: the cluster was changed or a result given away", name)
			}
			checkAsked(t, g)
			checkAnswer(t, name, answer)
		}
	})
}

// changesByProxy reports whether a request may change something through a proxy that names its users.
func changesByProxy(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	own := strings.EqualFold(origin, "http://rm:8088")
	return r.Method == http.MethodPut && own || r.Method == http.MethodGet && (own || origin == "") && declared(r)
}

// changing is knowing with changes allowed.
func changing(s *Server) http.Handler {
	s.config.Proxy.Changes = true
	return knowing(s)
}

// knowing is the door of a proxy that names its users.
func knowing(s *Server) http.Handler {
	s.config.Proxy.Users, s.config.Proxy.Origins = true, []string{"rm:8088"}
	s.config.Rights = Rights{Owner: "alice", Enforced: true}
	return s.proxied()
}

func refusedUnless(allowed bool, status int) int {
	if allowed {
		return 0
	}
	return status
}

// strangersStatus is the status of the answer to a request without a valid proof; 0: any.
func strangersStatus(r *http.Request) int {
	sent := r.Header.Get("Authorization")
	scheme, _, _ := strings.Cut(sent, " ")
	switch {
	case sent == "" && isOpenPage(r):
		return 0 // the page, or a redirection to its path
	case strings.EqualFold(scheme, restapi.SchemeLink):
		return http.StatusForbidden
	}
	return http.StatusUnauthorized
}

func checkAsked(t *testing.T, g *fakeGateway) {
	t.Helper()
	for _, wait := range g.waits {
		if wait < 0 || wait > maxWait {
			t.Errorf("the gateway waits for %v", wait)
		}
	}
	for _, cursor := range g.cursors {
		if cursor < 0 {
			t.Errorf("the gateway is asked for cursor %d", cursor)
		}
	}
	for _, job := range g.cancelled {
		if len(job) != 32 || strings.Trim(string(job), "0123456789abcdef") != "" {
			t.Errorf("job %q is cancelled", job)
		}
	}
}

func checkAnswer(t *testing.T, name string, answer *httptest.ResponseRecorder) {
	t.Helper()
	if !strings.HasPrefix(answer.Header().Get("Content-Type"), "application/json") {
		return
	}
	var failure restapi.FailureBody
	if err := json.Unmarshal(answer.Body.Bytes(), &failure); err != nil {
		t.Errorf("%s: %v in %s", name, err, answer.Body)
	}
	if answer.Code >= http.StatusBadRequest && (len(failure.Errors) != 1 || failure.Errors[0] == "") || answer.Code == http.StatusInternalServerError {
		t.Errorf("%s: status %d, %s", name, answer.Code, answer.Body)
	}
}

// FuzzUpload sends what users of a session upload as a form. It would catch a file whose name leads to
// another folder or is hidden, content that is not the form's, and a form that crashes the
// ApplicationMaster or is answered as its fault.
func FuzzUpload(f *testing.F) {
	const jar = "--x\r\nContent-Disposition: form-data; name=\"jarfile\"; filename=\"wordcount\"\r\nContent-Type: application/x-java-archive\r\n\r\n\x7fELF\r\n--x--\r\n"
	for _, form := range []string{
		jar, jar[:len(jar)-9], strings.Replace(jar, "wordcount", "../../wordcount", 1), strings.Replace(jar, "wordcount", ".hidden", 1),
		strings.Replace(jar, "\"wordcount\"", "*=UTF-8''%2e%2e%2fa", 1), "--x\r\n\r\n\r\n" + jar, "--x--", "",
		strings.Replace(jar, "\r\n\r\n", "\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=41=", 1),
	} {
		f.Add("multipart/form-data; boundary=x", []byte(form))
	}
	f.Add("multipart/form-data; boundary=\"\"", []byte(jar))
	f.Add("multipart/mixed; boundary=x; boundary=y", []byte(jar))
	f.Add("text/plain", []byte(jar))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		session := &fakeSession{}
		s := newServer(&fakeGateway{})
		s.config.Session = session
		r := httptest.NewRequest(http.MethodPost, "/jars/upload", bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		s.Unguarded().ServeHTTP(w, r)
		checkAnswer(t, "upload", w)
		if (w.Code == http.StatusOK) != (len(session.added) == 1) {
			t.Errorf("status %d after %d uploads", w.Code, len(session.added))
		}
		for _, added := range session.added {
			name, rest, _ := strings.Cut(added, "  ") // no hash is given
			if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\x00\r\n") || len(name) > staging.MaxName || len(rest) > len(body) {
				t.Errorf("%d bytes are added as %q of a form of %d", len(rest), name, len(body))
			}
		}
	})
}
