package rest

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/spnego"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/testing/clienttoamtest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// shortName maps principals of one realm, as rules of auth_to_local would.
func shortName(principal string) (string, error) {
	name, realm, _ := strings.Cut(principal, "@")
	if realm != "" && realm != "EXAMPLE.ORG" {
		return "", errors.New("no rule for " + principal)
	}
	return name, nil
}

// as is a client of a user who has a token of YARN.
func as(t *testing.T, token *creds.Token) *http.Client {
	t.Helper()
	transport := &http.Transport{DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return clienttoam.Dial(ctx, address, token)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func status(t *testing.T, client *http.Client, method, url string, header http.Header) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// TestUsersComeByTokensOfYARN would catch a user with more or fewer rights than YARN and the ACLs say.
func TestUsersComeByTokensOfYARN(t *testing.T) {
	t.Parallel()
	attempt := records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}
	key := []byte("8 bytes.")
	verifier, err := clienttoam.NewVerifier(attempt, "")
	if err != nil {
		t.Fatal(err)
	}
	verifier.SetKey(key)
	g := &fakeGateway{}
	address, owner, _ := serveConfigured(t, g, func(c *Config) {
		c.ClientToAM, c.ShortName = verifier, shortName
		c.Rights = Rights{Owner: "alice", Modify: ParseACL("carol"), Enforced: true}
	})
	base := "https://" + address
	job := base + "/jobs/" + string(runningID)
	for user, want := range map[string][3]int{ // views, cancels, fetches
		"alice@EXAMPLE.ORG": {200, 202, 200},
		"bob@EXAMPLE.ORG":   {200, 403, 403},
		"carol":             {200, 202, 403},
	} {
		t.Run(user, func(t *testing.T) {
			client := as(t, clienttoamtest.Token(t, key, attempt, user))
			before := len(g.cancelled)
			got := [3]int{
				status(t, client, http.MethodGet, base+"/jobs", nil),
				status(t, client, http.MethodPatch, job, nil),
				status(t, client, http.MethodGet, job+"/result", nil),
			}
			if got != want {
				t.Errorf("got statuses %v, want %v", got, want)
			}
			if cancelled := len(g.cancelled) > before; cancelled != (want[1] == 202) {
				t.Errorf("cancelled: %v", cancelled)
			}
		})
	}
	anotherAlice := clienttoamtest.Token(t, key, attempt, "alice@EVIL.ORG")
	if _, err := clienttoam.Dial(t.Context(), address, anotherAlice); !errors.Is(err, clienttoam.ErrRefused) {
		t.Errorf("alice of another realm: got %v, want ErrRefused", err)
	}
	if got := status(t, owner, http.MethodGet, base+"/jobs", nil); got != http.StatusUnauthorized {
		t.Errorf("without any proof: status %d", got)
	}
}

// TestAConnectionIsItsUsers would catch a proof that holds for another user's connection, or that takes
// precedence over a request's own proof.
func TestAConnectionIsItsUsers(t *testing.T) {
	t.Parallel()
	s := newServer(&fakeGateway{})
	s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob")}
	mine := &connection{caller: &caller{name: "bob"}}
	for name, test := range map[string]struct {
		on     *connection
		header string
		want   int
	}{
		"on the user's connection":                    {mine, "", 200},
		"with a wrong token on the user's connection": {mine, "Bearer x", 401},
		"on another connection":                       {new(connection), "", 401},
		"with the owner's token on another":           {new(connection), "Bearer " + token, 200},
		"on none":                                     {nil, "", 401},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "https://am/jobs", nil)
		r = r.WithContext(context.WithValue(r.Context(), connectionKey{}, test.on))
		if test.header != "" {
			r.Header.Set("Authorization", test.header)
		}
		s.secure().ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s: got status %d, want %d", name, w.Code, test.want)
		}
	}
}

// oneTicket accepts one token, as the ticket of a principal.
type oneTicket struct{ token, principal string }

func (o oneTicket) Accept(token []byte) (spnego.Ticket, error) {
	if string(token) != o.token {
		return spnego.Ticket{}, errors.New("no ticket for this service")
	}
	return spnego.Ticket{Client: o.principal, Service: "HTTP/am@EXAMPLE.ORG", Answer: []byte("accepted")}, nil
}

func (oneTicket) Once(string, spnego.Ticket) error { return nil }

// TestUsersComeByKerberos would catch a ticket of another service, or of a user without rights, that is
// accepted.
func TestUsersComeByKerberos(t *testing.T) {
	t.Parallel()
	ticket := base64.StdEncoding.EncodeToString([]byte("ticket"))
	for name, test := range map[string]struct {
		principal, header string
		want              int
		challenge         string
	}{
		"who may look":                                {"bob@EXAMPLE.ORG", "Negotiate " + ticket, 200, "Negotiate YWNjZXB0ZWQ="},
		"who may not":                                 {"dave@EXAMPLE.ORG", "negotiate " + ticket, 403, "Negotiate YWNjZXB0ZWQ="},
		"who has no name on the cluster":              {"bob@EVIL.ORG", "Negotiate " + ticket, 403, "Negotiate YWNjZXB0ZWQ="},
		"whose ticket is for somebody else":           {"bob@EXAMPLE.ORG", "Negotiate AAAA", 401, "Bearer, Negotiate"},
		"whose token is none":                         {"bob@EXAMPLE.ORG", "Negotiate !", 401, "Bearer, Negotiate"},
		"who has none":                                {"bob@EXAMPLE.ORG", "", 401, "Bearer, Negotiate"},
		"who has a token of YARN for an open cluster": {"bob@EXAMPLE.ORG", "ClientToAM token=AA, proof=AA", 401, "Bearer, Negotiate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(&fakeGateway{})
			s.config.Negotiator, s.config.ShortName = oneTicket{"ticket", test.principal}, shortName
			s.config.Rights.View = ParseACL("bob")
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "https://am/jobs", nil)
			r.Header.Set("Authorization", test.header)
			s.secure().ServeHTTP(w, r)
			if got := strings.Join(w.Header().Values("WWW-Authenticate"), ", "); w.Code != test.want || got != test.challenge {
				t.Errorf("got status %d and %q, want %d and %q", w.Code, got, test.want, test.challenge)
			}
		})
	}
}

// anyTicket accepts a token as the ticket of the principal that it names, once for each user.
type anyTicket struct{ users []string }

func (*anyTicket) Accept(token []byte) (spnego.Ticket, error) {
	return spnego.Ticket{Client: string(token), Service: "HTTP/am@EXAMPLE.ORG", Answer: []byte("accepted")}, nil
}

func (a *anyTicket) Once(user string, _ spnego.Ticket) error {
	if slices.Contains(a.users, user) {
		return errors.New("he was here before")
	}
	a.users = append(a.users, user)
	return nil
}

// TestWhoHasNoRightFillsNoMemory is the attack of users of the realm who have no right here, and of one
// user with many principals. Each sends as many requests as are remembered of a user. It would catch a
// table that they fill, so that no other user gets in for ten minutes.
func TestWhoHasNoRightFillsNoMemory(t *testing.T) {
	t.Parallel()
	s, tickets := newServer(&fakeGateway{}), &anyTicket{}
	s.config.Negotiator = tickets
	s.config.ShortName = func(principal string) (string, error) { // as rules do that drop the host
		name, err := shortName(principal)
		name, _, _ = strings.Cut(name, "/")
		return name, err
	}
	s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Modify: ParseACL("carol")}
	for _, c := range []struct {
		principal string
		want      int
	}{
		{"dave@EXAMPLE.ORG", 403},
		{"dave/admin@EXAMPLE.ORG", 403},
		{"bob@EVIL.ORG", 403},
		{"bob@EXAMPLE.ORG", 200},
		{"bob/node1@EXAMPLE.ORG", 401},
		{"bob/node2@EXAMPLE.ORG", 401},
		{"carol@EXAMPLE.ORG", 403}, // may change, and not view
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "https://am/jobs", nil)
		r.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString([]byte(c.principal)))
		s.secure().ServeHTTP(w, r)
		if challenge := w.Header().Get("WWW-Authenticate"); w.Code != c.want || strings.HasPrefix(challenge, "Negotiate ") == (c.want == http.StatusUnauthorized) {
			t.Errorf("%s: status %d and %q, want %d", c.principal, w.Code, challenge, c.want)
		}
	}
	if want := []string{"bob", "carol"}; !slices.Equal(tickets.users, want) {
		t.Errorf("%q are remembered, want %q", tickets.users, want)
	}
}

// TestOnlyWhoMayLookIsProved would catch a user of the realm without rights who takes connections that are
// for users of the cluster.
func TestOnlyWhoMayLookIsProved(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"bob": true, "carol": true, "alice": true, "dave": false} {
		s := newServer(&fakeGateway{})
		s.config.Negotiator, s.config.ShortName = oneTicket{"ticket", name + "@EXAMPLE.ORG"}, shortName
		s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Modify: ParseACL("carol")}
		on := new(connection)
		r := httptest.NewRequest(http.MethodGet, "https://am/jobs", nil)
		r = r.WithContext(context.WithValue(r.Context(), connectionKey{}, on))
		r.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString([]byte("ticket")))
		s.secure().ServeHTTP(httptest.NewRecorder(), r)
		if on.proved != want {
			t.Errorf("%s: proved %t, want %t", name, on.proved, want)
		}
	}
}

// TestProxyTellsItsUsers would catch a name that any client can invent, and a change that another site's
// page made a browser request.
func TestProxyTellsItsUsers(t *testing.T) {
	t.Parallel()
	const rm = "http://rm.example.org:8088"
	job := "/jobs/" + string(runningID)
	for name, test := range map[string]struct {
		simple         bool // the proxy does not know its users
		from           string
		method, path   string
		cookie, origin string
		want           int
	}{
		"who may look":                                 {false, "10.0.0.1:1", "GET", "/jobs", "proxy-user=bob", "", 200},
		"who may not":                                  {false, "10.0.0.1:1", "GET", "/jobs", "proxy-user=dave", "", 403},
		"nobody":                                       {false, "10.0.0.1:1", "GET", "/jobs", "", "", 403},
		"two at once":                                  {false, "10.0.0.1:1", "GET", "/jobs", "proxy-user=bob; proxy-user=dave", "", 403},
		"an encoded name":                              {false, "10.0.0.1:1", "GET", "/jobs", "proxy-user=b%6Fb", "", 200},
		"a name that is none":                          {false, "10.0.0.1:1", "GET", "/jobs", "proxy-user=%zz", "", 403},
		"a name that its browser has made up":          {true, "10.0.0.1:1", "GET", "/jobs", "proxy-user=bob", "", 403},
		"somebody who poses as the proxy":              {false, "10.0.0.2:1", "GET", "/jobs", "proxy-user=alice", "", 403},
		"the owner changes":                            {false, "10.0.0.1:1", "PUT", job, "proxy-user=alice", rm, 202},
		"an administrator of the job changes":          {false, "10.0.0.1:1", "PUT", job, "proxy-user=carol", rm, 202},
		"who may look changes":                         {false, "10.0.0.1:1", "PUT", job, "proxy-user=bob", rm, 403},
		"the owner changes on another site":            {false, "10.0.0.1:1", "PUT", job, "proxy-user=alice", "http://evil.org:8088", 403},
		"the owner changes on another port":            {false, "10.0.0.1:1", "PUT", job, "proxy-user=alice", "http://rm.example.org:8042", 403},
		"the owner changes on a site that hides":       {false, "10.0.0.1:1", "PUT", job, "proxy-user=alice", "null", 403},
		"the owner changes on no site":                 {false, "10.0.0.1:1", "PUT", job, "proxy-user=alice", "", 403},
		"a link cancels":                               {false, "10.0.0.1:1", "PATCH", job, "proxy-user=alice", rm, 403},
		"a link ends the cluster":                      {false, "10.0.0.1:1", "DELETE", "/cluster", "proxy-user=alice", rm, 403},
		"a picture fetches the result":                 {false, "10.0.0.1:1", "GET", job + "/result", "proxy-user=alice", rm, 403},
		"a change in a name that somebody has made up": {true, "10.0.0.1:1", "PUT", job, "proxy-user=alice", rm, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &fakeGateway{}
			s := newServer(g)
			s.config.Proxy.Users, s.config.Proxy.Changes, s.config.Proxy.Origins = !test.simple, true, []string{"rm.example.org:8088"}
			s.config.Proxy.Anybody = "dr.who"
			s.config.Rights = Rights{Owner: "alice", View: ParseACL("bob"), Modify: ParseACL("carol"), Enforced: true}
			w := httptest.NewRecorder()
			r := httptest.NewRequest(test.method, test.path, nil)
			r.RemoteAddr = test.from
			for header, value := range map[string]string{"Cookie": test.cookie, "Origin": test.origin} {
				if value != "" {
					r.Header.Set(header, value)
				}
			}
			s.proxied().ServeHTTP(w, r)
			if w.Code != test.want {
				t.Errorf("got status %d, want %d: %s", w.Code, test.want, w.Body)
			}
			if changed := g.shut || len(g.cancelled)+len(g.waits) > 0; changed != (test.want == http.StatusAccepted) {
				t.Errorf("changed: %v", changed)
			}
		})
	}
}

// TestPagesBehindTheProxyChangeNothing is the attack of an application whose page the user opens through
// the proxy. A script of that page has the same origin as our page, and the proxy names the user. The test
// would catch a job that such a script cancels although rest.proxy.changes.enable does not allow it.
func TestPagesBehindTheProxyChangeNothing(t *testing.T) {
	t.Parallel()
	const rm = "http://rm.example.org:8088"
	job := "/jobs/" + string(runningID)
	for _, test := range []struct {
		method, path  string
		want, allowed int
	}{
		{"PUT", job, 403, 202},
		{"GET", job + "/yarn-cancel", 403, 202},
		{"HEAD", job + "/yarn-cancel", 403, 202},
		{"PUT", job + "/resource-requirements", 403, 501},
		{"PATCH", job, 403, 403},
		{"POST", job + "/stop", 403, 403},
		{"POST", "/jobs", 403, 403},
		{"POST", "/programs?name=evil", 403, 403},
		{"POST", "/files?name=evil&sha256=" + wordcountID, 403, 403},
		{"GET", "/files/" + wordcountID, 403, 403},
		{"POST", "/jars/" + wordcountID + "/run", 403, 403},
		{"GET", "/jars/" + wordcountID + "/plan", 403, 403},
		{"DELETE", "/cluster", 403, 403},
		{"GET", job + "/result", 403, 403},
		{"PUT", "/overview", 403, 404},
		{"GET", "/jobs", 200, 200},
		{"HEAD", "/jobs", 200, 200},
	} {
		for changes, want := range map[bool]int{false: test.want, true: test.allowed} {
			g, session := &fakeGateway{}, &fakeSession{}
			s := newServer(g)
			s.config.Session = session
			s.config.Proxy.Users, s.config.Proxy.Changes, s.config.Proxy.Origins = true, changes, []string{"rm.example.org:8088"}
			s.config.Rights = Rights{Owner: "alice", Shared: true, Enforced: true}
			w := httptest.NewRecorder()
			r := httptest.NewRequest(test.method, test.path, strings.NewReader(""))
			r.RemoteAddr = "10.0.0.1:1"
			for header, value := range map[string]string{"Cookie": "proxy-user=alice", "Origin": rm, "Content-Type": "application/json"} {
				r.Header.Set(header, value)
			}
			s.proxied().ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s %s, changes allowed: %t: status %d, want %d: %s", test.method, test.path, changes, w.Code, want, w.Body)
			}
			if changed := g.shut || len(g.cancelled)+len(g.waits)+session.asked() > 0; changed != (want == http.StatusAccepted) {
				t.Errorf("%s %s, changes allowed: %t: changed: %t", test.method, test.path, changes, changed)
			}
			if !changes && want == http.StatusForbidden && test.method != http.MethodHead && !strings.Contains(w.Body.String(), "rest.proxy.changes.enable") {
				t.Errorf("%s %s: the remedy is missing: %s", test.method, test.path, w.Body)
			}
		}
	}
}

// TestACLsMayNameAnybody would catch a page that is closed although an ACL opens it to users whom the proxy
// does not know, and a page that lets these users change something.
func TestACLsMayNameAnybody(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{}
	s := newServer(g)
	s.config.Proxy.Anybody, s.config.Proxy.Changes, s.config.Proxy.Origins = "dr.who", true, []string{"rm:8088"}
	s.config.Rights = Rights{Owner: "alice", Admins: ParseACL("dr.who"), Enforced: true}
	for method, want := range map[string]int{"GET": 200, "PUT": 403} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, "/jobs/"+string(runningID), nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header.Set("Origin", "http://rm:8088")
		s.proxied().ServeHTTP(w, r)
		if w.Code != want || len(g.cancelled) > 0 {
			t.Errorf("%s: got status %d, want %d", method, w.Code, want)
		}
	}
}

// TestOtherSitesChangeNothing would catch another site's page that cancels a job through the browser of a
// user with a ticket. The browser sends the ticket to each server that asks.
func TestOtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	job := "/jobs/" + string(runningID)
	for name, test := range map[string]struct {
		method, path string
		header       http.Header
		want         int
	}{
		"a program":                          {"PATCH", job, http.Header{}, 202},
		"a page of ours":                     {"PATCH", job, http.Header{"Origin": {"https://am:4711"}, "Sec-Fetch-Site": {"same-origin"}}, 202},
		"a page of another site":             {"PATCH", job, http.Header{"Origin": {"https://evil.org"}, "Sec-Fetch-Site": {"cross-site"}}, 403},
		"a page of another port":             {"PATCH", job, http.Header{"Origin": {"https://am:4712"}, "Sec-Fetch-Site": {"same-site"}}, 403},
		"an old browser on another site":     {"DELETE", "/cluster", http.Header{"Origin": {"http://evil.org"}}, 403},
		"a picture on another site":          {"GET", job + "/result", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		"a link on another site to a view":   {"GET", job, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 200},
		"an address that somebody has typed": {"GET", job + "/result", http.Header{"Sec-Fetch-Site": {"none"}}, 200},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(test.method, "https://am:4711"+test.path, nil)
		r.Header = test.header
		newServer(&fakeGateway{}).Unguarded().ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s: got status %d, want %d", name, w.Code, test.want)
		}
	}
}

// TestANewMasterAsksForPatience would catch a client that is refused for good while the ApplicationMaster
// still waits for YARN's key.
func TestANewMasterAsksForPatience(t *testing.T) {
	t.Parallel()
	attempt := records.ApplicationAttemptID{Attempt: 1}
	verifier, err := clienttoam.NewVerifier(attempt, "")
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := serveConfigured(t, &fakeGateway{}, func(c *Config) { c.ClientToAM = verifier })
	key := []byte("8 bytes.")
	token := clienttoamtest.Token(t, key, attempt, "bob")
	if _, err := clienttoam.Dial(t.Context(), address, token); !errors.Is(err, clienttoam.ErrNoKey) {
		t.Errorf("got %v, want ErrNoKey", err)
	}
	verifier.SetKey(key)
	conn, err := clienttoam.Dial(t.Context(), address, token)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// TestLinksChangeNothing would catch a picture or a link on another site's page that cancels a job by the
// path for proxies that pass on only GET.
func TestLinksChangeNothing(t *testing.T) {
	t.Parallel()
	const rm = "http://rm.example.org:8088"
	path := "/jobs/" + string(runningID) + "/yarn-cancel"
	const declared = "application/json; charset=UTF-8"
	for name, test := range map[string]struct {
		proxied, simple           bool // by the proxy, which does not know its users
		token                     bool // the owner's
		contentType, origin, site string
		want                      int
	}{
		"a link that alice clicks":          {false, false, false, "", "", "", 403},
		"a form of another site":            {false, false, false, "text/plain", "", "cross-site", 403},
		"a script of another site":          {false, false, false, declared, "https://evil.org", "cross-site", 403},
		"an old browser's":                  {false, false, false, declared, "https://evil.org", "", 403},
		"a program of alice's":              {false, false, false, declared, "", "", 202},
		"a program with the owner's token":  {false, false, true, "", "", "", 202},
		"a link through the proxy":          {true, false, false, "", "", "", 403},
		"a link of the proxy's own page":    {true, false, false, "", rm, "", 403},
		"a script of the proxy's own page":  {true, false, false, declared, "", "", 202},
		"the same, with its origin":         {true, false, false, declared, rm, "", 202},
		"another site's through the proxy":  {true, false, false, declared, "http://evil.org", "", 403},
		"a hidden site's through the proxy": {true, false, false, declared, "null", "", 403},
		"anybody's through a proxy":         {true, true, false, declared, rm, "", 403},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			g := &fakeGateway{}
			s := newServer(g)
			s.config.Rights = Rights{Owner: "alice"}
			s.config.Proxy.Users, s.config.Proxy.Changes, s.config.Proxy.Anybody = !test.simple, true, "dr.who"
			s.config.Proxy.Origins = []string{"rm.example.org:8088"}
			r := httptest.NewRequest(method, "https://am:4711"+path, nil)
			for header, value := range map[string]string{"Content-Type": test.contentType, "Origin": test.origin, "Sec-Fetch-Site": test.site} {
				if value != "" {
					r.Header.Set(header, value)
				}
			}
			door := s.secure()
			switch {
			case test.proxied:
				door = s.proxied()
				r.RemoteAddr = "10.0.0.1:1"
				r.Header.Set("Cookie", "proxy-user=alice")
			case test.token:
				r.Header.Set("Authorization", "Bearer "+token)
			default:
				r = r.WithContext(context.WithValue(r.Context(), connectionKey{}, &connection{caller: &caller{name: "alice"}}))
			}
			w := httptest.NewRecorder()
			door.ServeHTTP(w, r)
			if w.Code != test.want || (len(g.cancelled) > 0) != (test.want == http.StatusAccepted) {
				t.Errorf("%s, by %s: status %d, cancelled %v; want %d: %s", name, method, w.Code, g.cancelled, test.want, w.Body)
			}
		}
	}
}

// TestLinksRunNothing would catch a picture or a link on another site's page that runs a program as the
// owner, with arguments of the page's choice, by the path that plans its job by GET.
func TestLinksRunNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contentType, site string
		want              int
	}{
		"a link in an old browser": {"", "", 403},
		"a link":                   {"application/json", "cross-site", 403},
		"a program":                {"application/json", "", 200},
	} {
		session := &fakeSession{}
		s := newServer(&fakeGateway{})
		s.config.Session, s.config.Rights = session, Rights{Owner: "alice", Shared: true}
		r := httptest.NewRequest(http.MethodGet, "https://am:4711/jars/"+wordcountID+"/plan?programArg=evil", nil)
		for header, value := range map[string]string{"Content-Type": test.contentType, "Sec-Fetch-Site": test.site} {
			if value != "" {
				r.Header.Set(header, value)
			}
		}
		r = r.WithContext(context.WithValue(r.Context(), connectionKey{}, &connection{caller: &caller{name: "alice"}}))
		w := httptest.NewRecorder()
		s.secure().ServeHTTP(w, r)
		if w.Code != test.want || (len(session.planned) > 0) != (test.want == http.StatusOK) {
			t.Errorf("%s: status %d, planned %v; want %d: %s", name, w.Code, session.planned, test.want, w.Body)
		}
	}
}

// TestWhoRunsProgramsOnASession would catch a user who runs code as the owner because he may cancel jobs,
// and a user of a shared session who does not get what his own jobs collect.
func TestWhoRunsProgramsOnASession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		user   string
		modify string // ACL
		shared bool
		may    bool
	}{
		"the owner":                             {"alice", "", true, true},
		"a user whom the ACL names":             {"carol", "bob,carol", true, true},
		"one of everybody":                      {"dave", "*", true, false},
		"one whom it does not name":             {"dave", "carol", true, false},
		"an administrator":                      {"root", "carol", true, false},
		"one whom it names, of another cluster": {"carol", "carol", false, false},
	} {
		for _, request := range []struct {
			method, path string
			want         int // of those who may
		}{
			{"POST", "/programs?name=p", 200},
			{"POST", "/files?name=f&sha256=" + wordcountID, 200},
			{"GET", "/files/" + wordcountID, 200},
			{"POST", "/jars/upload", 400}, // of no form
			{"POST", "/jars/" + wordcountID + "/run", 200},
			{"GET", "/jars/" + wordcountID + "/plan", 200},
			{"DELETE", "/programs/" + wordcountID, 200},
			{"POST", "/jobs", 400}, // of no job
			{"PATCH", "/jobs/" + string(runningID) + "/clientHeartbeat", 202},
			{"GET", "/jobs/" + string(runningID) + "/result", 200},
		} {
			session := &fakeSession{}
			s := newServer(&fakeGateway{})
			s.config.Session = session
			s.config.Rights = Rights{Owner: "alice", Modify: ParseACL(test.modify), Admins: ParseACL("root"), Shared: test.shared}
			r := httptest.NewRequest(request.method, "https://am"+request.path, strings.NewReader(""))
			r.Header.Set("Content-Type", "application/json")
			r = r.WithContext(context.WithValue(r.Context(), connectionKey{}, &connection{caller: &caller{name: test.user}}))
			w := httptest.NewRecorder()
			s.secure().ServeHTTP(w, r)
			want := http.StatusForbidden
			if test.may {
				want = request.want
			}
			if w.Code != want || w.Code == http.StatusForbidden && session.asked() > 0 {
				t.Errorf("%s, %s %s: status %d, want %d: %s", name, request.method, request.path, w.Code, want, w.Body)
			}
		}
	}
}
