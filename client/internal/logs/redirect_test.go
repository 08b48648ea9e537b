package logs

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// attacker is a web server that requires a ticket of every client, and records the clients.
type attacker struct {
	*httptest.Server
	mu   sync.Mutex // guards came
	came []string   // requests, with their authorization
}

func newAttacker(t *testing.T) *attacker {
	t.Helper()
	a := new(attacker)
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.came = append(a.came, fmt.Sprintf("%s, which shows %q", r.URL, r.Header.Get("Authorization")))
		a.mu.Unlock()
		w.Header().Set("WWW-Authenticate", "Negotiate")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *attacker) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.came
}

// sendingTo answers each request with a redirection, before or after a ticket.
func sendingTo(t *testing.T, where string, code int, wantsTicket bool) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wantsTicket && r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", "Negotiate")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, where, code)
	}))
	t.Cleanup(server.Close)
	return server
}

// reportOf is the report of a container whose node's web server is at this address.
func reportOf(t *testing.T, address string) records.ContainerReport {
	t.Helper()
	id, err := records.ParseContainerID(containerID)
	if err != nil {
		t.Fatal(err)
	}
	return records.ContainerReport{ID: id, NodeHTTPAddress: address}
}

// TestTicketsGoNowhereThatARedirectionNames is an attack on plain HTTP: the attacker answers instead of a node,
// and redirects the client to a server that requires a ticket, such as a NameNode, from which the attacker
// wants a delegation token. The test would catch a client that follows the redirection. All servers here have
// the same host name, as a NodeManager and a NameNode may.
func TestTicketsGoNowhereThatARedirectionNames(t *testing.T) {
	t.Parallel()
	login := kdc{service: "HTTP/127.0.0.1", key: key()}
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, wantsTicket := range []bool{false, true} {
			for _, byLogServer := range []bool{false, true} {
				evil := newAttacker(t)
				node := sendingTo(t, evil.URL+"/webhdfs/v1/?op=GETDELEGATIONTOKEN&renewer=mallory", code, wantsTicket)
				web := Web{Client: node.Client(), User: "alice", Login: login}
				if byLogServer {
					web.LogServer = sendingTo(t, evil.URL, code, wantsTicket).URL
				}
				err := Live(t.Context(), web, reportOf(t, node.URL), func(Log, io.Reader) error { return nil })
				if !errors.Is(err, errSentOn) || !strings.Contains(err.Error(), evil.URL) {
					t.Errorf("status %d: got %v, want %v, and where to", code, err, errSentOn)
				}
				if came := evil.requests(); len(came) > 0 {
					t.Errorf("status %d, with a ticket for the node: %t, by the log server: %t: the attacker gets %q", code, wantsTicket, byLogServer, came)
				}
			}
		}
	}
}

// TestTheLogServerIsAskedWhereItIsConfigured would catch unreadable logs that the node has given to the log
// server, a ticket for another server, and a server that is asked because a redirection calls it the log
// server.
func TestTheLogServerIsAskedWhereItIsConfigured(t *testing.T) {
	t.Parallel()
	evil := newAttacker(t)
	node := sendingTo(t, evil.URL+"/ws/v1/applicationhistory/containers/"+containerID+"/logs", http.StatusTemporaryRedirect, false)
	const base = "/ws/v1/applicationhistory"
	var asked []string
	logServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", "Negotiate")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		asked = append(asked, r.URL.Path+"?"+r.URL.RawQuery)
		if strings.HasSuffix(r.URL.Path, "/logs") {
			fmt.Fprint(w, `{"containerLogsInfo":{"containerLogInfo":[{"fileName":"x"}]}}`)
			return
		}
		fmt.Fprint(w, wrapped("4", "one\n"))
	}))
	t.Cleanup(logServer.Close)
	web := Web{Client: node.Client(), User: "alice", Login: kdc{service: "HTTP/127.0.0.1", key: key()}, LogServer: logServer.URL + base + "/"}
	want := []found{{containerID, "x", "one\n", 4}}
	for name, look := range map[string]func(Visit) error{
		"for a container that runs": func(visit Visit) error { return Live(t.Context(), web, reportOf(t, node.URL), visit) },
		"at once":                   func(visit Visit) error { return Served(t.Context(), web, reportOf(t, "").ID, visit) },
		"as they grow": func(visit Visit) error {
			return (&Follower{Web: web}).Look(t.Context(), reportOf(t, node.URL), visit)
		},
	} {
		asked = nil
		var got []found
		err := look(func(l Log, content io.Reader) error {
			text, err := io.ReadAll(content)
			got = append(got, found{l.Container, l.Name, string(text), l.Size})
			return err
		})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		// The log server must not redirect to the node, which has redirected the client.
		for _, path := range asked {
			if !strings.HasPrefix(path, base+"/containers/"+containerID+"/logs") || !strings.Contains(path, "redirected_from_node=true") || !strings.Contains(path, "user.name=alice") {
				t.Errorf("%s: it is asked for %s", name, path)
			}
		}
	}
	if came := evil.requests(); len(came) > 0 {
		t.Errorf("the attacker gets %q", came)
	}
}

// TestTheSchemeIsTheClusters would catch a request for logs by plain HTTP if YARN's web servers use only TLS:
// for an ended container YARN reports the address of the node without a scheme.
func TestTheSchemeIsTheClusters(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"": "http://n1:8042", "HTTP_ONLY": "http://n1:8042", "HTTPS_ONLY": "https://n1:8042", "https_only": "https://n1:8042"} {
		properties := map[string]string{"yarn.log.server.web-service.url": "https://history:8190/ws/v1/applicationhistory"}
		if policy != "" {
			properties["yarn.http.policy"] = policy
		}
		web := WebOf(new(hadoopconf.Conf).With("test", properties), "alice", nil)
		if web.LogServer != properties["yarn.log.server.web-service.url"] {
			t.Errorf("the log server is %q", web.LogServer)
		}
		var asked []string
		web.Client = &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
			asked = append(asked, r.URL.Scheme+"://"+r.URL.Host)
			return &http.Response{StatusCode: http.StatusNotFound, Request: r, Header: http.Header{}, Body: http.NoBody}
		})}
		visit := func(Log, io.Reader) error { return nil }
		_ = Live(t.Context(), web, reportOf(t, "n1:8042"), visit)
		_ = Live(t.Context(), web, reportOf(t, "https://n2:8044"), visit) // as YARN reports of running containers
		if diff := cmp.Diff([]string{want, "https://n2:8044"}, asked); diff != "" {
			t.Errorf("under the policy %q (-want +got):\n%s", policy, diff)
		}
	}
	for _, address := range []string{"ftp://n1:21", "http://", "http://alice:x@n1:8042", "n1:8042/x", "n1:8042?x", "n 1:8042"} {
		if err := Live(t.Context(), Web{Client: http.DefaultClient}, reportOf(t, address), nil); err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("a node's address %q: %v", address, err)
		}
	}
}

// TestNoTicketPassesInTheClear would catch logs and a ticket on plain HTTP in a cluster whose policy forbids
// that, because the configured address of the log server is an old one.
func TestNoTicketPassesInTheClear(t *testing.T) {
	t.Parallel()
	evil := newAttacker(t) // where an attacker may listen
	node := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://history:8190/", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(node.Close)
	for _, address := range []string{evil.URL, strings.Replace(evil.URL, "http", "HTTP", 1)} {
		conf := new(hadoopconf.Conf).With("test", map[string]string{
			"yarn.http.policy": "HTTPS_ONLY", "yarn.log.server.web-service.url": address + "/ws/v1/applicationhistory",
		})
		web := WebOf(conf, "alice", kdc{service: "HTTP/127.0.0.1", key: key()})
		web.Client = node.Client()
		visit := func(Log, io.Reader) error { return nil }
		for name, look := range map[string]func() error{
			"for a container whose node sends on": func() error { return Live(t.Context(), web, reportOf(t, node.URL), visit) },
			"at once":                             func() error { return Served(t.Context(), web, reportOf(t, "").ID, visit) },
			"as a node":                           func() error { return Live(t.Context(), web, reportOf(t, evil.URL), visit) },
		} {
			err := look()
			if !errors.Is(err, ErrPlain) || !strings.Contains(err.Error(), strings.TrimPrefix(evil.URL, "http")) || !strings.Contains(err.Error(), "yarn.log.server.web-service.url") {
				t.Errorf("%s: got %v, want %v, of which server", name, err, ErrPlain)
			}
		}
	}
	if came := evil.requests(); len(came) > 0 {
		t.Errorf("by plain HTTP come %q", came)
	}
}
