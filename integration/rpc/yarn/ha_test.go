package yarn

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/haservice"
)

func serviceStatus(t *testing.T, address string) (haservice.Status, error) {
	t.Helper()
	c := haservice.New(address, yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: rpctest.Me(t)}}})
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	return c.Status(t.Context())
}

// TestServersThatWorkAloneSaySo would catch a single server that is taken for one of a pair.
func TestServersThatWorkAloneSaySo(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	rms, err := rpctest.Conf(t, c).ResourceManagers()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{c.NameNodeAddress(), rms[0].Admin} {
		if status, err := serviceStatus(t, address); !errors.Is(err, haservice.ErrNotPaired) {
			t.Errorf("%s is %+v, %v", address, status, err)
		}
	}
}

// TestOfTwoServersOneIsActive would catch a pair with two active servers, or none. integration/rpc/failover tests that
// the other one takes over.
func TestOfTwoServersOneIsActive(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Pair)
	conf := rpctest.Conf(t, c)
	rms, err := conf.ResourceManagers()
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[string][]string{"NameNode": {conf.Get("dfs.namenode.rpc-address.bobbin.nn1"), conf.Get("dfs.namenode.rpc-address.bobbin.nn2")}}
	for _, rm := range rms {
		pairs["ResourceManager"] = append(pairs["ResourceManager"], rm.Admin)
	}
	for kind, addresses := range pairs {
		wait.Satisfied(t, "one active "+kind+", and one that could take over", func() error { // which ZooKeeper may order at any time
			states := make(map[haservice.State]int)
			for _, address := range addresses {
				status, err := serviceStatus(t, address)
				if err != nil {
					return err
				}
				if status.State == haservice.Standby && !status.Ready {
					return fmt.Errorf("the %s at %s could not take over: %s", kind, address, status.NotReady)
				}
				states[status.State]++
			}
			if states[haservice.Active] != 1 || states[haservice.Standby] != 1 {
				return fmt.Errorf("states are %v", states)
			}
			return nil
		})
	}
}
