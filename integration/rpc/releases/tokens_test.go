package releases

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// resourceManagerTokens tests a delegation token from its issue to its cancellation.
func (p *place) resourceManagerTokens(t *testing.T) {
	owner := rpctest.Client(t, p.Cluster, alice)
	token, err := owner.DelegationToken(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	var seen rpctest.Connections
	o := rpctest.ClientOptions(t, p.Cluster, bob)
	o.RPC.Login, o.RPC.Token, o.RPC.Opened = nil, creds.Fixed(token), seen.Add
	bearer := rpctest.NewClient(t, o)
	if queues, err := bearer.QueueUserACLs(t.Context()); err != nil || len(queues) == 0 {
		t.Errorf("with the token: %+v, %v", queues, err)
	}
	seen.Check(t, 1, p.byToken())
	if _, err := rpctest.Client(t, p.Cluster, bob).RenewDelegationToken(t.Context(), token); err != nil {
		t.Errorf("renew it: %v", err)
	}
	if err := owner.CancelDelegationToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if _, err := rpctest.NewClient(t, o).QueueUserACLs(t.Context()); !errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("with the token after it was cancelled: got %v, want ErrInvalidToken", err)
	}
}

// nameNodeTokens does the same with the NameNode, which issues no tokens without Kerberos.
func (p *place) nameNodeTokens(t *testing.T) {
	var logins, bearers rpctest.Connections
	o := rpctest.NameNodeOptions(t, p.Cluster, alice)
	o.Opened = logins.Add
	const service = "127.0.0.1:1" // for files, of which there are none here
	token, err := rpctest.NameNode(t, p.Cluster, o).DelegationToken(t.Context(), service, bob)
	logins.Check(t, 1, p.byLogin("nn"))
	if p.protection == simple {
		if !errors.Is(err, hdfs.ErrNoDelegationTokens) {
			t.Errorf("got %v, want ErrNoDelegationTokens", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	renewer := rpctest.NameNode(t, p.Cluster, rpctest.NameNodeOptions(t, p.Cluster, bob))
	if _, err := renewer.RenewDelegationToken(t.Context(), token); err != nil {
		t.Errorf("renew it: %v", err)
	}
	o.Login, o.Token, o.Opened = nil, creds.Fixed(token), bearers.Add
	if err := rpctest.NameNode(t, p.Cluster, o).CancelDelegationToken(t.Context(), token); err != nil {
		t.Errorf("cancel it, with itself: %v", err)
	}
	bearers.Check(t, 1, p.byToken())
}
