package cli

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// TestAnAddressIsOnesOwn is the attack of a user who registers two applications under the address of bob's, so
// that YARN lists one before it and one after it. It would catch a command of bob that takes the first one.
func TestAnAddressIsOnesOwn(t *testing.T) {
	t.Parallel()
	fake := startYARN(t, yarnfake.Config{ClientTokens: true})
	mallory, bob := yarnAs(t, fake, "mallory"), yarnAs(t, fake, "bob")
	var bobs records.ApplicationID
	for _, yarn := range []*yarnclient.Client{mallory, bob, mallory} {
		report, rm := submitUnmanaged(t, fake, yarn)
		if _, err := rm.Register(t.Context(), amrm.RegisterRequest{Host: "node1", RPCPort: 4711}); err != nil {
			t.Fatal(err)
		}
		if yarn == bob {
			bobs = report.ID
		}
	}
	id, err := applicationAt(t.Context(), &client.Cluster{User: "bob", YARN: bob}, "node1:4711")
	if err != nil || id != bobs {
		t.Errorf("got %s, %v, want bob's %s", id, err, bobs)
	}
}
