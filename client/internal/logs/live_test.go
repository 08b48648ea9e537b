package logs

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	containerID = "container_1795248863750_0219_01_000001"
	logsPath    = "/ws/v1/node/containers/" + containerID + "/logs"
)

// wrapped is a log in the answer of a NodeManager of Hadoop 3.4.
func wrapped(length, content string) string {
	return `Container: container_1795248863750_0219_01_000001 on 127.0.0.2:24651
LogAggregationType: LOCAL
====================================================================
LogType:prelaunch.out
LogLastModifiedTime:Sat Nov 21 10:17:35 +0000 2026
LogLength:` + length + `
LogContents:
` + content + `End of LogType:prelaunch.out.This log file belongs to a running container (container_1795248863750_0219_01_000001) and so may not be complete.
******************************************************************************

`
}

// webServer answers like a NodeManager's web server, from a table of paths.
func webServer(t *testing.T, answers map[string]string) (*http.Client, records.ContainerReport) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.EscapedPath()]
		if !known || r.URL.Query().Get("user.name") != "alice" {
			http.Error(w, "no such log", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	id, err := records.ParseContainerID(containerID)
	if err != nil {
		t.Fatal(err)
	}
	return server.Client(), records.ContainerReport{
		ID: id, Node: records.NodeID{Host: "n1", Port: 1}, NodeHTTPAddress: strings.TrimPrefix(server.URL, "http://"),
	}
}

// live returns all logs of a container.
func live(ctx context.Context, web *http.Client, report records.ContainerReport) ([]found, error) {
	var all []found
	err := Live(ctx, Web{Client: web, User: "alice"}, report, func(l Log, content io.Reader) error {
		text, err := io.ReadAll(content)
		all = append(all, found{l.Container, l.Name, string(text), l.Size})
		return err
	})
	return all, err
}

// TestLiveLogsAreTheFiles would catch the NodeManager's frame around a log, a log that is cut at a text that
// looks like its end, and names that are no paths.
func TestLiveLogsAreTheFiles(t *testing.T) {
	const text = "one\nEnd of LogType:prelaunch.out\nLogContents:\ntwo\n"
	web, report := webServer(t, map[string]string{
		logsPath:                    `{"containerLogsInfo":{"containerLogInfo":[{"fileName":"prelaunch.out"},{"fileName":"empty"},{"fileName":"a b/c"},{"fileName":"odd"}]}}`,
		logsPath + "/prelaunch.out": wrapped("50", text),
		logsPath + "/empty":         wrapped("0", ""),
		logsPath + "/a%20b%2Fc":     "a plain answer\n",
		logsPath + "/odd":           wrapped("-1", "odd\n"),
	})
	got, err := live(t.Context(), web, report)
	if err != nil {
		t.Fatal(err)
	}
	want := []found{
		{containerID, "empty", "", 0},
		{containerID, "a b/c", "a plain answer\n", -1},
		{containerID, "odd", wrapped("-1", "odd\n"), -1},
		{containerID, "prelaunch.out", text, 50},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

// TestBothShapesOfAListingAreRead would catch a command that fails for a container without local logs, or with
// aggregated logs as well.
func TestBothShapesOfAListingAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		listing string
		want    int
	}{
		"one kind of logs":      {`{"containerLogsInfo":{"containerLogInfo":[{"fileName":"x"}],"logAggregationType":"LOCAL"}}`, 1},
		"two kinds of logs":     {`{"containerLogsInfo":[{"containerLogInfo":[{"fileName":"x"}]},{"containerLogInfo":[{"fileName":"x"}]}]}`, 2},
		"no logs yet":           {`{"containerLogsInfo":{"logAggregationType":"LOCAL"}}`, 0},
		"nothing of that shape": {`{}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			web, report := webServer(t, map[string]string{logsPath: c.listing, logsPath + "/x": wrapped("1", "x")})
			got, err := live(t.Context(), web, report)
			if err != nil || len(got) != c.want {
				t.Errorf("%d logs, %v; want %d", len(got), err, c.want)
			}
		})
	}
}

// TestALogHasAName would catch a listing that leads the client away from the container's logs.
func TestALogHasAName(t *testing.T) {
	for _, name := range []string{"", ".", ".."} {
		web, report := webServer(t, map[string]string{logsPath: `{"containerLogsInfo":{"containerLogInfo":[{"fileName":"` + name + `"}]}}`})
		if _, err := live(t.Context(), web, report); !errors.Is(err, errListing) || !strings.Contains(err.Error(), containerID) {
			t.Errorf("a log named %q: %v", name, err)
		}
	}
}

// TestFaultsOfNodesNameThem would catch an error that names neither the container nor the server.
func TestFaultsOfNodesNameThem(t *testing.T) {
	web, report := webServer(t, map[string]string{
		logsPath: `{"containerLogsInfo":{"containerLogInfo":[{"fileName":"gone"}]}}`,
	})
	if _, err := live(t.Context(), web, report); err == nil || !strings.Contains(err.Error(), "read log gone of "+containerID) || !strings.Contains(err.Error(), "404") {
		t.Errorf("a log that is gone: %v", err)
	}
	web, report = webServer(t, map[string]string{logsPath: `<html>`})
	if _, err := live(t.Context(), web, report); err == nil || !strings.Contains(err.Error(), containerID) {
		t.Errorf("an answer that is no JSON: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := live(ctx, web, report); !errors.Is(err, context.Canceled) {
		t.Errorf("a command that was ended: %v", err)
	}
	report.NodeHTTPAddress = ""
	if _, err := live(t.Context(), web, report); err == nil || !strings.Contains(err.Error(), containerID) {
		t.Errorf("a container without an address: %v", err)
	}
}

// TestAContainerThatIsBeingStartedHasNoLogs would catch that the logs of an application end with an error
// because a new container starts.
func TestAContainerThatIsBeingStartedHasNoLogs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Container is not yet running", http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	_, report := webServer(t, nil)
	report.NodeHTTPAddress = server.URL
	if all, err := live(t.Context(), server.Client(), report); err != nil || len(all) != 0 {
		t.Errorf("got %v and error %v, want nothing", all, err)
	}
}
