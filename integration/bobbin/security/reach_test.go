package security

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// reach connects to an application as a user's command does.
func reach(t *testing.T, u *bobbintest.User, application string) (*client.ClusterClient, error) {
	t.Helper()
	id, err := records.ParseApplicationID(application)
	if err != nil {
		t.Fatal(err)
	}
	c, err := u.Client(t).Reach(t.Context(), id)
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// ask sends one request on a connection that a token of YARN's has opened, and returns the status.
func ask(t *testing.T, address string, token *creds.Token, method, path string) (int, error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return clienttoam.Dial(ctx, address, token)
	}}
	request, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// TestOthersReachTheMasterByTokensOfYARN would catch a password that YARN computes differently, a
// principal that is not a user's name, and a user who gets more rights than the access lists give.
func TestOthersReachTheMasterByTokensOfYARN(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice, viewer, stranger := suite.User(t, bobbintest.Alice), suite.User(t, bob), suite.User(t, small)
	d := suite.Dawdle(t, alice, append(append(option("yarn.view.acls", bob), option("yarn.application-attempts", 2)...), "-p", "2", "-s", "1")...)
	looks := func(u *bobbintest.User) *client.ClusterClient {
		c, err := reach(t, u, d.Application)
		if err != nil {
			t.Fatal(err)
		}
		if job, err := c.Job(t.Context(), ids.JobID(d.Job)); err != nil || job.Status != msg.JobRunning {
			t.Errorf("%s sees the job as %+v, %v", u.Name, job, err)
		}
		return c
	}
	looks(alice)
	theirs := looks(viewer)
	_, err := theirs.Result(t.Context(), ids.JobID(d.Job))
	if status, ok := errors.AsType[*client.StatusError](err); !ok || status.Status != http.StatusForbidden {
		t.Errorf("bob fetches the result: %v", err)
	}
	if _, err := reach(t, stranger, d.Application); !errors.Is(err, client.ErrNoAccess) {
		t.Errorf("a user without the right to look: %v", err)
	}

	seen := viewer.Report(t, d.Application)
	address := net.JoinHostPort(seen.Host, strconv.Itoa(seen.RPCPort))
	if got, err := ask(t, address, seen.ClientToAMToken, http.MethodPatch, "/jobs/"+d.Job); got != http.StatusForbidden {
		t.Errorf("bob cancels: status %d, %v", got, err)
	}
	owners := alice.Report(t, d.Application).ClientToAMToken
	forged := owners.Clone()
	forged.Password = seen.ClientToAMToken.Password
	if _, err := ask(t, address, forged, http.MethodGet, "/jobs"); !errors.Is(err, clienttoam.ErrUnproven) {
		t.Errorf("bob in alice's name: %v", err)
	}

	d.First(t, bobbintest.ApplicationMaster).Kill(t)
	d.AwaitSuccessor(t)
	if _, err := theirs.Job(t.Context(), ids.JobID(d.Job)); !client.Unreachable(err) {
		t.Errorf("the master that was killed: %v", err)
	}
	looks(viewer)
	if _, err := ask(t, d.Master.Access.Address, seen.ClientToAMToken, http.MethodGet, "/jobs"); !errors.Is(err, clienttoam.ErrUnproven) {
		t.Errorf("a token for the first attempt at the second: %v", err)
	}
	d.CheckSucceeds(t)
}
