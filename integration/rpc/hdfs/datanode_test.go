package hdfs

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// The test would catch a client that dials DataNodes by addresses that only the cluster's own
// network knows, as with machines with two networks.
func TestDataNodesAreDialledByNameWhereTheConfigurationSaysSo(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	for byName, want := range map[bool]string{false: "127.0.0.1", true: c.NodeManagers()[0]} {
		var mu sync.Mutex
		hosts := make(map[string]bool)
		conf := rpctest.Conf(t, c).With("test", map[string]string{"dfs.client.use.datanode.hostname": fmt.Sprint(byName)})
		f := rpctest.FS(t, dfs.Options{Conf: conf, User: rpctest.Me(t), Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err == nil && address != c.NameNodeAddress() {
				mu.Lock()
				hosts[host] = true
				mu.Unlock()
				address = net.JoinHostPort("127.0.0.1", port) // it listens there under any name
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}})
		uri := rpctest.Scratch(t, f) + "/file"
		create(t, f, uri, rpctest.Noise(1000))
		if content, err := f.ReadFile(t.Context(), uri, 1000); err != nil || !bytes.Equal(content, rpctest.Noise(1000)) {
			t.Errorf("by name: %t: %d bytes, %v", byName, len(content), err)
		}
		mu.Lock()
		if len(hosts) != 1 || !hosts[want] {
			t.Errorf("by name: %t: dialled %v, want %s", byName, hosts, want)
		}
		mu.Unlock()
	}
}
