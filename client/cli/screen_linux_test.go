package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// hostile is a text from another user: it clears the screen, overwrites its own line, and turns the direction
// of the following text.
const hostile = "mallory\x1b[2J\u009b2J\rall is well\u202e"

// TestOthersTextDoesNothingToWhoRunsACommand would catch a command whose output or errors go to the terminal
// without the filter. The name of an application, its diagnostics, its logs or a server's exception could then
// control the user's terminal.
func TestOthersTextDoesNothingToWhoRunsACommand(t *testing.T) {
	logServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == "logs" {
			fmt.Fprint(w, `{"containerLogsInfo":{"containerLogInfo":[{"fileName":"stdout","fileSize":"1"}]}}`)
			return
		}
		fmt.Fprint(w, hostile)
	}))
	t.Cleanup(logServer.Close)
	fake := startYARN(t, yarnfake.Config{Run: forever, Heartbeat: -1})
	env := environment(t, fake.Conf().With("test", map[string]string{"yarn.log.server.web-service.url": logServer.URL}))
	mallory := yarnAs(t, fake, "mallory")
	running, ended := submitNamed(t, mallory, hostile), submitNamed(t, mallory, hostile)
	fake.Beat() // their ApplicationMasters get containers
	if err := mallory.Kill(t.Context(), ended, hostile); err != nil {
		t.Fatal(err)
	}
	gone := records.ContainerID{Attempt: records.ApplicationAttemptID{Application: running, Attempt: 1}, ID: 2}
	for _, c := range []struct {
		line    string
		refused string // method of YARN's that answers with the text; "": none
		stderr  bool   // it is told there
	}{
		{line: "applications"},
		{line: "applications -a -o json"},
		{line: "status -id " + ended.String()},
		{line: "status -o json -id " + ended.String()},
		{line: "list -a -id " + ended.String(), stderr: true},
		{line: "logs --container " + gone.String() + " " + running.String()},
		{line: "applications", refused: "getApplications", stderr: true},
		{line: "session query", refused: "getClusterNodes", stderr: true},
		{line: "session attach -id " + running.String(), refused: "getApplicationReport", stderr: true},
		{line: "cancel -id " + running.String() + " " + string(runningJob), refused: "getApplicationReport", stderr: true},
		{line: "logs " + running.String(), refused: "getApplicationReport", stderr: true},
		{line: "kill " + running.String(), refused: "forceKillApplication", stderr: true},
	} {
		if c.refused != "" {
			fake.Refuse(c.refused, yarnfake.Before, "org.apache.hadoop.yarn.exceptions.YarnException", hostile)
		}
		stdout, out := ptytest.Watch(t)
		stderr, errs := ptytest.Watch(t)
		Run(t.Context(), process(t, env, strings.NewReader(""), stdout, stderr, strings.Fields(c.line)...))
		shown, beside := out(), errs()
		if c.stderr {
			shown, beside = beside, shown
		}
		if !strings.Contains(shown, "mallory") || !strings.Contains(shown, "all is well") {
			t.Errorf("%s does not show the text: %q, beside %q", c.line, shown, beside)
		}
		for _, text := range []string{shown, beside} {
			if terminal.VisibleLines(text) != text {
				t.Errorf("%s shows %q", c.line, text)
			}
		}
	}
}

// submitNamed submits an application with this name.
func submitNamed(t *testing.T, yarn *yarnclient.Client, name string) records.ApplicationID {
	t.Helper()
	created, err := yarn.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = yarn.Submit(t.Context(), records.SubmissionContext{
		ID: created.ID, Name: name, Type: "Bobbin", Resource: records.Resource{MemoryMB: 128, VCores: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return created.ID
}
