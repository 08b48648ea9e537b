package security

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestAnotherUserMayChangeWhatIsLent would catch the right to change an application that has no effect on REST, or that
// extends to other applications, and a token that is valid for another application.
func TestAnotherUserMayChangeWhatIsLent(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice, borrower := suite.User(t, bobbintest.Alice), suite.User(t, bob)
	view := option("yarn.view.acls", bob)
	shown := suite.Dawdle(t, alice, append(view, "-p", "1")...)
	lent := suite.Dawdle(t, alice, append(append(view, option("yarn.modify.acls", bob)...), "-p", "1")...)
	ofShown, ofLent := borrower.Report(t, shown.Application), borrower.Report(t, lent.Application)

	if _, err := ask(t, addressOf(ofLent), ofShown.ClientToAMToken, http.MethodGet, "/jobs"); !errors.Is(err, clienttoam.ErrUnproven) {
		t.Errorf("the token for one application at another application: %v", err)
	}
	for _, c := range []struct {
		of           records.ApplicationReport
		method, path string
		want         int
	}{
		{ofShown, http.MethodDelete, "/cluster", http.StatusForbidden},
		{ofLent, http.MethodGet, "/jobs/" + lent.Job + "/result", http.StatusForbidden}, // only the owner's
		{ofLent, http.MethodPatch, "/jobs/" + lent.Job, http.StatusAccepted},
	} {
		if got, err := ask(t, addressOf(c.of), c.of.ClientToAMToken, c.method, c.path); err != nil || got != c.want {
			t.Errorf("bob's %s %s: status %d, %v, want %d", c.method, c.path, got, err, c.want)
		}
	}
	lent.CheckFails(t, "FINISHED", "KILLED", "CANCELED")
	shown.CheckSucceeds(t)
}

func addressOf(r records.ApplicationReport) string {
	return net.JoinHostPort(r.Host, strconv.Itoa(r.RPCPort))
}
