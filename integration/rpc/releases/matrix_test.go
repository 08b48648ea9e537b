package releases

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// protection is the protection that the servers of a leg require.
type protection string

const (
	simple         protection = "simple" // without Kerberos
	authentication protection = "authentication"
	integrity      protection = "integrity"
	privacy        protection = "privacy"
)

// qop returns the protection of connections with a login.
func (p protection) qop() sasl.QOP {
	switch p {
	case integrity:
		return sasl.QOPIntegrity
	case privacy:
		return sasl.QOPPrivacy
	default:
		return sasl.QOPAuthentication
	}
}

// short reports whether a leg is not one of the long tests. Package kerberos tests the default release under privacy.
func short(version string, how protection) bool {
	return how == privacy && version != artifacts.DefaultVersion
}

// TestEachReleaseUnderEachProtection would catch a difference of one release, and a protection that is requested but
// not in force.
func TestEachReleaseUnderEachProtection(t *testing.T) {
	for _, version := range artifacts.Releases() {
		for _, how := range []protection{simple, authentication, integrity, privacy} {
			t.Run(version+" "+string(how), func(t *testing.T) {
				if !short(version, how) { // these come one after the other, because a start keeps a machine busy
					cluster.Long(t)
					t.Parallel()
				}
				p := newPlace(t, version, how)
				t.Run("the servers say what is in force", p.serversTell)
				t.Run("a user's calls", p.userCalls)
				t.Run("tokens of the resourcemanager", p.resourceManagerTokens)
				t.Run("tokens of the namenode", p.nameNodeTokens)
				t.Run("files", p.files)
				t.Run("an application", p.application)
			})
		}
	}
}

// place is the cluster of one leg.
type place struct {
	*cluster.Cluster
	protection protection
	conf       *hadoopconf.Conf
}

func newPlace(t *testing.T, version string, how protection) *place {
	t.Helper()
	cfg := cluster.Config{Version: version, NodeManagers: 1, Heartbeat: 200 * time.Millisecond}
	if how != simple {
		cfg.Kerberos = &cluster.Kerberos{Protection: string(how)}
	}
	c := clusters.Own(t, cfg)
	return &place{Cluster: c, protection: how, conf: rpctest.Conf(t, c)}
}

// serversTell asks the servers themselves for their settings, by their web pages and by their answers to a client that
// logs in.
func (p *place) serversTell(t *testing.T) {
	info, err := p.RM().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.HadoopVersion != p.Version() {
		t.Errorf("the resourcemanager is of Hadoop %s, want %s", info.HadoopVersion, p.Version())
	}
	want := map[string]string{"hadoop.security.authentication": "kerberos", "hadoop.rpc.protection": string(p.protection)}
	offers := cluster.Offers{Methods: []string{"TOKEN", "KERBEROS"}, QOPs: []sasl.QOP{p.protection.qop()}}
	if p.protection == simple {
		want = map[string]string{"hadoop.security.authentication": "simple", "hadoop.rpc.protection": "authentication"}
	}
	for name, address := range map[string]string{"resourcemanager": p.RMAddress(), "namenode": p.NameNodeAddress()} {
		settings, err := p.Settings(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for property, value := range want {
			if settings[property] != value {
				t.Errorf("%s of the %s is %q, want %q", property, name, settings[property], value)
			}
		}
		got, err := p.Offers(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		if p.protection == simple {
			if !slices.Contains(got.Methods, "SIMPLE") {
				t.Errorf("the %s of an open cluster offers %+v", name, got)
			}
			continue
		}
		if diff := cmp.Diff(offers, got); diff != "" {
			t.Errorf("offers of the %s (-want +got):\n%s", name, diff)
		}
	}
	if p.protection == simple {
		return
	}
	settings, err := p.Settings(t.Context(), "datanode")
	if err != nil {
		t.Fatal(err)
	}
	if got := settings["dfs.data.transfer.protection"]; got != string(p.protection) {
		t.Errorf("dfs.data.transfer.protection of the datanode is %q, want %q", got, p.protection)
	}
}

// userCalls makes calls like a user, and checks their protection.
func (p *place) userCalls(t *testing.T) {
	var seen rpctest.Connections
	client := p.client(t, alice, &seen)
	nodes, err := client.ClusterNodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes) != len(p.NodeManagers()) {
		t.Errorf("%d nodes, want %d", len(nodes), len(p.NodeManagers()))
	}
	if _, err := client.Applications(t.Context(), yarnclient.Filter{}); err != nil {
		t.Error(err)
	}
	queue, err := client.QueueInfo(t.Context(), "default", yarnclient.QueueDetail{})
	if err != nil || queue.Name != "default" {
		t.Errorf("the queue is %+v, %v", queue, err)
	}
	seen.Check(t, 1, p.byLogin("rm"))
}

// byLogin returns how a user with a login opens connections to a server.
func (p *place) byLogin(service string) yarnrpc.Security {
	if p.protection == simple {
		return yarnrpc.Security{Method: "SIMPLE", QOP: sasl.QOPAuthentication}
	}
	return rpctest.ByTicket(service, p.protection.qop())
}

// byToken returns how a user with a token opens them.
func (p *place) byToken() yarnrpc.Security {
	return rpctest.ByToken(p.protection.qop())
}

// client returns a user's client, and records its connections.
func (p *place) client(t *testing.T, user string, seen *rpctest.Connections) *yarnclient.Client {
	t.Helper()
	o := rpctest.ClientOptions(t, p.Cluster, user)
	o.RPC.Opened = seen.Add
	return rpctest.NewClient(t, o)
}
