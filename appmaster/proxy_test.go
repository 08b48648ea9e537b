package appmaster

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// TestProxies would catch a web proxy that REST refuses, and an application that does not start because a
// name cannot be resolved.
func TestProxies(t *testing.T) {
	t.Parallel()
	own := []string{"127.0.0.1", "::1", "127.0.0.9"}
	for name, test := range map[string]struct {
		properties map[string]string
		want       []string
		warnings   int
	}{
		"the ResourceManager shows applications itself":          {map[string]string{"yarn.resourcemanager.webapp.address": "127.0.0.2:8088"}, []string{"127.0.0.2"}, 0},
		"a proxy of its own takes its place":                     {map[string]string{"yarn.web-proxy.address": "127.0.0.3:8089", "yarn.resourcemanager.webapp.address": "127.0.0.2:8088"}, []string{"127.0.0.3"}, 0},
		"a proxy's address may lack the port":                    {map[string]string{"yarn.web-proxy.address": "127.0.0.3"}, []string{"127.0.0.3"}, 0},
		"addresses of IPv6":                                      {map[string]string{"yarn.web-proxy.address": "[fd00::7]:8089"}, []string{"fd00::7"}, 0},
		"a ResourceManager whose address is any means this node": {map[string]string{"yarn.resourcemanager.hostname": "0.0.0.0"}, own, 0},
		"so does one of IPv6":                                    {map[string]string{"yarn.web-proxy.address": "[::]:8089"}, own, 0},
		"both of two ResourceManagers": {map[string]string{
			"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b", "yarn.resourcemanager.cluster-id": "c",
			"yarn.resourcemanager.hostname.a": "127.0.0.2", "yarn.resourcemanager.hostname.b": "127.0.0.4",
		}, []string{"127.0.0.2", "127.0.0.4"}, 0},
		"one that is not found is left out": {map[string]string{
			"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b", "yarn.resourcemanager.cluster-id": "c",
			"yarn.resourcemanager.hostname.a": "no..host", "yarn.resourcemanager.hostname.b": "127.0.0.4",
		}, []string{"127.0.0.4"}, 1},
		"an address that is none": {map[string]string{"yarn.resourcemanager.webapp.address": "rm:http:8088"}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			b.WriteString("<configuration>")
			for _, property := range slices.Sorted(maps.Keys(test.properties)) {
				fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>", property, test.properties[property])
			}
			b.WriteString("</configuration>")
			conf, err := hadoopconf.Parse([]byte(b.String()))
			if err != nil {
				t.Fatal(err)
			}
			logger, logged := logtest.NewNullLogger()
			var want []netip.Addr
			for _, text := range test.want {
				want = append(want, netip.MustParseAddr(text))
			}
			got := proxies(t.Context(), conf, "127.0.0.9", logger)
			if !slices.Equal(want, got) {
				t.Errorf("proxies %v, want %v", got, want)
			}
			if n := len(logged.AllEntries()); n != test.warnings {
				t.Errorf("%d warnings, want %d", n, test.warnings)
			}
		})
	}
}

// TestTheTrackingURLIsThatOfYARN would catch a link without its proxy, host or scheme, and one to Hadoop's default address, which
// leads a browser to its own machine.
func TestTheTrackingURLIsThatOfYARN(t *testing.T) {
	t.Parallel()
	const base = "/proxy/application_1_0001"
	for name, test := range map[string]struct {
		hadoop     map[string]string
		base, want string
	}{
		"in the ResourceManager": {map[string]string{"yarn.resourcemanager.webapp.address": "rm:8088"}, base, "http://rm:8088/proxy/application_1_0001/"},
		"by itself":              {map[string]string{"yarn.web-proxy.address": "proxy:9099", "yarn.resourcemanager.webapp.address": "rm:8088"}, base, "http://proxy:9099/proxy/application_1_0001/"},
		"with https": {
			map[string]string{"yarn.http.policy": "HTTPS_ONLY", "yarn.resourcemanager.webapp.https.address": "rm:8090"}, base + "/", "https://rm:8090/proxy/application_1_0001/",
		},
		"of two ResourceManagers": {map[string]string{
			"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b", "yarn.resourcemanager.cluster-id": "c",
			"yarn.resourcemanager.hostname.a": "rm1", "yarn.resourcemanager.hostname.b": "rm2",
		}, base, "http://rm1:8088/proxy/application_1_0001/"},
		"nothing is set":              {nil, base, ""},
		"an address of IPv6 for all":  {map[string]string{"yarn.web-proxy.address": "[::]:9099"}, base, ""},
		"YARN tells no path":          {map[string]string{"yarn.resourcemanager.webapp.address": "rm:8088"}, "", ""},
		"an address without its host": {map[string]string{"yarn.web-proxy.address": ":9099"}, base, ""},
	} {
		if got := trackingURL(carriedConf(t, test.hadoop), test.base); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestTheProxyIsCalledByItsOwnName(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hadoop map[string]string
		want   []string
	}{
		"in the ResourceManager": {map[string]string{"yarn.resourcemanager.webapp.address": "rm:8088"}, []string{"rm:8088"}},
		"by itself":              {map[string]string{"yarn.web-proxy.address": "proxy:9099", "yarn.resourcemanager.webapp.address": "rm:8088"}, []string{"proxy:9099"}},
		"with https": {
			map[string]string{"yarn.http.policy": "HTTPS_ONLY", "yarn.resourcemanager.webapp.https.address": "rm:8090"}, []string{"rm:8090"},
		},
	} {
		if diff := cmp.Diff(test.want, proxyOrigins(carriedConf(t, test.hadoop))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
