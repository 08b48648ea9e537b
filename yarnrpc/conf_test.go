package yarnrpc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// A server that requires protection refuses a client that does not know the cluster's
// protection. A client that takes 0 for Hadoop's default ends calls that should wait.
func TestOptionsFollowTheHadoopConfiguration(t *testing.T) {
	for name, tc := range map[string]struct {
		properties map[string]string
		want       yarnrpc.Options
	}{
		"Hadoop's defaults": {nil, yarnrpc.Options{
			ConnectTimeout: 20 * time.Second, PingInterval: time.Minute, MaxIdle: 10 * time.Second, RPCTimeout: 2 * time.Minute, LoginRetries: 5,
			MaxResponse: 128 << 20, Auth: yarnrpc.Auth{QOPs: []sasl.QOP{sasl.QOPAuthentication}},
		}},
		"everything set": {map[string]string{
			"ipc.client.connect.timeout":                   "5s",
			"ipc.ping.interval":                            "0",
			"ipc.client.connection.maxidletime":            "1500",
			"ipc.client.rpc-timeout.ms":                    "0",
			"ipc.maximum.response.length":                  "64m",
			"ipc.client.connect.max.retries.on.sasl":       "0",
			"ipc.client.fallback-to-simple-auth-allowed":   "true",
			"hadoop.rpc.protection":                        "privacy, integrity",
			"hadoop.security.authentication":               "kerberos",
			"hadoop.security.group.mapping.ldap.bind.user": "not for us",
		}, yarnrpc.Options{
			ConnectTimeout: 5 * time.Second, PingInterval: -1, MaxIdle: 1500 * time.Millisecond, RPCTimeout: -1, LoginRetries: -1,
			MaxResponse: 64 << 20,
			Auth:        yarnrpc.Auth{RequireLogin: true, AllowSimpleFallback: true, QOPs: []sasl.QOP{sasl.QOPPrivacy, sasl.QOPIntegrity}},
		}},
		"no pings, whatever their interval": {map[string]string{"ipc.client.ping": "false", "ipc.ping.interval": "5000"}, yarnrpc.Options{
			ConnectTimeout: 20 * time.Second, PingInterval: -1, MaxIdle: 10 * time.Second, RPCTimeout: 2 * time.Minute, LoginRetries: 5,
			MaxResponse: 128 << 20, Auth: yarnrpc.Auth{QOPs: []sasl.QOP{sasl.QOPAuthentication}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := yarnrpc.OptionsFrom(new(hadoopconf.Conf).With("test", tc.properties))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.FilterPath(func(p cmp.Path) bool {
				return p.Last().Type().Kind().String() == "func"
			}, cmp.Ignore())); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
	for name, value := range map[string]string{"hadoop.rpc.protection": "strong", "ipc.ping.interval": "often", "ipc.maximum.response.length": "big"} {
		_, err := yarnrpc.OptionsFrom(new(hadoopconf.Conf).With("test", map[string]string{name: value}))
		var fault *hadoopconf.ValueError
		if !errors.As(err, &fault) || fault.Name != name {
			t.Errorf("%s of %q: %v, want a *ValueError that names it", name, value, err)
		}
	}
}
