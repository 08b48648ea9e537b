package production

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/clienttoam"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestOtherUsersComeByTokensOfYARN would catch rights that others have not been given, or
// have and cannot use, and a token that opens another application's door.
func TestOtherUsersComeByTokensOfYARN(t *testing.T) {
	alice, viewer := suite.User(t, bobbintest.Alice), suite.User(t, bob)
	shown := suite.Dawdle(t, alice, append(option("yarn.view.acls", bob), "-p", "1")...)
	lent := suite.Dawdle(t, alice, append(append(option("yarn.view.acls", bob), option("yarn.modify.acls", bob)...), "-p", "1")...)

	id := report(t, viewer, shown.Application).ID
	reached, err := viewer.Client(t).Reach(t.Context(), id, config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reached.Close)
	if state, err := reached.Job(t.Context(), ids.JobID(shown.Job)); err != nil || state.Status.GloballyTerminal() {
		t.Errorf("bob sees the job as %s, %v", state.Status, err)
	}
	if _, err := suite.User(t, small).Client(t).Reach(t.Context(), id, config.Config{}); !errors.Is(err, client.ErrNoAccess) {
		t.Errorf("a user whom nobody lets look: %v", err)
	}

	ofShown, ofLent := report(t, viewer, shown.Application), report(t, viewer, lent.Application)
	if conn, err := clienttoam.Dial(t.Context(), addressOf(ofLent), ofShown.ClientToAMToken); !errors.Is(err, clienttoam.ErrUnproven) {
		t.Errorf("the token for one application at another's door: %v", err)
		if err == nil {
			conn.Close()
		}
	}
	for _, c := range []struct {
		text string
		of   records.ApplicationReport
		want int
	}{
		{"PATCH /jobs/" + shown.Job, ofShown, http.StatusForbidden},
		{"DELETE /cluster", ofShown, http.StatusForbidden},
		{"GET /jobs/" + lent.Job + "/result", ofLent, http.StatusForbidden}, // the owner's alone
		{"PATCH /jobs/" + lent.Job, ofLent, http.StatusAccepted},
	} {
		if got := bobAsks(t, c.of, c.text); got != c.want {
			t.Errorf("bob's %s: status %d, want %d", c.text, got, c.want)
		}
	}
	lent.CheckFails(t, "FINISHED", "KILLED", "CANCELED")
	shown.CheckSucceeds(t)
}

func addressOf(r records.ApplicationReport) string {
	return net.JoinHostPort(r.Host, strconv.Itoa(r.RPCPort))
}

// bobAsks sends a request over a connection on which bob has proven himself, and
// gives the status of the answer.
func bobAsks(t *testing.T, of records.ApplicationReport, text string) int {
	t.Helper()
	conn, err := clienttoam.Dial(t.Context(), addressOf(of), of.ClientToAMToken)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(text + headers())); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}
