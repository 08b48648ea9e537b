package yarnfake

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// Config describes the cluster. The zero value has one node.
type Config struct {
	// Nodes is the number of NodeManagers. 0: 1.
	Nodes int
	// Node is the capability of each node, and defines the cluster's resource types. Zero: 8192
	// MiB and 8 cores.
	Node records.Resource
	// Minimum and Maximum bound a container; memory and cores are rounded up to a
	// multiple of Minimum (yarn.scheduler.minimum- and maximum-allocation-mb and -vcores). Zero:
	// 128 MiB and 1 core, and the whole of Node.
	Minimum, Maximum records.Resource
	// HighAvailability makes two ResourceManagers, of which the first is active. See Fake.FailOver.
	HighAvailability bool
	// MaxAttempts bounds the starts of an ApplicationMaster
	// (yarn.resourcemanager.am.max-attempts). 0: 2.
	MaxAttempts int
	// MasterExpiry is how long an ApplicationMaster may be silent
	// (yarn.am.liveness-monitor.expiry-interval-ms). 0: for ever.
	MasterExpiry time.Duration
	// NodeExpiry is how long a NodeManager may be silent
	// (yarn.nm.liveness-monitor.expiry-interval-ms). 0: for ever.
	NodeExpiry time.Duration
	// StoreDelay is how long the ResourceManager takes to record that an application has
	// finished. 0: no time.
	StoreDelay time.Duration
	// Heartbeat is the time between two heartbeats of each NodeManager, at which
	// containers are granted. 0: 100 ms; negative: none but those of Fake.Beat.
	Heartbeat time.Duration
	// Protection is the required protection of connections with a token: authentication,
	// integrity or privacy, or several separated by commas (hadoop.rpc.protection). Empty:
	// authentication.
	Protection string
	// ClientTokens makes YARN issue tokens for clients of the ApplicationMaster (ClientToAM), as
	// secure clusters do.
	ClientTokens bool
	// InMemory opens no socket: Fake.Dial is the only way in.
	InMemory bool
	// Run is called for each container instead of starting a child process, and returns the exit
	// status. When its context ends, Run must return.
	Run func(ctx context.Context, c Container) records.ExitStatus
	// Dir holds the containers' directories. Empty: a temporary directory, which Stop removes.
	// With Run, nothing is written.
	Dir string
}

// Container describes a running container to Config.Run.
type Container struct {
	ID       records.ContainerID
	Node     records.NodeID
	Resource records.Resource
	User     string
	// Master is true for an ApplicationMaster's container.
	Master bool
	// Launch is the launch context, in which nothing is expanded.
	Launch records.ContainerLaunchContext
	// Credentials are those of Launch; an ApplicationMaster finds its AMRM token there
	// under the empty alias.
	Credentials *creds.Credentials
}

// cluster is a Config with its defaults.
type cluster struct {
	Config
	settings books.Settings
	qops     []sasl.QOP
}

func (c Config) withDefaults() (cluster, error) {
	c.Nodes = cmp.Or(c.Nodes, 1)
	c.Node = cmp.Or(c.Node, records.Resource{MemoryMB: 8192, VCores: 8})
	c.Minimum = cmp.Or(c.Minimum, records.Resource{MemoryMB: 128, VCores: 1})
	c.Maximum = cmp.Or(c.Maximum, c.Node)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 2)
	c.Heartbeat = cmp.Or(c.Heartbeat, 100*time.Millisecond)
	c.Protection = cmp.Or(c.Protection, "authentication")
	switch {
	case c.Nodes < 0:
		return cluster{}, fmt.Errorf("start fake cluster: %d nodes: want 1 or more", c.Nodes)
	case c.Minimum.MemoryMB <= 0 || c.Minimum.VCores <= 0 || !c.Minimum.Fits(c.Maximum):
		return cluster{}, fmt.Errorf("start fake cluster: minimum %s is not between 0 and the maximum %s", c.Minimum, c.Maximum)
	}
	qops, err := sasl.ParseProtection(c.Protection)
	if err != nil {
		return cluster{}, fmt.Errorf("start fake cluster: protection %q: %w", c.Protection, err)
	}
	return cluster{Config: c, qops: qops, settings: books.Settings{
		Minimum: c.Minimum, Maximum: c.Maximum, MaxAttempts: c.MaxAttempts, ClientTokens: c.ClientTokens,
		MasterExpiry: c.MasterExpiry, NodeExpiry: c.NodeExpiry, StoreDelay: c.StoreDelay,
	}}, nil
}

// workplace returns the directory for containers, and a function that removes it if workplace
// has made it.
func (c cluster) workplace() (dir string, remove func() error, err error) {
	keep := func() error { return nil }
	if c.Run != nil || c.Dir != "" {
		return c.Dir, keep, nil
	}
	dir, err = os.MkdirTemp("", "yarnfake-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}
