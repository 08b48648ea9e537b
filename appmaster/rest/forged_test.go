package rest

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	gokrb5 "github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/spnego"
	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// forge makes a token in any user's name with the key of a service, without a KDC. Servers that trust the
// key accept it.
func forge(t *testing.T, who, service string) string {
	t.Helper()
	const realm = "EXAMPLE.ORG"
	ticket, err := sasl.IssueTicket(who, service, realm, credstest.Key(t, service+"@"+realm), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	init, err := gokrb5.NewNegTokenInitKRB5(client.NewWithPassword(who, realm, "", config.New()), ticket.Ticket, ticket.Key)
	if err != nil {
		t.Fatal(err)
	}
	token, err := (&gokrb5.SPNEGOToken{Init: true, NegTokenInit: init}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return "Negotiate " + base64.StdEncoding.EncodeToString(token)
}

// TestTheKeyForHTTPRunsNothing is the attack of a process that can read the keytab on a node. Where
// containers of all users run as one user, each of them can. The attacker forges tickets in the names of
// the owner and of users of the session. It would catch such a ticket that runs code as the owner, or
// fetches a result, or ends the cluster; and a ticket with the owner's own key that is refused.
func TestTheKeyForHTTPRunsNothing(t *testing.T) {
	t.Parallel()
	job := "/jobs/" + string(runningID)
	requests := []struct {
		method, path string
		want         [3]int // of the owner's name, of carol's, and of the owner's by his own key
	}{
		{"GET", "/jobs", [3]int{200, 403, 200}},
		{"GET", "/programs", [3]int{200, 403, 200}},
		{"POST", "/programs?name=evil", [3]int{403, 403, 200}},
		{"POST", "/files?name=evil&sha256=" + wordcountID, [3]int{403, 403, 200}},
		{"GET", "/files/" + wordcountID, [3]int{403, 403, 200}},
		{"POST", "/jars/upload", [3]int{403, 403, 400}}, // of no form
		{"POST", "/jars/" + wordcountID + "/run", [3]int{403, 403, 200}},
		{"POST", "/programs/" + wordcountID + "/plan", [3]int{403, 403, 200}},
		{"GET", "/jars/" + wordcountID + "/plan", [3]int{403, 403, 200}},
		{"DELETE", "/programs/" + wordcountID, [3]int{403, 403, 200}},
		{"DELETE", "/drivers/" + driverID, [3]int{403, 403, 200}},
		{"POST", "/jobs", [3]int{403, 403, 400}}, // of no job
		{"PATCH", job + "/clientHeartbeat", [3]int{403, 403, 202}},
		{"GET", job + "/result", [3]int{403, 403, 200}},
		{"GET", job + "/collect/top", [3]int{403, 403, 200}},
		{"PATCH", job, [3]int{403, 202, 202}}, // yarn.modify.acls names carol
		{"DELETE", "/cluster", [3]int{403, 200, 200}},
	}
	for i, c := range []struct{ who, service string }{{"alice", "HTTP/am"}, {"carol", "HTTP/am"}, {"alice", "alice"}} {
		path := filepath.Join(t.TempDir(), "http.keytab")
		credstest.Keytab(t, path, c.service+"@EXAMPLE.ORG")
		tickets, err := spnego.Load(path, c.service+"@EXAMPLE.ORG", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, request := range requests {
			g, session := &fakeGateway{}, &fakeSession{}
			s := newServer(g)
			s.config.Session, s.config.Negotiator, s.config.ShortName = session, tickets, shortName
			s.config.Rights = Rights{Owner: "alice", Modify: ParseACL("carol"), Shared: true, Enforced: true}
			r := httptest.NewRequest(request.method, "https://am:4711"+request.path, strings.NewReader(""))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", forge(t, c.who, c.service))
			w := httptest.NewRecorder()
			s.secure().ServeHTTP(w, r)
			if w.Code != request.want[i] {
				t.Errorf("%s by the key of %s, %s %s: status %d, want %d: %s", c.who, c.service, request.method, request.path, w.Code, request.want[i], w.Body)
			}
			if w.Code == http.StatusForbidden && (session.asked() > 0 || g.shut || len(g.cancelled)+len(g.waits)+len(g.seen)+len(g.cursors) > 0) {
				t.Errorf("%s by the key of %s, %s %s: it is refused, and done", c.who, c.service, request.method, request.path)
			}
			if w.Code == http.StatusForbidden && c.who == "alice" && !strings.Contains(w.Body.String(), "bobbin command") {
				t.Errorf("%s %s: the owner is not told what to do: %s", request.method, request.path, w.Body)
			}
		}
	}
}
