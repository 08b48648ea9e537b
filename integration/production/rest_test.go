package production

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
)

// stranger is an address of this machine that is neither a node's nor the proxy's.
const stranger = "127.0.0.99"

// request is one that an attacker sends, byte by byte as it stands here.
type request struct {
	from string // address
	tls  bool
	text string
}

// TestRESTLetsOnlyTheOwnerIn would catch a way past the owner's token: by another
// scheme, by the proxy's name, or by a page that a browser of hers shows.
func TestRESTLetsOnlyTheOwnerIn(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "1")
	job := "/jobs/" + d.Job
	const proxy = "127.0.0.1" // localhost, where the ResourceManager is
	for name, c := range map[string]struct {
		request
		want []int
	}{
		"the owner looks":                                      {request{stranger, true, "GET " + job + bearer(d.Master.Access.Token)}, []int{200}}, // or the others prove nothing
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
		"the proxy cancels, for alice":                         {request{proxy, false, "PATCH " + job + headers("Cookie: proxy-user=alice")}, []int{403, 405}},
		"the proxy cancels, for a foreign page":                {request{proxy, false, "PUT " + job + headers("Cookie: proxy-user=alice", "Origin: http://evil.test", "Sec-Fetch-Site: cross-site")}, []int{403, 404, 405}},
		"somebody with more headers than anybody ever needs":   {request{stranger, true, "GET " + job + headers("X: "+strings.Repeat("x", 1<<20))}, []int{431}},
	} {
		if got := c.send(t, d.Master.Access.Address); !slices.Contains(c.want, got) {
			t.Errorf("%s: status %d, want one of %v", name, got, c.want)
		}
	}
	if now := d.Details(t); now.State.GloballyTerminal() {
		t.Fatalf("the job is %s", now.State)
	}
	d.CheckSucceeds(t)
}

func bearer(token string) string { return headers("Authorization: Bearer " + token) }

// headers are the rest of a request.
func headers(lines ...string) string {
	return " HTTP/1.1\r\nHost: master\r\nContent-Length: 0\r\n" + strings.Join(append(lines, "\r\n"), "\r\n")
}

// send gives the status of the answer.
func (r request) send(t *testing.T, address string) int {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(r.from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if r.tls {
		conn = tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}) // it has nothing to lose
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(bobbintest.Patience)); err != nil {
		t.Fatal(err)
	}
	// A server that refuses need not read to the end; what counts is its answer.
	_, sending := conn.Write([]byte(r.text))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("no answer: %v, %v", err, sending)
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}
