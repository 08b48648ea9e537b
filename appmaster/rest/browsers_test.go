package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// browsing is a server with a session, and a browser of the user who has made a link.
type browsing struct {
	*Server
	gateway *fakeGateway
	session *fakeSession
	cookie  string // name=value
	csrf    string
}

// send puts a request to the door for TLS.
func (s *Server) send(method, path string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "https://am:4711"+path, strings.NewReader(""))
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.secure().ServeHTTP(w, r)
	return w
}

// linkOf makes a link by the connection of a user, and returns its key.
func (s *Server) linkOf(t *testing.T, by caller) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "https://am:4711/access/links", nil)
	ctx := context.WithValue(r.Context(), connectionKey{}, &connection{caller: &by})
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 4711}))
	w := httptest.NewRecorder()
	s.secure().ServeHTTP(w, r.WithContext(ctx))
	var made restapi.Link
	if err := json.Unmarshal(w.Body.Bytes(), &made); w.Code != http.StatusOK || err != nil {
		t.Fatalf("link: status %d, %v: %s", w.Code, err, w.Body)
	}
	if left := time.Until(time.UnixMilli(made.Until)); made.Address != "node5:4711" || len(made.Key) != 43 || left <= 0 || left > linkTime {
		t.Errorf("link is %+v", made)
	}
	return made.Key
}

// exchange sends the key of a link, from a browser.
func (s *Server) exchange(key string) *httptest.ResponseRecorder { return s.exchangeFrom("one", key) }

// exchangeFrom sends the key of a link from a browser with this HeaderBrowser.
func (s *Server) exchangeFrom(browser, key string) *httptest.ResponseRecorder {
	return s.send(http.MethodPost, "/access", map[string]string{
		"Authorization": "Bobbin-Link " + key, "Origin": "https://am:4711", "Sec-Fetch-Site": "same-origin", restapi.HeaderBrowser: browser,
	})
}

// browse lets a browser in by a link of a user.
func (s *Server) browse(t *testing.T, by caller) (cookie, csrf string) {
	t.Helper()
	w := s.exchange(s.linkOf(t, by))
	var told restapi.Access
	if err := json.Unmarshal(w.Body.Bytes(), &told); w.Code != http.StatusOK || err != nil || told.CSRF == nil {
		t.Fatalf("exchange: status %d, %v: %s", w.Code, err, w.Body)
	}
	cookie, _, _ = strings.Cut(w.Header().Get("Set-Cookie"), ";")
	return cookie, *told.CSRF
}

func newBrowsing(t *testing.T, by caller) *browsing {
	t.Helper()
	b := &browsing{gateway: &fakeGateway{}, session: &fakeSession{}}
	b.Server = newServer(b.gateway)
	b.config.Session, b.config.Application, b.config.Host = b.session, "application_1_0001", node5
	b.config.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Modify: ParseACL("carol"), Enforced: true}
	b.cookie, b.csrf = b.browse(t, by)
	return b
}

// ask sends a request of the browser, as our page does.
func (b *browsing) ask(method, path string) *httptest.ResponseRecorder {
	return b.send(method, path, map[string]string{"Cookie": b.cookie, restapi.HeaderCSRF: b.csrf, "Content-Type": "application/json"})
}

// did reports whether anything was changed, or fetched for the owner.
func (b *browsing) did() bool {
	return b.gateway.shut || len(b.gateway.cancelled)+len(b.gateway.waits)+len(b.gateway.seen)+len(b.gateway.cursors)+b.session.asked() > 0
}

// TestALinkLetsABrowserIn would catch a browser that cannot do what its user may do, a cookie that a script or another
// host can read, and a page that is not told who its user is.
func TestALinkLetsABrowserIn(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]caller{"the owner": {name: "alice"}, "the holder of the token": {token: true}} {
		b := newBrowsing(t, by)
		job := "/jobs/" + string(runningID)
		for _, request := range []struct {
			method, path string
			want         int
		}{
			{"GET", "/jobs", 200},
			{"GET", job + "/result", 200},
			{"POST", "/programs?name=p", 200},
			{"PATCH", job, 202},
			{"GET", job + "/yarn-cancel", 202},
			{"DELETE", "/cluster", 200},
			{"POST", "/access/links", 403}, // otherwise no browser would ever have to leave
			{"POST", "/access", 403},
		} {
			if w := b.ask(request.method, request.path); w.Code != request.want {
				t.Errorf("%s, %s %s: status %d, want %d: %s", name, request.method, request.path, w.Code, request.want, w.Body)
			}
		}
		var told restapi.Access
		if err := json.Unmarshal(b.ask("GET", "/access").Body.Bytes(), &told); err != nil {
			t.Fatal(err)
		}
		if told.User != "alice" || !told.Change || !told.Run || told.CSRF == nil || *told.CSRF != b.csrf || told.How != "bobbin open application_1_0001" {
			t.Errorf("%s is told %+v", name, told)
		}
	}
	w := newServer(&fakeGateway{}).exchange("")
	if w.Code != http.StatusForbidden || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("without a key: status %d, %q", w.Code, w.Header())
	}
}

func TestTheCookieIsForThisHostAlone(t *testing.T) {
	t.Parallel()
	s := newServer(&fakeGateway{})
	s.config.Rights, s.config.Host = Rights{Owner: "alice"}, node5
	w := s.exchange(s.linkOf(t, caller{name: "alice"}))
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies are %v", cookies)
	}
	c := cookies[0]
	if !strings.HasPrefix(c.Name, "__Host-") || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 12*60*60 {
		t.Errorf("cookie is %s", c)
	}
	if strings.Contains(w.Body.String(), c.Value) {
		t.Error("scripts can read the cookie in the answer")
	}
}

// works reports whether the cookie of an answer lets a browser look, which has read all of the answer.
func (s *Server) works(w *httptest.ResponseRecorder) bool {
	var told restapi.Access
	if json.Unmarshal(w.Body.Bytes(), &told) != nil || told.CSRF == nil {
		return false
	}
	cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	return s.send("GET", "/jobs", map[string]string{"Cookie": cookie, restapi.HeaderCSRF: *told.CSRF}).Code == http.StatusOK
}

// TestALinkIsUsedOnce would catch a link that two browsers use, or by which a second one ends the access of the first; one that lasts, or that another ApplicationMaster accepts;
// and a user who is told to use a new one because a wrong request has used the first one up, or because its answer was lost.
func TestALinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	fresh := func() *Server {
		s := newServer(&fakeGateway{})
		s.config.Rights, s.config.Host = Rights{Owner: "alice", Modify: ParseACL("carol"), View: ParseACL("*")}, node5
		return s
	}
	refused := func(t *testing.T, w *httptest.ResponseRecorder) {
		t.Helper()
		if w.Code != http.StatusForbidden || w.Header().Get("Set-Cookie") != "" || w.Header().Get("WWW-Authenticate") != "" {
			t.Errorf("status %d, %v: %s", w.Code, w.Header(), w.Body)
		}
	}
	t.Run("twice", func(t *testing.T) {
		s := fresh()
		key := s.linkOf(t, caller{name: "alice"})
		if w := s.exchange(key); w.Code != http.StatusOK || !s.works(w) {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		refused(t, s.exchange(key))
	})
	t.Run("after a lost answer", func(t *testing.T) {
		s := fresh()
		key := s.linkOf(t, caller{name: "alice"})
		lost, got := s.exchange(key), s.exchange(key)
		if got.Code != http.StatusOK || !s.works(got) {
			t.Errorf("status %d: %s", got.Code, got.Body)
		}
		if s.works(lost) {
			t.Error("two browsers have come by one link")
		}
		refused(t, s.exchange(key))
	})
	// The browser has the cookie of such an answer, and shows it when it opens the page of the link again.
	t.Run("after an answer that was cut", func(t *testing.T) {
		s := fresh()
		key := s.linkOf(t, caller{name: "alice"})
		cut := s.exchange(key)
		cookie, _, _ := strings.Cut(cut.Header().Get("Set-Cookie"), ";")
		for _, csrf := range []string{"", strings.Repeat("A", 43)} { // of an earlier ApplicationMaster at this address
			for _, path := range []string{"/open", "/jobs"} {
				if w := s.send("GET", path, map[string]string{"Cookie": cookie, restapi.HeaderCSRF: csrf}); w.Code != http.StatusOK {
					t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
				}
			}
		}
		refused(t, s.exchangeFrom("two", key))
		got := s.exchange(key)
		if got.Code != http.StatusOK || !s.works(got) {
			t.Errorf("status %d: %s", got.Code, got.Body)
		}
		if s.works(cut) {
			t.Error("two cookies have come by one link")
		}
		refused(t, s.exchange(key))
	})
	t.Run("by a second browser", func(t *testing.T) {
		for _, second := range []string{"two", ""} {
			s := fresh()
			key := s.linkOf(t, caller{name: "alice"})
			first := s.exchange(key)
			got := s.exchangeFrom(second, key)
			if refused(t, got); !strings.Contains(got.Body.String(), "another browser has come by this link") {
				t.Errorf("browser %q is told %s", second, got.Body)
			}
			if !s.works(first) {
				t.Errorf("browser %q has ended the access of the first one", second)
			}
		}
	})
	t.Run("twice without a name", func(t *testing.T) {
		s := fresh()
		key := s.linkOf(t, caller{name: "alice"})
		first := s.exchangeFrom("", key)
		refused(t, s.exchangeFrom("", key))
		if !s.works(first) {
			t.Error("the access of the first browser has ended")
		}
	})
	t.Run("while views wait for their turn", func(t *testing.T) {
		s := fresh()
		for _, room := range []*answerRoom{s.answers.all, s.answers.some} {
			room.turn <- struct{}{}
			defer func() { <-room.turn }()
		}
		if w := s.exchange(s.linkOf(t, caller{name: "carol"})); w.Code != http.StatusOK {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
	t.Run("late", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := fresh()
			early, late := s.linkOf(t, caller{name: "alice"}), s.linkOf(t, caller{name: "alice"})
			time.Sleep(linkTime - 1)
			if w := s.exchange(early); w.Code != http.StatusOK {
				t.Errorf("in time: status %d: %s", w.Code, w.Body)
			}
			time.Sleep(time.Nanosecond)
			refused(t, s.exchange(late))
		})
	})
	t.Run("by many at once", func(t *testing.T) {
		s := fresh()
		key := s.linkOf(t, caller{name: "alice"})
		var in atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if w := s.exchange(key); w.Code == http.StatusOK && s.works(w) {
					in.Add(1)
				}
			})
		}
		all.Wait()
		if in.Load() != 1 {
			t.Errorf("%d browsers are in", in.Load())
		}
	})
	t.Run("at another ApplicationMaster", func(t *testing.T) { refused(t, fresh().exchange(fresh().linkOf(t, caller{name: "alice"}))) })
	t.Run("after wrong requests", func(t *testing.T) {
		s := fresh()
		key := s.linkOf(t, caller{name: "alice"})
		authorization := "Bobbin-Link " + key
		refused(t, s.send("GET", "/access", map[string]string{"Authorization": authorization}))
		refused(t, s.send("PATCH", "/jobs/"+string(runningID), map[string]string{"Authorization": authorization}))
		refused(t, s.send("POST", "/access", map[string]string{"Authorization": authorization, "Sec-Fetch-Site": "cross-site"}))
		refused(t, s.send("POST", "/access", map[string]string{"Authorization": authorization, "Origin": "https://am:4712"}))
		if w := s.exchange(key); w.Code != http.StatusOK {
			t.Errorf("then by its page: status %d: %s", w.Code, w.Body)
		}
	})
}

// TestLinksAreForUsersWhoMayChange would catch a link for a user who may only look, or for a stranger.
func TestLinksAreForUsersWhoMayChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		by   caller
		want int
	}{
		"the owner":                  {caller{name: "alice"}, 200},
		"who may change":             {caller{name: "carol"}, 200},
		"who may look":               {caller{name: "bob"}, 403},
		"a program that looks":       {caller{viewer: true}, 403},
		"the owner by a HTTP ticket": {caller{name: "alice", ticket: true}, 403},
	} {
		s := newServer(&fakeGateway{})
		s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Modify: ParseACL("carol")}
		r := httptest.NewRequest(http.MethodPost, "https://am:4711/access/links", nil)
		w := httptest.NewRecorder()
		s.secure().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connectionKey{}, &connection{caller: &test.by})))
		if w.Code != test.want {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, test.want, w.Body)
		}
	}
}

// TestForgedRequestsDoNothing sends each request of REST that is more than a view with the browser's cookie, as a page
// or another server of the host could make it. It would catch one that is done without the value that only our page has.
func TestForgedRequestsDoNothing(t *testing.T) {
	t.Parallel()
	replace := strings.NewReplacer("{job}", string(runningID), "{program}", wordcountID, "{file}", wordcountID, "{name}", "top", "{trigger}", "1",
		"{driver}", driverID, "{worker}", workerID, "{vertex}", runningVertex, "{subtask}", "0", "{attempt}", "0", "{dataset}", "1")
	b := newBrowsing(t, caller{name: "alice"})
	_, other := b.browse(t, caller{name: "alice"})
	tried := 0
	for _, route := range b.routes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		if route.access == anyone || route.access == view && method == http.MethodGet {
			continue
		}
		tried++
		for name, header := range map[string]map[string]string{
			"by the cookie alone":               {},
			"with an empty value":               {restapi.HeaderCSRF: ""},
			"with an invented value":            {restapi.HeaderCSRF: strings.Repeat("A", 43)},
			"with the value of another browser": {restapi.HeaderCSRF: other},
			"by a page of another site":         {restapi.HeaderCSRF: b.csrf, "Origin": "https://evil.test", "Sec-Fetch-Site": "cross-site"},
			"by a page of another port":         {restapi.HeaderCSRF: b.csrf, "Origin": "https://am:4712", "Sec-Fetch-Site": "same-site"},
			"by a page that hides":              {restapi.HeaderCSRF: b.csrf, "Origin": "null"},
		} {
			header["Cookie"], header["Content-Type"] = b.cookie, "application/json"
			if w := b.send(method, replace.Replace(path), header); w.Code != http.StatusForbidden {
				t.Errorf("%s %s: status %d: %s", name, route.pattern, w.Code, w.Body)
			}
		}
	}
	if b.did() || tried < 20 {
		t.Errorf("of %d requests one is done", tried)
	}
	if w := b.ask("GET", "/jobs"); w.Code != http.StatusOK {
		t.Errorf("the cookie has ended: status %d", w.Code)
	}
	var told restapi.Access
	if err := json.Unmarshal(b.send("GET", "/access", map[string]string{"Cookie": b.cookie}).Body.Bytes(), &told); err != nil || told.Change || told.Run || told.CSRF != nil {
		t.Errorf("the cookie alone is told %+v, %v", told, err)
	}
}

// TestACookieIsOneUsersAtOneMaster would catch a cookie that outlives its time, its user's right, the user's wish or
// its ApplicationMaster, and one of two that another port of the host has added.
func TestACookieIsOneUsersAtOneMaster(t *testing.T) {
	t.Parallel()
	cancel := func(b *browsing) int { return b.ask("PATCH", "/jobs/"+string(runningID)).Code }
	t.Run("its time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBrowsing(t, caller{name: "alice"})
			time.Sleep(browserTime - 1)
			if got := cancel(b); got != http.StatusAccepted {
				t.Errorf("in time: status %d", got)
			}
			time.Sleep(time.Nanosecond)
			if got := cancel(b); got != http.StatusUnauthorized {
				t.Errorf("late: status %d", got)
			}
		})
	})
	t.Run("the right", func(t *testing.T) {
		b := newBrowsing(t, caller{name: "carol", viewer: true})
		if got := cancel(b); got != http.StatusAccepted {
			t.Errorf("before: status %d", got)
		}
		b.config.Rights.Modify = ParseACL("")
		if got := cancel(b); got != http.StatusForbidden {
			t.Errorf("after: status %d", got)
		}
	})
	t.Run("the wish", func(t *testing.T) {
		b := newBrowsing(t, caller{name: "alice"})
		w := b.ask("DELETE", "/access")
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") {
			t.Errorf("status %d, %v", w.Code, w.Header())
		}
		if got := cancel(b); got != http.StatusUnauthorized {
			t.Errorf("after: status %d", got)
		}
	})
	t.Run("the ApplicationMaster", func(t *testing.T) {
		b, next := newBrowsing(t, caller{name: "alice"}), newBrowsing(t, caller{name: "alice"})
		if got := next.send("GET", "/jobs", map[string]string{"Cookie": b.cookie}).Code; got != http.StatusUnauthorized {
			t.Errorf("at the next one: status %d", got)
		}
		_, value, _ := strings.Cut(b.cookie, "=")
		if got := next.send("GET", "/jobs", map[string]string{"Cookie": next.browsers.cookie + "=" + value}).Code; got != http.StatusUnauthorized {
			t.Errorf("under the name of the next one: status %d", got)
		}
	})
	t.Run("two", func(t *testing.T) {
		b := newBrowsing(t, caller{name: "alice"})
		if got := b.send("GET", "/jobs", map[string]string{"Cookie": b.cookie + "; " + b.browsers.cookie + "=x"}).Code; got != http.StatusUnauthorized {
			t.Errorf("status %d", got)
		}
	})
}

// TestCookiesAreForTLSOnly would catch a cookie or a link that is accepted over plain HTTP, where YARN's proxy and each
// process on its node could have read it.
func TestCookiesAreForTLSOnly(t *testing.T) {
	t.Parallel()
	b := newBrowsing(t, caller{name: "alice"})
	b.config.Proxy.Users, b.config.Proxy.Changes, b.config.Proxy.Origins = true, true, []string{"am:4711"}
	key := b.linkOf(t, caller{name: "alice"})
	for _, request := range []struct{ method, path string }{
		{"GET", "/jobs"}, {"PUT", "/jobs/" + string(runningID)}, {"POST", "/access"}, {"DELETE", "/access"}, {"POST", "/access/links"}, {"GET", "/open"}, {"GET", "/access"},
	} {
		r := httptest.NewRequest(request.method, "http://am:4711"+request.path, nil)
		r.RemoteAddr = "10.0.0.1:1"
		for name, value := range map[string]string{"Cookie": b.cookie, restapi.HeaderCSRF: b.csrf, "Authorization": "Bobbin-Link " + key, "Origin": "http://am:4711"} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		b.proxied().ServeHTTP(w, r)
		if w.Code != http.StatusForbidden || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s %s: status %d, %v: %s", request.method, request.path, w.Code, w.Header(), w.Body)
		}
	}
	if w := b.exchange(key); w.Code != http.StatusOK {
		t.Errorf("the link was used up: status %d", w.Code)
	}
	b.config.Rights = Rights{Owner: "alice"}
	r := httptest.NewRequest(http.MethodGet, "http://am:4711/access", nil)
	r.RemoteAddr = "10.0.0.1:1"
	r.Header.Set("Cookie", "proxy-user=alice")
	w := httptest.NewRecorder()
	b.proxied().ServeHTTP(w, r)
	var told restapi.Access
	if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil || told.User != "alice" || told.Change || told.CSRF != nil || told.How == "" {
		t.Errorf("through the proxy alice is told %+v, %v", told, err)
	}
}

// TestManyLinksAndBrowsers would catch a user who fills the memory, or ends the links and browsers of another user.
func TestManyLinksAndBrowsers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	now := time.Now()
	b := newBrowsers()
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	// admit lets a browser of a user in, by a link that it uses up.
	admit := func(user string) {
		t.Helper()
		key, _ := b.offer(caller{name: user}, now)
		kept, csrf, _, err := b.admit(digestOf(key), user, now)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Cookie", b.cookie+"="+kept)
		if _, in := b.find(request, csrf, now); !in {
			t.Fatalf("the browser of %s is out", user)
		}
	}
	alices, _ := b.offer(caller{name: "alice"}, now)
	admit("alice")
	kept := request.Header.Get("Cookie")
	for range 1000 {
		admit("carol")
		b.offer(caller{name: "carol"}, now)
	}
	if len(b.links) != 1+maxLinksOfOne || len(b.open) != 1+maxBrowsersOfOne {
		t.Errorf("%d links and %d browsers are kept", len(b.links), len(b.open))
	}
	if _, err := b.look(digestOf(alices), now); err != nil {
		t.Error(err)
	}
	for i := range 1000 {
		request.Header.Set("Cookie", kept)
		if _, in := b.find(request, "", now); !in {
			t.Fatalf("after %d users, a browser that asks all the time is out", i)
		}
		admit(fmt.Sprint(i))
		b.offer(caller{name: fmt.Sprint(i)}, now)
	}
	if len(b.links) != maxLinks || len(b.open) != maxBrowsers {
		t.Errorf("%d links and %d browsers of many users are kept", len(b.links), len(b.open))
	}
	b.offer(caller{name: "alice"}, now.Add(browserTime))
	if len(b.links) != 1 || len(b.open) != 0 {
		t.Errorf("%d links and %d browsers have not ended", len(b.links), len(b.open))
	}
}

// TestStrangersGetOnlyThePageOfLinks would catch a stranger whose connection counts as that of a user, also where an
// ACL names everybody, and a page that does not run under its own policy.
func TestStrangersGetOnlyThePageOfLinks(t *testing.T) {
	t.Parallel()
	address, client, _ := serveConfigured(t, &fakeGateway{}, func(c *Config) { c.Rights = Rights{Owner: "alice", View: ParseACL("*")} })
	for _, path := range []string{"/open", "/v1/open"} {
		code, page := get(t, client, "https://"+address+path)
		if code != http.StatusOK || strings.Count(page, "<script") != 1 || strings.Count(page, "<style") != 1 || strings.Contains(page, " style=") || len(page) > smallAnswer {
			t.Errorf("%s: status %d, %s", path, code, page)
		}
	}
	s := newServer(&fakeGateway{})
	s.config.Rights = Rights{Owner: "alice", View: ParseACL("*")}
	on := new(connection)
	r := httptest.NewRequest(http.MethodGet, "https://am/open", nil)
	w := httptest.NewRecorder()
	s.secure().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connectionKey{}, on)))
	if w.Code != http.StatusOK || on.proved || on.refused != 1 || w.Header().Get("X-Frame-Options") != "DENY" {
		t.Errorf("status %d, %v; the connection is %+v", w.Code, w.Header(), on)
	}
	for _, path := range []string{"/access", "/open/", "/jobs", "/open?x=1&y=/jobs/../jobs"} {
		if code := s.send("POST", path, nil).Code; code != http.StatusUnauthorized {
			t.Errorf("POST %s: status %d", path, code)
		}
	}
}

// FuzzBrowser sends what a browser, or anything that acts as one, can send without knowing a secret. It would catch a
// request that is let in, and one that uses a link up.
func FuzzBrowser(f *testing.F) {
	f.Add("POST", "/access", "Bobbin-Link AAAA", "x=y", "AAAA")
	f.Add("GET", "/jobs", "", "COOKIE=", "")
	f.Add("GET", "/jobs", "", "COOKIE=\"", "")
	f.Add("GET", "/jobs", "bobbin-link", "COOKIE=a; COOKIE=b", " ")
	f.Fuzz(func(t *testing.T, method, path, authorization, cookie, csrf string) {
		s := newServer(&fakeGateway{})
		s.config.Rights, s.config.Host = Rights{Owner: "alice"}, node5
		key := s.linkOf(t, caller{name: "alice"})
		r := httptest.NewRequest(http.MethodGet, "https://am:4711/", nil)
		r.Method, r.URL.Path = method, path
		r.Header.Set("Authorization", authorization)
		r.Header.Set("Cookie", strings.ReplaceAll(cookie, "COOKIE", s.browsers.cookie))
		r.Header.Set(restapi.HeaderCSRF, csrf)
		if c, err := s.secureDoor(http.Header{}, r); err == nil && !c.stranger && authorization != "Bearer "+token {
			t.Errorf("%+v is let in", c)
		}
		if w := s.exchange(key); w.Code != http.StatusOK {
			t.Errorf("the link is used up: status %d", w.Code)
		}
	})
}

// node5 is the name of the node in tests.
func node5(context.Context) string { return "node5" }
