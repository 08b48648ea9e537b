package yarn

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// TestADelegationTokensWholeLife would catch a token that other users can use, and one that is valid after its
// cancellation. A token of the ResourceManager logs its owner in. Its renewer extends its life. After the cancellation
// it is worthless.
func TestADelegationTokensWholeLife(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	ctx := t.Context()
	owner, renewer := rpctest.Client(t, c, clusters.Alice), rpctest.Client(t, c, "renewer")
	token, err := owner.DelegationToken(ctx, "renewer")
	if err != nil {
		t.Fatal(err)
	}
	if token.Kind != creds.KindRMDelegation || token.Service == "" || len(token.Password) == 0 {
		t.Errorf("token is %s", token)
	}
	told, err := identifier.DecodeDelegation(token)
	if err != nil || told.Owner != clusters.Alice || told.Renewer != "renewer" {
		t.Errorf("its identifier is %+v, %v", told, err)
	}

	expires, err := renewer.RenewDelegationToken(ctx, token)
	if left := time.Until(expires); err != nil || left < 23*time.Hour || left > 25*time.Hour {
		t.Errorf("renewed, it expires in %s, %v", left, err)
	}
	if _, err := owner.RenewDelegationToken(ctx, token); !refused(err) {
		t.Errorf("error for a renewal by somebody else is %v", err)
	}

	bearer, late := newBearer(t, c, token), newBearer(t, c, token)
	// With the token, the ResourceManager takes the client for the token's owner.
	created, err := bearer.NewApplication(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // by the owner, because the token ends earlier
		if err := owner.Kill(wait.Context(t), created.ID, "the test has ended"); err != nil {
			t.Errorf("kill %s: %v", created.ID, err)
		}
	})
	application := rpctest.Shell("exec sleep 1000")
	application.ID = created.ID
	report, err := bearer.Submit(ctx, application)
	if err != nil {
		t.Fatal(err)
	}
	if report.User != clusters.Alice {
		t.Errorf("the ResourceManager takes the bearer of the token for %s", report.User)
	}
	if app, err := c.RM().App(ctx, report.ID.String()); err != nil || app.User != clusters.Alice {
		t.Errorf("the ResourceManager says user %s, %v", app.User, err)
	}

	if err := owner.CancelDelegationToken(ctx, token); err != nil {
		t.Fatal(err)
	}
	if _, err := renewer.RenewDelegationToken(ctx, token); !refused(err) {
		t.Errorf("error for renewing it after it was cancelled is %v", err)
	}
	if _, err := late.ClusterMetrics(ctx); !errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("error for logging in with it after it was cancelled is %v", err)
	}
}

// newBearer makes a client with a token that claims to be another user.
func newBearer(t *testing.T, c *cluster.Cluster, token *creds.Token) *yarnclient.Client {
	t.Helper()
	o := rpctest.ClientOptions(t, c, "mallory")
	o.RPC.Token = creds.Fixed(token)
	return rpctest.NewClient(t, o)
}

// refused reports whether the ResourceManager refused.
func refused(err error) bool {
	_, remote := errors.AsType[*yarnrpc.RemoteError](err)
	return remote
}

// YARN checks the options also if there is nothing to renew: it bounds their size.
func TestTooManyOptionsForRenewalAreRefused(t *testing.T) {
	t.Parallel()
	client := rpctest.Client(t, clusters.Use(t, clusters.Features), rpctest.Me(t))
	application := rpctest.Shell("true")
	application.Container.RenewalConf = map[string]string{"dfs.nameservices": "far"}
	rpctest.Submit(t, client, application)
	const limit = 12800
	application.Container.RenewalConf["dfs.namenode.rpc-address.far"] = strings.Repeat("x", limit)
	created, err := client.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	application.ID = created.ID
	var remote *yarnrpc.RemoteError
	if _, err := client.Submit(t.Context(), application); !errors.As(err, &remote) || !strings.Contains(remote.Message, "max-conf-size-bytes") {
		t.Errorf("error for options of more than %d bytes: %v", limit, err)
	}
}
