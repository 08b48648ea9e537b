package kerberos

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// TestProtectionOnTheSocket runs the life of an application with each protection and looks at the bytes on the socket.
// It would catch a direction without protection under privacy, and a record that proves nothing because it is empty.
func TestProtectionOnTheSocket(t *testing.T) {
	t.Parallel()
	for protection, want := range map[string]struct {
		qop      sasl.QOP
		readable bool
	}{
		"authentication": {sasl.QOPAuthentication, true},
		"integrity":      {sasl.QOPIntegrity, true},
		"privacy":        {sasl.QOPPrivacy, false},
	} {
		t.Run(protection, func(t *testing.T) {
			t.Parallel()
			var c *cluster.Cluster
			if protection == "privacy" {
				c = clusters.Use(t, clusters.Secure)
			} else {
				cluster.Long(t)
				c = clusters.Own(t, cluster.Config{NodeManagers: 1, Kerberos: &cluster.Kerberos{Protection: protection}})
			}
			offers, err := c.Offers(t.Context(), c.RMAddress())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(offers.Methods, []string{"TOKEN", "KERBEROS"}) || !slices.Equal(offers.QOPs, []sasl.QOP{want.qop}) {
				t.Fatalf("the resourcemanager offers %+v", offers)
			}
			var socket bobbintest.Tap
			o := rpctest.ClientOptions(t, c, alice)
			o.RPC.Dial = socket.Dial
			const name = "an-application-that-nobody-may-read-of"
			report := pass(t, rpctest.NewClient(t, o), name)
			if report.Name != name || report.User != alice {
				t.Errorf("the report says %s of %s", report.Name, report.User)
			}
			socket.Check(t, name, want.readable, want.readable)
			socket.Check(t, "submitApplication", want.readable, false)
			socket.Check(t, "GSSAPI", true, true) // the login, which comes before
			tokensStandIn(t, c)
			tokensProtect(t, c, want.qop)
			filesAreProtected(t, c, want.readable)
		})
	}
}

// pass submits an application, gets its report, and kills it. None of its masters starts.
func pass(t *testing.T, client *yarnclient.Client, name string) records.ApplicationReport {
	t.Helper()
	created, err := client.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	report, err := client.Submit(t.Context(), records.SubmissionContext{
		ID: created.ID, Name: name, Type: "bobbin-test", MaxAttempts: 1, Unmanaged: true, Resource: rpctest.Unit(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Kill(t.Context(), created.ID, "the test has ended"); err != nil {
		t.Error(err)
	}
	return report
}

// TestAnotherProtectionThanTheServersIsRefused would catch a client that uses a protection which its configuration does
// not allow, because the server requires it.
func TestAnotherProtectionThanTheServersIsRefused(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	o := rpctest.ClientOptions(t, c, alice)
	o.RPC.QOPs = []sasl.QOP{sasl.QOPIntegrity, sasl.QOPAuthentication}
	if _, err := rpctest.NewClient(t, o).NewApplication(t.Context()); err == nil || !strings.Contains(err.Error(), "hadoop.rpc.protection") {
		t.Errorf("got %v, want an error that names hadoop.rpc.protection", err)
	}
}

// TestManyConnectionsShareALogin would catch a Login that calls the KDC for each connection, that gives a connection
// another one's ticket, or that makes requests which the server takes for replays.
func TestManyConnectionsShareALogin(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	o := rpctest.ClientOptions(t, c, alice)
	var all sync.WaitGroup
	for range 24 {
		client := rpctest.NewClient(t, o)
		all.Go(func() {
			if _, err := client.NewApplication(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestProxyUsers: alice may impersonate others (hadoop.proxyuser.alice), bob may not.
func TestProxyUsers(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	o := rpctest.ClientOptions(t, c, alice)
	o.RPC.User = yarnrpc.UserInformation{Effective: bob, Real: alice}
	if report := pass(t, rpctest.NewClient(t, o), "for bob"); report.User != bob {
		t.Errorf("alice's application for bob is %s's", report.User)
	}
	o = rpctest.ClientOptions(t, c, bob)
	o.RPC.User = yarnrpc.UserInformation{Effective: alice, Real: bob}
	_, err := rpctest.NewClient(t, o).NewApplication(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not allowed to impersonate alice") {
		t.Errorf("bob acts for alice: got %v", err)
	}
	o.RPC.User = yarnrpc.UserInformation{Effective: alice} // no impersonation: the login alone decides the user
	if report := pass(t, rpctest.NewClient(t, o), "as himself"); report.User != bob {
		t.Errorf("bob's application is %s's", report.User)
	}
}
