package hadoopconf

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultFS(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ lines, want string }{
		"nothing configured is the local disk": {"", "file:///"},
		"a host and port":                      {"fs.defaultFS=hdfs://nn:8020", "hdfs://nn:8020"},
		"the deprecated name":                  {"fs.default.name=hdfs://nn:9000", "hdfs://nn:9000"},
		"an address without a scheme":          {"fs.defaultFS=nn:8020", "hdfs://nn:8020"},
		"a nameservice":                        {"fs.defaultFS=hdfs://ns1", "hdfs://ns1"},
		"viewfs":                               {"fs.defaultFS=viewfs://c/", "viewfs://c/"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := load(t, map[string]string{"core-site.xml": test.lines}).DefaultFS()
			if err != nil || got != test.want {
				t.Errorf("DefaultFS = %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestNameNodes(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"hdfs-site.xml": `
dfs.nameservices=ha, single,broken
dfs.ha.namenodes.ha=nn0,nn1
dfs.namenode.rpc-address.ha.nn0=a:9820
dfs.namenode.rpc-address.ha.nn1=b
dfs.namenode.rpc-address.single=c:8020
dfs.ha.namenodes.broken=x
`})
	tests := map[string]struct {
		authority string
		want      []string
		logical   bool
	}{
		"every member of a nameservice":  {"ha", []string{"a:9820", "b:8020"}, true},
		"a nameservice without failover": {"single", []string{"c:8020"}, true},
		"a host and port":                {"d:9000", []string{"d:9000"}, false},
		"a host alone":                   {"d", []string{"d:8020"}, false},
		"an IPv6 address":                {"[::1]:9000", []string{"[::1]:9000"}, false},
		"an IPv6 address without a port": {"[::1]", []string{"[::1]:8020"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, logical, err := c.NameNodes(test.authority)
			if err != nil || logical != test.logical || !cmp.Equal(got, test.want) {
				t.Errorf("NameNodes(%q) = %q, %v, %v; want %q, %v", test.authority, got, logical, err, test.want, test.logical)
			}
		})
	}
	if _, _, err := c.NameNodes("broken"); err == nil || !strings.Contains(err.Error(), "dfs.namenode.rpc-address.broken.x is not set") {
		t.Errorf("error for a member without address is %v", err)
	}
	if _, _, err := c.NameNodes(""); err == nil {
		t.Error("no error for a URI without authority")
	}
}

func TestResourceManagers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lines string
		want  []ResourceManager
	}{
		"nothing configured is this machine": {
			"",
			[]ResourceManager{{Client: "0.0.0.0:8032", Scheduler: "0.0.0.0:8030", Admin: "0.0.0.0:8033", Webapp: "http://0.0.0.0:8088"}},
		},
		"addresses win over the host name": {
			"yarn.resourcemanager.hostname=rm\nyarn.resourcemanager.address=other:1\nyarn.resourcemanager.webapp.address=${yarn.resourcemanager.hostname}:81",
			[]ResourceManager{{Client: "other:1", Scheduler: "rm:8030", Admin: "rm:8033", Webapp: "http://rm:81"}},
		},
		"high availability": {
			`yarn.resourcemanager.ha.enabled=true
yarn.resourcemanager.ha.rm-ids=rm1,rm2
yarn.http.policy=HTTPS_ONLY
yarn.resourcemanager.hostname.rm1=h1
yarn.resourcemanager.hostname.rm2=h2
yarn.resourcemanager.scheduler.address.rm2=h3:7`,
			[]ResourceManager{
				{ID: "rm1", Client: "h1:8032", Scheduler: "h1:8030", Admin: "h1:8033", Webapp: "https://h1:8090"},
				{ID: "rm2", Client: "h2:8032", Scheduler: "h3:7", Admin: "h2:8033", Webapp: "https://h2:8090"},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := load(t, map[string]string{"yarn-site.xml": test.lines}).ResourceManagers()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ResourceManagers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourceManagersSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ lines, want string }{
		"no ids": {"yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids is not set"},
		"an id without a host": {
			"yarn.resourcemanager.ha.enabled=true\nyarn.resourcemanager.ha.rm-ids=rm1",
			"yarn.resourcemanager.hostname.rm1 is not set",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, map[string]string{"yarn-site.xml": test.lines}).ResourceManagers()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestSecurityEnabled(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"simple": false, "kerberos": true, "KERBEROS": true} {
		c := load(t, map[string]string{"core-site.xml": "hadoop.security.authentication=" + value})
		if got := c.SecurityEnabled(); got != want {
			t.Errorf("%s: SecurityEnabled = %v", value, got)
		}
	}
}

// TestTokensAreRenewedInTime would catch milliseconds that are read as seconds, and a
// token without a configured interval that is expected to stay valid.
func TestTokensAreRenewedInTime(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]time.Duration{
		"": 24 * time.Hour, "dfs.namenode.delegation.token.renew-interval=90000": 90 * time.Second,
		"dfs.namenode.delegation.token.renew-interval=2h": 2 * time.Hour,
	} {
		c := load(t, map[string]string{"hdfs-site.xml": line})
		if got, err := c.TokenRenewInterval(); got != want || err != nil {
			t.Errorf("%q: %v, %v", line, got, err)
		}
	}
}

// A client would try an address that cannot be dialled for minutes, and the error would
// not name its source.
func TestAddressesThatAreNoneNameTheirProperty(t *testing.T) {
	for _, name := range []string{"yarn.resourcemanager.address", "yarn.resourcemanager.hostname", "dfs.namenode.rpc-address.ns"} {
		c := (&Conf{}).With("site.xml", map[string]string{name: "a]b", "dfs.nameservices": "ns"})
		_, rmErr := c.ResourceManagers()
		_, _, nnErr := c.NameNodes("ns")
		fault, is := errors.AsType[*ValueError](errors.Join(rmErr, nnErr))
		if !is || fault.Name != name || fault.Value != "a]b" {
			t.Errorf("%s: errors %v, %v", name, rmErr, nnErr)
		}
	}
}
