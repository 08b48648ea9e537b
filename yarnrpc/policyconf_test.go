package yarnrpc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// The administrators of a cluster have configured how long clients wait. With less, a
// client gives up during an ordinary failover; with more, it hangs when no server will
// answer.
func TestPoliciesFollowTheHadoopConfiguration(t *testing.T) {
	nameNode := func(nameservice bool) func(*hadoopconf.Conf) (yarnrpc.Policy, error) {
		return func(conf *hadoopconf.Conf) (yarnrpc.Policy, error) { return yarnrpc.NameNodePolicy(conf, nameservice) }
	}
	for name, tc := range map[string]struct {
		of         func(*hadoopconf.Conf) (yarnrpc.Policy, error)
		properties map[string]string
		want       yarnrpc.Policy
	}{
		"one ResourceManager": {
			yarnrpc.ResourceManagerPolicy, nil,
			yarnrpc.Policy{MaxWait: 15 * time.Minute, BaseDelay: 30 * time.Second},
		},
		"two ResourceManagers": {
			yarnrpc.ResourceManagerPolicy,
			map[string]string{"yarn.resourcemanager.ha.enabled": "true"},
			yarnrpc.Policy{MaxWait: 15 * time.Minute, BaseDelay: 30 * time.Second, MaxDelay: 30 * time.Second},
		},
		"two ResourceManagers, everything set": {
			yarnrpc.ResourceManagerPolicy,
			map[string]string{
				"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.connect.retry-interval.ms": "2000",
				"yarn.client.failover-sleep-base-ms": "100", "yarn.client.failover-sleep-max-ms": "800", "yarn.client.failover-max-attempts": "7",
			},
			yarnrpc.Policy{MaxWait: -1, BaseDelay: 100 * time.Millisecond, MaxDelay: 800 * time.Millisecond, MaxFailovers: 7},
		},
		"for ever": {
			yarnrpc.ResourceManagerPolicy,
			map[string]string{"yarn.resourcemanager.connect.max-wait.ms": "-1", "yarn.resourcemanager.connect.retry-interval.ms": "500"},
			yarnrpc.Policy{MaxWait: -time.Millisecond, BaseDelay: 500 * time.Millisecond},
		},
		"a NodeManager": {yarnrpc.NodeManagerPolicy, nil, yarnrpc.Policy{MaxWait: 3 * time.Minute, BaseDelay: 10 * time.Second}},
		"a nameservice": {
			nameNode(true), nil,
			yarnrpc.Policy{MaxWait: -1, MaxFailovers: 15, BaseDelay: 500 * time.Millisecond, MaxDelay: 15 * time.Second},
		},
		"one NameNode":        {nameNode(false), nil, yarnrpc.Policy{MaxWait: -1, MaxFailovers: 10, MaxTimeouts: 45, BaseDelay: time.Second}},
		"a NameNode, one try": {nameNode(false), map[string]string{"ipc.client.connect.max.retries": "0"}, yarnrpc.Policy{MaxTimeouts: 45, BaseDelay: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.of(new(hadoopconf.Conf).With("test", tc.properties))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
	for name, value := range map[string]string{
		"yarn.resourcemanager.connect.max-wait.ms": "-5", "yarn.resourcemanager.ha.enabled": "perhaps",
		"yarn.resourcemanager.connect.retry-interval.ms": "often",
	} {
		_, err := yarnrpc.ResourceManagerPolicy(new(hadoopconf.Conf).With("test", map[string]string{name: value}))
		if fault, is := errors.AsType[*hadoopconf.ValueError](err); !is || fault.Name != name {
			t.Errorf("%s of %q: %v, want a *ValueError that names it", name, value, err)
		}
	}
}
