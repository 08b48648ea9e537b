package security

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// stranger is an address of this machine that is neither a node's nor the proxy's.
const stranger = "127.0.0.99"

// request is an attacker's request, byte by byte.
type request struct {
	from string // address
	tls  bool
	text string
}

// tryREST would catch a way around the owner's token: with another scheme, with the proxy's name, or from a page in the
// owner's browser.
func tryREST(t *testing.T, d *bobbintest.Dawdler) {
	job := "/jobs/" + d.Job
	const proxy = "127.0.0.1" // localhost, the ResourceManager's host
	evil, own := "Origin: https://evil.test", "Origin: https://"+host
	owner := "Authorization: Bearer " + d.Master.Access.Token
	ofSomebody := newTrickle(t, d.Master.Access.Address, "PATCH "+job+longBody())
	ofTheOwner := newTrickle(t, d.Master.Access.Address, "GET "+job+longBody(owner))
	for name, c := range map[string]struct {
		request
		want []int
	}{
		"the owner looks":                                      {request{stranger, true, "GET " + job + bearer(d.Master.Access.Token)}, []int{200}}, // otherwise the others prove nothing
		"somebody looks":                                       {request{stranger, true, "GET " + job + headers()}, []int{401}},
		"somebody cancels":                                     {request{stranger, true, "PATCH " + job + headers()}, []int{401}},
		"somebody shuts the cluster down":                      {request{stranger, true, "DELETE /cluster" + headers()}, []int{401}},
		"with a token that is not hers":                        {request{stranger, true, "GET " + job + bearer(strings.Repeat("A", len(d.Master.Access.Token)))}, []int{401}},
		"with the beginning of her token":                      {request{stranger, true, "GET " + job + bearer(d.Master.Access.Token[:8])}, []int{401}},
		"with no token":                                        {request{stranger, true, "GET " + job + bearer("")}, []int{401}},
		"with her token, in the clear":                         {request{stranger, false, "GET " + job + bearer(d.Master.Access.Token)}, []int{403}},
		"as the proxy, from elsewhere":                         {request{stranger, false, "GET " + job + headers("Cookie: proxy-user=alice", "X-Forwarded-For: "+proxy)}, []int{403}},
		"as the proxy, over TLS":                               {request{proxy, true, "GET " + job + headers("Cookie: proxy-user=alice")}, []int{401}},
		"the proxy looks, for dr.who, who is an administrator": {request{proxy, false, "GET " + job + headers()}, []int{200}},
		"the proxy cancels, for alice":                         {request{proxy, false, "PATCH " + job + headers("Cookie: proxy-user=alice")}, []int{403}},
		"a foreign page in the owner's browser cancels":        {request{stranger, true, "PATCH " + job + headers(owner, evil)}, []int{403}},
		"a page of the master's cancels what is not there":     {request{stranger, true, "PATCH /jobs/" + strings.Repeat("0", len(d.Job)) + headers(owner, own)}, []int{404}}, // otherwise the last one proves nothing
		"somebody with more headers than anybody ever needs":   {request{stranger, true, "GET " + job + headers("X: "+strings.Repeat("x", 1<<20))}, []int{431}},
	} {
		if got := c.send(t, d.Master.Access.Address); !slices.Contains(c.want, got) {
			t.Errorf("%s: status %d, want one of %v", name, got, c.want)
		}
	}
	checkBrowser(t, d)
	checkCut(t, ofSomebody, ofTheOwner)
}

// checkBrowser would catch a link that a user without the right gets, and a browser on a cluster with Kerberos whose cookie
// somebody else can use for more than a look.
func checkBrowser(t *testing.T, d *bobbintest.Dawdler) {
	t.Helper()
	if got := suite.User(t, bob).Run(t, "open", d.Application); got.Code != 1 || got.Stdout != "" {
		t.Errorf("bob gets a link: %s", got)
	}
	browser := d.User.Browse(t, d.Application)
	job := "/jobs/" + d.Job
	browser.CheckForgeries(t, http.MethodPatch, job)
	browser.CheckForgeries(t, http.MethodGet, job+"/result")
	if answer := browser.Ask(t, http.MethodGet, job, nil); answer.Status != http.StatusOK {
		t.Errorf("the browser looks: %s", answer)
	}
	if answer := browser.Change(t, http.MethodPatch, "/jobs/"+strings.Repeat("0", len(d.Job))); answer.Status != http.StatusNotFound {
		t.Errorf("the browser cancels what is not there: %s", answer) // otherwise the forgeries prove nothing
	}
	if answer := browser.Change(t, http.MethodDelete, "/access"); answer.Status != http.StatusOK {
		t.Errorf("the browser leaves: %s", answer)
	}
	if answer := browser.Change(t, http.MethodGet, job); answer.Status != http.StatusUnauthorized {
		t.Errorf("after that: %s", answer)
	}
}

// host is the server's name in requests.
const host = "master"

func bearer(token string) string { return headers("Authorization: Bearer " + token) }

// headers returns the remaining headers of a request.
func headers(lines ...string) string { return before(0, lines) }

// longBody returns the headers of a request with a body that no handler reads. The server reads the body to its end
// before the next request; net/http does so up to 256 KiB.
func longBody(lines ...string) string { return before(64<<10, lines) }

func before(length int, lines []string) string {
	return fmt.Sprintf(" HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n%s", host, length, strings.Join(append(lines, "\r\n"), "\r\n"))
}

// send returns the status of the answer.
func (r request) send(t *testing.T, address string) int {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(r.from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if r.tls {
		conn = tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}) // it has no secret to lose
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(tooLong)); err != nil {
		t.Fatal(err)
	}
	// A server that refuses need not read the whole request. Only its answer counts.
	_, sending := conn.Write([]byte(r.text))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("no answer: %v, %v", err, sending)
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

// trickle is a request whose body comes one byte at a time.
type trickle struct {
	conn  *tls.Conn
	began time.Time
}

// newTrickle sends the beginning of a request over TLS.
func newTrickle(t *testing.T, address, beginning string) *trickle {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) // the server has closed it
	if _, err := conn.Write([]byte(beginning)); err != nil {
		t.Fatal(err)
	}
	return &trickle{conn, time.Now()}
}

// checkCut sends bytes to all connections in turn, until the server has ended each of them, within tooLong.
func checkCut(t *testing.T, bodies ...*trickle) {
	t.Helper()
	wait.Satisfied(t, "the connections are cut on which bodies come slowly", func() error {
		bodies = slices.DeleteFunc(bodies, (*trickle).isCut)
		if len(bodies) == 0 {
			return nil
		}
		if lives := time.Since(bodies[0].began); lives > tooLong {
			return fmt.Errorf("%w: %d have lived for %v", wait.ErrGivenUp, len(bodies), lives)
		}
		return fmt.Errorf("%d live", len(bodies))
	})
}

// isCut sends one more byte.
func (b *trickle) isCut() bool {
	_ = b.conn.SetReadDeadline(time.Now().Add(wait.Interval)) // fails if Read does
	if _, err := b.conn.Read(make([]byte, 4096)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	_, _ = b.conn.Write([]byte{'x'}) // Read reports a closed connection
	return false
}
