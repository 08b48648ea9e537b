package hdfs

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

func settings(values map[string]string) *hadoopconf.Conf {
	return new(hadoopconf.Conf).With("test", values)
}

// pair returns the settings of a nameservice.
func pair() map[string]string {
	return map[string]string{
		"dfs.nameservices": "old,pair", "dfs.ha.namenodes.pair": "a,b", "dfs.namenode.rpc-address.old": "nn0:9000",
		"dfs.namenode.rpc-address.pair.a": "nn1", "dfs.namenode.rpc-address.pair.b": "nn2:9000",
	}
}

func TestFromConfKnowsNameservicesAndHosts(t *testing.T) {
	t.Parallel()
	inOrder := pair()
	inOrder["dfs.client.failover.random.order"] = "false"
	for name, tc := range map[string]struct {
		authority string
		addresses []string
		policy    yarnrpc.Policy
	}{
		"a pair": {"pair", []string{"nn1:8020", "nn2:9000"}, yarnrpc.Policy{
			MaxWait: -1, MaxFailovers: 15, BaseDelay: 500 * time.Millisecond, MaxDelay: 15 * time.Second,
		}},
		"a host": {"nn3", []string{"nn3:8020"}, yarnrpc.Policy{MaxWait: -1, MaxFailovers: 10, MaxTimeouts: 45, BaseDelay: time.Second}},
	} {
		o, err := FromConf(settings(inOrder), tc.authority, "me")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.addresses, o.Addresses); diff != "" {
			t.Errorf("%s: addresses (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.policy, o.Policy); diff != "" {
			t.Errorf("%s: policy (-want +got):\n%s", name, diff)
		}
		if o.Silence != time.Minute || o.UseDatanodeHostname || o.RPC.User.Effective != "me" {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// If all clients begin at the same NameNode and it is not the active one, each connects
// to it in vain first. A configured order must be kept.
func TestNameNodesComeInAnOrderOfChance(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		all, own string // values of the property, "" for none
		shuffled bool
	}{
		"by default":               {"", "", true},
		"off":                      {"false", "", false},
		"off for this nameservice": {"true", "false", false},
		"on for this nameservice":  {"false", "true", true},
	} {
		values := pair()
		for property, value := range map[string]string{"dfs.client.failover.random.order": tc.all, "dfs.client.failover.random.order.pair": tc.own} {
			if value != "" {
				values[property] = value
			}
		}
		first := map[string]int{}
		for range 200 {
			o, err := FromConf(settings(values), "pair", "me")
			if err != nil || len(o.Addresses) != 2 || o.Addresses[0] == o.Addresses[1] {
				t.Fatalf("%s: %q, %v", name, o.Addresses, err)
			}
			first[o.Addresses[0]]++
		}
		if got := first["nn2:9000"] > 0; got != tc.shuffled || first["nn1:8020"] == 0 { // by chance once in 10^60
			t.Errorf("%s: the first are %v", name, first)
		}
	}
	for _, property := range []string{"dfs.client.failover.random.order", "dfs.client.failover.random.order.pair"} {
		values := pair()
		values[property] = "perhaps"
		_, err := FromConf(settings(values), "pair", "me")
		if fault, is := errors.AsType[*hadoopconf.ValueError](err); !is || fault.Name != property {
			t.Errorf("%s is perhaps: %v, want a *ValueError that names it", property, err)
		}
	}
}

// A client that has a token but accepts a server without authentication gives its data to
// any process that has taken the server's address. A process with tokens but without a
// configuration has the settings of an open cluster.
func TestTheConfigurationAloneAllowsFallback(t *testing.T) {
	t.Parallel()
	for _, authentication := range []string{"simple", "kerberos"} {
		for _, allowed := range []bool{false, true} {
			o, err := FromConf(settings(map[string]string{
				"hadoop.security.authentication": authentication, "ipc.client.fallback-to-simple-auth-allowed": strconv.FormatBool(allowed),
			}), "nn", "me")
			if err != nil || o.RPC.AllowSimpleFallback != allowed {
				t.Errorf("%s, %v: %+v, %v", authentication, allowed, o, err)
			}
		}
	}
}

func TestFromConfOfASecureCluster(t *testing.T) {
	t.Parallel()
	o, err := FromConf(settings(map[string]string{
		"hadoop.security.authentication": "kerberos", "dfs.namenode.kerberos.principal": "nn/_HOST@R", "dfs.client.use.datanode.hostname": "true",
		"dfs.client.socket-timeout": "0",
	}), "nn", "me")
	if err != nil || !o.RPC.RequireLogin || o.RPC.Server.Principal != "nn/_HOST@R" || !o.UseDatanodeHostname || o.Silence >= 0 {
		t.Errorf("options are %+v, %v", o, err)
	}
	for name, bad := range map[string]string{
		"hadoop.rpc.protection": "some", "dfs.client.use.datanode.hostname": "perhaps", "dfs.client.socket-timeout": "long",
		"ipc.client.connect.timeout": "soon", "ipc.client.connect.max.retries": "few", "ipc.client.fallback-to-simple-auth-allowed": "perhaps",
	} {
		if _, err := FromConf(settings(map[string]string{name: bad}), "nn", "me"); err == nil {
			t.Errorf("%s may be %s", name, bad)
		}
	}
}

// The NameNode would refuse the token of another cluster. Without a token, the login may
// work.
func TestTokensAreChosenByTheirService(t *testing.T) {
	t.Parallel()
	token := func(service string) *creds.Token {
		return &creds.Token{Identifier: []byte(service), Kind: creds.KindHDFSDelegation, Service: service}
	}
	all := &creds.Credentials{Tokens: map[string]*creds.Token{
		"1": token("ha-hdfs:pair"), "2": token("127.0.0.1:8020"), "3": token("localhost:8020"), "4": token("ha-hdfs:localhost"),
	}}
	named := pair()
	named["hadoop.security.token.service.use_ip"] = "false"
	for name, tc := range map[string]struct {
		settings    map[string]string
		authority   string
		credentials *creds.Credentials
		want        string
	}{
		"of a nameservice":          {pair(), "pair", all, "ha-hdfs:pair"},
		"of a host, by its address": {pair(), "localhost", all, "127.0.0.1:8020"},
		"of a host, by its name":    {named, "LocalHost", all, "localhost:8020"},
		"of another port":           {pair(), "localhost:9000", all, ""},
		"of nobody, not looked up":  {pair(), "no.such.host.invalid", creds.New(), ""},
		"of a process without any":  {pair(), "pair", nil, ""},
	} {
		source := TokenSource(settings(tc.settings), tc.authority, func() *creds.Credentials { return tc.credentials })
		got, err := source(t.Context(), "any")
		if err != nil || got == nil != (tc.want == "") || got != nil && got.Service != tc.want {
			t.Errorf("%s: %v, %v, want %q", name, got, err, tc.want)
		}
	}
	if _, err := TokenSource(settings(pair()), "no.such.host.invalid", func() *creds.Credentials { return all })(t.Context(), "any"); err == nil {
		t.Error("a host that does not exist has a service")
	}
}
