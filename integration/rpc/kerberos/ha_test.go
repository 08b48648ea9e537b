package kerberos

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// TestTwoOfEachServerWithKerberos would catch a ticket, a delegation token or an ApplicationMaster's token that works
// with only one of two ResourceManagers or NameNodes. The cluster also issues its tokens for host names instead of
// addresses.
func TestTwoOfEachServerWithKerberos(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	for _, version := range artifacts.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			if version == artifacts.DefaultVersion {
				twoOfEachServer(t, clusters.Change(t, clusters.SecurePair, "kills the active ResourceManager and the active NameNode"))
				return
			}
			twoOfEachServer(t, clusters.Own(t, cluster.Config{
				Version: version, NodeManagers: 1, HA: true, NameNodeHA: true, Kerberos: &cluster.Kerberos{Protection: "privacy"},
				Core: map[string]string{"hadoop.security.token.service.use_ip": "false"},
			}))
		})
	}
}

func twoOfEachServer(t *testing.T, c *cluster.Cluster) {
	tokensGoBetweenJavaAndUs(t, c)
	ctx := t.Context()
	conf := rpctest.Conf(t, c)
	for name, address := range map[string]string{
		"resourcemanager1": conf.Get("yarn.resourcemanager.address.rm1"), "resourcemanager2": conf.Get("yarn.resourcemanager.address.rm2"),
		"namenode1": conf.Get("dfs.namenode.rpc-address.bobbin.nn1"), "namenode2": conf.Get("dfs.namenode.rpc-address.bobbin.nn2"),
	} {
		underPrivacy(ctx, t, c, name, address)
	}
	resourceManagerGoes(ctx, t, c, nameNodeGoes(ctx, t, c))
	oneNameNodeIsIll(ctx, t, c)
}

// underPrivacy checks that a server itself requires Kerberos and privacy, by its web page and by its answer to a client
// that logs in.
func underPrivacy(ctx context.Context, t *testing.T, c *cluster.Cluster, name, address string) {
	t.Helper()
	settings, err := c.Settings(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	for property, want := range map[string]string{"hadoop.security.authentication": "kerberos", "hadoop.rpc.protection": "privacy"} {
		if got := settings[property]; got != want {
			t.Errorf("%s of %s is %q, want %q", property, name, got, want)
		}
	}
	offers, err := c.Offers(ctx, address)
	if errors.Is(err, syscall.ECONNREFUSED) { // a standby ResourceManager accepts no clients
		active, err := c.ActiveRM(ctx)
		if err != nil || active == name || !strings.HasPrefix(name, "resourcemanager") {
			t.Errorf("%s, while %s is active, takes no clients: %v", name, active, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(offers.Methods, []string{"TOKEN", "KERBEROS"}) || !slices.Equal(offers.QOPs, []sasl.QOP{sasl.QOPPrivacy}) {
		t.Errorf("%s offers %+v", name, offers)
	}
}

// nameNodeGoes kills the active NameNode while files are open with a ticket and with a token, and returns the token.
func nameNodeGoes(ctx context.Context, t *testing.T, c *cluster.Cluster) *creds.Token {
	t.Helper()
	var seen rpctest.Connections
	o := rpctest.NameNodeOptions(t, c, alice)
	o.Opened = seen.Add
	o.User = yarnrpc.UserInformation{Effective: bob, Real: alice}
	token, err := rpctest.NameNode(t, c, o).DelegationToken(ctx, fileService(t, c), rpctest.Conf(t, c).Get("yarn.resourcemanager.principal"))
	if err != nil {
		t.Fatal(err)
	}
	seen.Check(t, 1, rpctest.ByTicket("nn", sasl.QOPPrivacy))
	all := &creds.Credentials{Tokens: map[string]*creds.Token{token.Service: token}}
	var byTicket, byToken bobbintest.Tap
	ticket := rpctest.FSOptions(t, c, alice)
	ticket.User, ticket.RealUser, ticket.Dial = bob, alice, byTicket.Dial
	bearer := dfs.Options{Conf: ticket.Conf, User: bob, Credentials: func() *creds.Credentials { return all }, Dial: byToken.Dial}
	unique := strconv.FormatInt(time.Now().UnixNano(), 36)
	both := map[string]*dfs.FS{
		"/tmp/by-ticket-" + unique: rpctest.FS(t, ticket),
		"/tmp/by-token-" + unique:  rpctest.FS(t, bearer),
	}
	for path, files := range both {
		if err := files.WriteFile(ctx, path, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Kill(ctx, "namenode1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Activate(ctx, "namenode2"); err != nil {
		t.Fatal(err)
	}
	for path, files := range both {
		if content, err := files.ReadFile(ctx, path, 100); err != nil || string(content) != path {
			t.Errorf("%s holds %q, %v", path, content, err)
		}
		if err := files.WriteFile(ctx, path+"-again", []byte(path), 0o600); err != nil {
			t.Error(err)
		}
		for _, socket := range []*bobbintest.Tap{&byTicket, &byToken} {
			socket.Check(t, path, false, false) // neither as an argument nor in the file's content
		}
	}
	byTicket.Check(t, "GSSAPI", true, true)
	byToken.Check(t, "GSSAPI", false, true) // it was offered
	byToken.Check(t, "qop=auth-conf", true, false)
	return token
}

// resourceManagerGoes kills the active ResourceManager of an application that has a token of a lost NameNode.
func resourceManagerGoes(ctx context.Context, t *testing.T, c *cluster.Cluster, file *creds.Token) {
	t.Helper()
	// YARN sends the master's token only to the owner. It compares the owner's short name with the full name of the
	// caller's principal. So a user who runs a master himself comes as a proxy user, whose full name is the short one.
	o := rpctest.ClientOptions(t, c, alice)
	o.RPC.User = yarnrpc.UserInformation{Effective: bob, Real: alice}
	var byTicket, byToken, toRM, toNM rpctest.Connections
	o.RPC.Opened = byTicket.Add
	client := rpctest.NewClient(t, o)
	token, err := client.DelegationToken(ctx, bob)
	if err != nil {
		t.Fatal(err)
	}
	o.RPC.User = yarnrpc.UserInformation{}
	o.RPC.Login, o.RPC.Token, o.RPC.Opened = nil, creds.Fixed(token), byToken.Add
	bearer := rpctest.NewClient(t, o)
	files := &creds.Credentials{Tokens: map[string]*creds.Token{file.Service: file}}
	report := rpctest.SubmitUnmanaged(t, client, "default", files.Marshal()) // by then the ResourceManager has renewed the token
	lead := rpctest.LeadOptions(t, c, report)
	lead.RM.RPC.Opened, lead.NM.RPC.Opened = toRM.Add, toNM.Add
	m := rpctest.Lead(t, lead)

	first := rpctest.ActiveRM(t, c)
	if err := c.Kill(ctx, first); err != nil {
		t.Fatal(err)
	}
	m.Await(t, "it to be registered again", "", func() bool { return m.Resyncs > 0 })
	m.Ask(1)
	m.Await(t, "a container to end", "exit 7", func() bool { return len(m.Completed) > 0 })
	for id, ended := range m.Completed {
		if ended.ExitStatus != 7 {
			t.Errorf("%s ended with %s: %s", id, ended.ExitStatus, ended.Diagnostics)
		}
	}
	second := rpctest.ActiveRM(t, c)
	if second == first {
		t.Errorf("%s is active after it was killed", first)
	}
	underPrivacy(ctx, t, c, second, rpctest.Conf(t, c).Get("yarn.resourcemanager.address.rm"+second[len(second)-1:]))
	for name, client := range map[string]*yarnclient.Client{"the ticket": client, "the token": bearer} {
		if got, err := client.ApplicationReport(ctx, report.ID); err != nil || got.User != bob {
			t.Errorf("with %s: the application is %s's, %v", name, got.User, err)
		}
	}
	o.RPC.Login, o.RPC.Token, o.RPC.Opened = rpctest.FromKeytab(t, c, bob), nil, byTicket.Add
	if _, err := rpctest.NewClient(t, o).RenewDelegationToken(ctx, token); err != nil {
		t.Errorf("renew the token where it was not issued: %v", err)
	}
	if err := m.RM.Finish(ctx, records.FinalSucceeded, "", ""); err != nil {
		t.Error(err)
	}
	byTicket.Check(t, 2, rpctest.ByTicket("rm", sasl.QOPPrivacy))
	byToken.Check(t, 1, rpctest.ByToken(sasl.QOPPrivacy))
	toRM.Check(t, 2, rpctest.ByToken(sasl.QOPPrivacy))
	toNM.Check(t, 1, rpctest.ByToken(sasl.QOPPrivacy))
}
