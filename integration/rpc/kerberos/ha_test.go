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
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// TestTwoOfEachServerWithKerberos would catch a ticket, a delegation token or an
// ApplicationMaster's token that serves at one ResourceManager, or one NameNode, alone. The
// cluster also has its tokens made out for names rather than for addresses.
func TestTwoOfEachServerWithKerberos(t *testing.T) {
	t.Parallel()
	for _, version := range artifacts.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			if version == artifacts.DefaultVersion {
				twoOfEachServer(t, clusters.Change(t, clusters.SecurePair, "kills the active ResourceManager and the active NameNode"))
				return
			}
			cluster.Long(t)
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

// underPrivacy has a server itself say that it wants Kerberos and privacy, by its web page and to a
// client that comes to log in.
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
	if errors.Is(err, syscall.ECONNREFUSED) { // a standby ResourceManager takes no clients
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

// nameNodeGoes kills the active NameNode under files that are open by a ticket and by a token, and gives the token.
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
			socket.Check(t, path, false, false) // neither as an argument nor as the file's content
		}
	}
	byTicket.Check(t, "GSSAPI", true, true)
	byToken.Check(t, "GSSAPI", false, true) // it was offered
	byToken.Check(t, "qop=auth-conf", true, false)
	return token
}

// resourceManagerGoes kills the active ResourceManager under an application that has a token of a NameNode which is gone.
func resourceManagerGoes(ctx context.Context, t *testing.T, c *cluster.Cluster, file *creds.Token) {
	t.Helper()
	// YARN hands the master's token to the owner only, whom it knows by the full name of a principal and
	// compares with the short one: who runs a master himself comes as a proxy user, who has no other.
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
	report := submitUnmanaged(ctx, t, client, file)
	rm, nm := connect(t, c, report, &toRM, &toNM)
	if _, err := rm.Register(ctx, amrm.RegisterRequest{Host: "localhost", RPCPort: -1}); err != nil {
		t.Fatal(err)
	}

	first, err := c.ActiveRM(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(ctx, first); err != nil {
		t.Fatal(err)
	}
	runOneAfterResync(ctx, t, rm, nm)
	var second string
	wait.Satisfied(t, "an active ResourceManager", func() (err error) {
		second, err = c.ActiveRM(ctx)
		return err
	})
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
	if err := rm.Finish(ctx, records.FinalSucceeded, "", ""); err != nil {
		t.Error(err)
	}
	byTicket.Check(t, 2, rpctest.ByTicket("rm", sasl.QOPPrivacy))
	byToken.Check(t, 1, rpctest.ByToken(sasl.QOPPrivacy))
	toRM.Check(t, 2, rpctest.ByToken(sasl.QOPPrivacy))
	toNM.Check(t, 1, rpctest.ByToken(sasl.QOPPrivacy))
}

// submitUnmanaged submits an application whose ApplicationMaster is the test, and waits until it may register: the
// ResourceManager has renewed the token for files then.
func submitUnmanaged(ctx context.Context, t *testing.T, client *yarnclient.Client, file *creds.Token) records.ApplicationReport {
	t.Helper()
	created, err := client.NewApplication(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tokens := &creds.Credentials{Tokens: map[string]*creds.Token{file.Service: file}}
	report, err := client.Submit(ctx, records.SubmissionContext{
		ID: created.ID, Name: t.Name(), Type: "bobbin-test", Unmanaged: true,
		Resource:  records.Resource{MemoryMB: 128, VCores: 1},
		Container: records.ContainerLaunchContext{Tokens: tokens.Marshal()},
	})
	if err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the application has a token for its master", func() (bool, error) {
		report, err = client.ApplicationReport(ctx, created.ID)
		return report.AMRMToken != nil, err
	})
	return report
}

// connect makes the clients of an ApplicationMaster, whose connections are to be noted.
func connect(t *testing.T, c *cluster.Cluster, of records.ApplicationReport, rmSeen, nmSeen *rpctest.Connections) (*amrm.Client, *nmclient.Client) {
	t.Helper()
	conf := rpctest.Conf(t, c)
	toRM, err := amrm.FromConf(conf)
	if err != nil {
		t.Fatal(err)
	}
	toRM.Attempt, toRM.Token, toRM.Policy = of.Attempt, of.AMRMToken, yarnrpc.Policy{}
	toRM.RPC.Opened = rmSeen.Add
	toNM, err := nmclient.FromConf(conf)
	if err != nil {
		t.Fatal(err)
	}
	toNM.RPC.Opened = nmSeen.Add
	return rpctest.Closing(t, amrm.New(toRM)), rpctest.Closing(t, nmclient.New(toNM))
}

// runOneAfterResync heartbeats until the ResourceManager has changed, and then runs a container.
func runOneAfterResync(ctx context.Context, t *testing.T, rm *amrm.Client, nm *nmclient.Client) {
	t.Helper()
	for response, err := range rm.Heartbeats(ctx, amrm.Pace{}) {
		if errors.Is(err, amrm.ErrAttemptGone) || ctx.Err() != nil {
			t.Fatal(err)
		}
		if err != nil {
			continue // none is active yet
		}
		if response.Resynced {
			rm.SetAsk(amrm.Ask{Capability: records.Resource{MemoryMB: 128, VCores: 1}, Count: 1})
		}
		nm.SetTokens(response.NMTokens)
		for _, container := range response.Allocated {
			if err := nm.Start(ctx, container, records.ContainerLaunchContext{Commands: []string{"exit 7"}}); err != nil {
				t.Fatal(err)
			}
		}
		if len(response.Completed) > 0 {
			if ended := response.Completed[0]; ended.ExitStatus != 7 {
				t.Errorf("the container ended with %s: %s", ended.ExitStatus, ended.Diagnostics)
			}
			return
		}
	}
}
