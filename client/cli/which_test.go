package cli

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// TestAnAddressIsOnesOwn is the attack of a user who registers his own applications under the address of bob's, so that
// YARN lists one of them before it and one behind. It would catch a command of bob's that takes whichever comes first.
func TestAnAddressIsOnesOwn(t *testing.T) {
	t.Parallel()
	fake, err := yarnfake.Start(yarnfake.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fake.Stop(); err != nil {
			t.Error(err)
		}
	})
	as := func(user string) *yarnclient.Client {
		o, err := yarnclient.FromConf(fake.Conf(), user)
		if err != nil {
			t.Fatal(err)
		}
		yarn := yarnclient.New(o)
		t.Cleanup(func() { yarn.Close() })
		return yarn
	}
	mallory, bob := as("mallory"), as("bob")
	var bobs records.ApplicationID
	for _, yarn := range []*yarnclient.Client{mallory, bob, mallory} {
		created, err := yarn.NewApplication(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		report, err := yarn.Submit(t.Context(), records.SubmissionContext{ID: created.ID, Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1}})
		if err != nil {
			t.Fatal(err)
		}
		masters, err := amrm.FromConf(fake.Conf())
		if err != nil {
			t.Fatal(err)
		}
		masters.Attempt, masters.Token = report.Attempt, report.AMRMToken
		rm := amrm.New(masters)
		t.Cleanup(func() { rm.Close() })
		if _, err := rm.Register(t.Context(), amrm.RegisterRequest{Host: "node1", RPCPort: 4711}); err != nil {
			t.Fatal(err)
		}
		if yarn == bob {
			bobs = created.ID
		}
	}
	id, err := applicationAt(t.Context(), &client.Cluster{User: "bob", YARN: bob}, "node1:4711")
	if err != nil || id != bobs {
		t.Errorf("got %s, %v, want bob's %s", id, err, bobs)
	}
}
