package logs

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// FuzzLive reads answers of a node's web server: the list of a container's logs, and a log. It would catch a
// name that leads the client to another URL, a log that is longer than its stated length, and a lost log.
func FuzzLive(f *testing.F) {
	f.Add([]byte(`{"containerLogsInfo":{"containerLogInfo":[{"fileName":"prelaunch.out"},{"fileName":"a b/c"}]}}`), []byte(wrapped("4", "one\n")))
	f.Add([]byte(`{"containerLogsInfo":[null,{"containerLogInfo":[{"fileName":".."},{"fileName":""},{}]}]}`), []byte(wrapped("-1", "x")))
	f.Add([]byte(`{"containerLogsInfo":"x"}`), []byte("Container: \nLogLength:9223372036854775807\nLogContents:\n"))
	id, err := records.ParseContainerID(containerID)
	if err != nil {
		f.Fatal(err)
	}
	report := records.ContainerReport{ID: id, NodeHTTPAddress: "n1:8042"}
	f.Fuzz(func(t *testing.T, list, body []byte) {
		var asked []string
		web := &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
			asked = append(asked, r.URL.EscapedPath())
			answer := list
			if r.URL.Path != logsPath {
				answer = body
			}
			if where := path.Clean(r.URL.Path); r.URL.Host != "n1:8042" || where != logsPath && !strings.HasPrefix(where, logsPath+"/") {
				t.Errorf("the client asks %s", r.URL)
			}
			return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer))}
		})}
		visited := 0
		err := Live(t.Context(), Web{Client: web, User: "alice"}, report, func(l Log, content io.Reader) error {
			visited++
			text, err := io.ReadAll(content)
			if l.Name == "" || l.Size >= 0 && int64(len(text)) > l.Size || !bytes.Contains(body, text) {
				t.Errorf("log %q of %d bytes holds %q", l.Name, l.Size, text)
			}
			return err
		})
		switch {
		case err == nil && visited != len(asked)-1:
			t.Errorf("%d logs of %q were visited", visited, asked)
		case err != nil && !strings.Contains(err.Error(), containerID):
			t.Errorf("error %v does not name the container", err)
		}
	})
}

// FuzzWeb reads the first answer of a node's web server, and the next one, of that server or of the log server.
// It would catch a request to where an answer leads, a ticket that goes to a server that has not asked for it,
// or goes there again and again, and the acceptance of an answer of another kind.
func FuzzWeb(f *testing.F) {
	f.Add(uint16(200), uint16(200), "", "", []byte("a log"))
	f.Add(uint16(401), uint16(200), "", "Negotiate", []byte("a log"))
	f.Add(uint16(401), uint16(401), "", "negotiate", []byte{})
	f.Add(uint16(401), uint16(302), "http://nn:9870/webhdfs/v1/?op=GETDELEGATIONTOKEN", "Negotiate", []byte{})
	f.Add(uint16(307), uint16(200), "http://history:8188/ws/v1/applicationhistory/containers/"+containerID+"/logs", "Basic realm=x", []byte("a log"))
	f.Add(uint16(307), uint16(401), "https://n1:8042@evil/", "Negotiate", []byte{})
	f.Add(uint16(308), uint16(307), "//evil:80/\x00\u202e", "", []byte{})
	f.Add(uint16(503), uint16(200), "", "", []byte("not yet running"))
	f.Add(uint16(304), uint16(0), "http://%zz", "Negotiate YIIB", []byte{})
	node, err := sasl.IssueTicket("alice", "HTTP/n1", "EXAMPLE.ORG", key(), time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	id, err := records.ParseContainerID(containerID)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, then uint16, location, challenge string, body []byte) {
		asked, shown, sentOn := make(map[string]int), 0, false
		wanted := false // by the server that answered last
		web := Web{User: "alice", Login: oneTicket{ticket: node}, LogServer: "http://history:8188/ws/v1/applicationhistory"}
		web.Client = &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
			asked[r.URL.Scheme+"://"+r.URL.Host]++
			if r.Header.Get("Authorization") != "" {
				shown++
				if !wanted {
					t.Errorf("a ticket goes to %s, which has asked for none", r.URL)
				}
			}
			code := int(then)
			if len(asked) == 1 && asked["http://n1:8042"] == 1 {
				code = int(first)
			}
			header := http.Header{"Location": {location}, "Www-Authenticate": {challenge}}
			wanted = code == http.StatusUnauthorized && strings.EqualFold(challenge, "Negotiate")
			sentOn = sentOn || code/100 == 3
			return &http.Response{StatusCode: code, Status: http.StatusText(code), Request: r, Header: header, Body: io.NopCloser(bytes.NewReader(body))}
		})}
		at, err := shelfOf(web, records.ContainerReport{ID: id, NodeHTTPAddress: "n1:8042"})
		if err != nil {
			t.Fatal(err)
		}
		reads := 0
		err = at.get(t.Context(), "x", nil, "text/plain", func(content io.Reader) error {
			reads++
			text, err := io.ReadAll(content)
			if !bytes.Equal(text, body) {
				t.Errorf("read %q of %q", text, body)
			}
			return err
		})
		onNode, onServer := asked["http://n1:8042"], asked["http://history:8188"]
		if len(asked) > 2 || len(asked) == 2 && onServer == 0 || onNode > 2 || onServer > 2 || onServer > 0 && !sentOn {
			t.Errorf("asked %v, and sent on %t to %q", asked, sentOn, location)
		}
		if shown > 2 || err == nil != (reads == 1) {
			t.Errorf("%d tickets are shown, %d answers read, error %v", shown, reads, err)
		}
	})
}

// oneTicket is a Login with a ticket for one server, which it gives for every server.
type oneTicket struct {
	yarnrpc.Login
	ticket *sasl.Ticket
}

func (o oneTicket) Ticket(context.Context, string) (*sasl.Ticket, error) { return o.ticket, nil }

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
