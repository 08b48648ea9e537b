package logs

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// growing answers like a NodeManager whose containers write logs.
type growing struct {
	listed, content string // sizes of the log: when it was listed, and when it was read
	asked           int    // number of requests for a log
}

func (n *growing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == logsPath {
		fmt.Fprintf(w, `{"containerLogsInfo":{"containerLogInfo":[{"fileName":"x","fileSize":"%d"},{"fileName":"other","fileSize":"7"}]}}`, len(n.listed))
		return
	}
	n.asked++
	size, err := strconv.Atoi(r.URL.Query().Get("size"))
	if err != nil || size >= 0 || r.URL.Path != logsPath+"/x" {
		http.Error(w, "no such log", http.StatusNotFound)
		return
	}
	content := n.content[max(0, len(n.content)+size):]
	fmt.Fprint(w, wrapped(strconv.Itoa(len(n.content)), content))
}

// TestLogsAreFollowed would catch a line that is printed twice or never, and a log of a hundred megabytes that
// is fetched again and again without new content.
func TestLogsAreFollowed(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 2*slack/16)
	n := new(growing)
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	id, err := records.ParseContainerID(containerID)
	if err != nil {
		t.Fatal(err)
	}
	report := records.ContainerReport{ID: id, NodeHTTPAddress: server.URL}
	f := &Follower{Web: Web{Client: server.Client(), User: "alice"}, Wants: func(_, name string) bool { return name == "x" }}
	var got bytes.Buffer
	visit := func(_ Log, content io.Reader) error {
		_, err := io.Copy(&got, content)
		return err
	}
	for _, c := range []struct {
		name, listed, content, want string
		asked                       int
	}{
		{"nothing yet", "", "", "", 0},
		{"the first lines", "a\nb\n", "a\nb\n", "a\nb\n", 1},
		{"nothing more", "a\nb\n", "a\nb\n", "", 0},
		{"more, and more since it was listed", "a\nb\nc\n", "a\nb\nc\nd", "c\nd", 1},
		{"nothing more but what was read already", "a\nb\nc\nd", "a\nb\nc\nd", "", 0},
		{"more than was asked for", "a\nb\nc\nd\n", "a\nb\nc\nd\n" + long, "\n" + long, 2},
		{"another file of that name", "new\n", "new\n", "new\n", 1},
	} {
		got.Reset()
		n.listed, n.content, n.asked = c.listed, c.content, 0
		err := f.Look(t.Context(), report, visit)
		if diff := cmp.Diff(c.want, got.String()); err != nil || n.asked != c.asked || diff != "" {
			t.Errorf("%s: %v, asked %d times (-want +got):\n%.500s", c.name, err, n.asked, diff)
		}
	}
	got.Reset()
	rest := f.Rest(visit)
	for _, l := range []struct{ name, content string }{{"x", "new\nlast\n"}, {"other", "1234567"}} {
		if err := rest(Log{Container: containerID, Name: l.name, Size: int64(len(l.content))}, strings.NewReader(l.content)); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff("last\n", got.String()); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
}
