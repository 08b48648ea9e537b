package logs

import (
	"bytes"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// FuzzLive reads what the web server of a node says: the list of a container's
// logs, and a log. It would catch a name that leads the client elsewhere, a log
// that is longer than it says, and one that is lost.
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

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
