package fleet

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/integration/internal/resourcetracker"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// NodesConfig describes simulated NodeManagers.
type NodesConfig struct {
	Conf     *hadoopconf.Conf // of the cluster whose ResourceManager they register with
	Version  string           // of Hadoop
	Count    int
	Resource records.Resource // of each
	// Start runs a container until ctx ends, and returns its exit status. nil: ApplicationMasters start none.
	Start func(ctx context.Context, c Container) records.ExitStatus
}

// Container is a container that a simulated NodeManager starts.
type Container struct {
	identifier.Container
	Node   records.NodeID
	Launch records.ContainerLaunchContext
}

// Nodes are simulated NodeManagers that heartbeat each second.
type Nodes struct {
	config NodesConfig
	client *resourcetracker.Client
	nodes  map[string]*resourcetracker.Node // by address
	hosts  []string
	server yarnfake.NodeServer
	ports  []net.Listener
	beats  *errgroup.Group
	stop   context.CancelFunc
	ctx    context.Context //nolint:containedctx // of the containers, until stop

	serving    sync.WaitGroup
	containers sync.WaitGroup
	mu         sync.Mutex // guards running
	running    map[records.ContainerID]context.CancelFunc
}

const nodePort = 45454

// StartNodes registers the nodes on loopback addresses of their own, and starts their heartbeats, spread over a
// second.
func StartNodes(ctx context.Context, c NodesConfig) (_ *Nodes, err error) {
	n := &Nodes{
		config: c, nodes: make(map[string]*resourcetracker.Node), beats: new(errgroup.Group),
		running: make(map[records.ContainerID]context.CancelFunc),
		client: resourcetracker.New(resourcetracker.Options{
			Addresses: []string{c.Conf.Get("yarn.resourcemanager.resource-tracker.address")},
			RPC:       yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "yarn"}}},
		}),
	}
	n.ctx, n.stop = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
		}
	}()
	n.server.Password, n.server.Start, n.server.Stop, n.server.Status = n.password, n.start, n.end, n.status
	n.server.Init()
	for i := range c.Count {
		if err := n.add(ctx, fmt.Sprintf("127.2.%d.%d", i/250, i%250+1)); err != nil {
			return nil, err
		}
		if err := pause.For(ctx, time.Second/time.Duration(c.Count)); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *Nodes) add(ctx context.Context, host string) error {
	id := records.NodeID{Host: host, Port: nodePort}
	if n.config.Start != nil {
		port, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(nodePort)))
		if err != nil {
			return err
		}
		n.ports = append(n.ports, port)
		n.serving.Go(func() { n.server.Serve(port) })
	}
	node := resourcetracker.NewNode(n.client, resourcetracker.Registration{
		Node: id, HTTPPort: 8042, Resource: n.config.Resource, Version: n.config.Version,
	})
	if err := node.Register(ctx); err != nil {
		return err
	}
	n.mu.Lock()
	n.nodes[id.String()], n.hosts = node, append(n.hosts, host)
	n.mu.Unlock()
	n.beats.Go(func() error { return n.beat(node) })
	return nil
}

// beat sends a node's heartbeats until Stop.
func (n *Nodes) beat(node *resourcetracker.Node) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-n.ctx.Done():
			return nil
		}
		if err := node.Beat(n.ctx); err != nil && n.ctx.Err() == nil {
			return err
		}
		for _, c := range node.Containers() {
			if c.State == records.ContainerComplete { // the ResourceManager wants it stopped
				n.cancel(c.ID)
			}
		}
	}
}

// Hosts are the nodes' hosts.
func (n *Nodes) Hosts() []string { return n.hosts }

// node returns a node, by its address.
func (n *Nodes) node(address string) (*resourcetracker.Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if node := n.nodes[address]; node != nil {
		return node, nil
	}
	return nil, fmt.Errorf("there is no node %s", address)
}

func (n *Nodes) password(id []byte) ([]byte, error) {
	token, err := identifier.DecodeNM(&creds.Token{Kind: creds.KindNM, Identifier: id})
	if err != nil {
		return nil, err
	}
	node, err := n.node(token.Node.String())
	if err != nil {
		return nil, err
	}
	key := node.Registered().NMTokenKey
	if key.ID != token.KeyID {
		return nil, fmt.Errorf("the token is of key %d, and the node has key %d", token.KeyID, key.ID)
	}
	return key.Password(id), nil
}

func (n *Nodes) start(token *creds.Token, launch records.ContainerLaunchContext) error {
	c, err := identifier.DecodeContainer(token)
	if err != nil {
		return err
	}
	node, err := n.node(c.NodeAddress)
	if err != nil {
		return err
	}
	if key := node.Registered().ContainerTokenKey; key.ID != c.KeyID || !hmac.Equal(key.Password(token.Identifier), token.Password) {
		return errors.New("the container's token is not the ResourceManager's")
	}
	ctx, cancel := context.WithCancel(n.ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running[c.ID] != nil {
		cancel()
		return fmt.Errorf("container %s runs already", c.ID)
	}
	n.running[c.ID] = cancel
	node.Start(records.Container{ID: c.ID, Node: node.ID(), Resource: c.Resource, Priority: c.Priority, Version: c.Version})
	n.containers.Go(func() {
		defer cancel()
		exit := n.config.Start(ctx, Container{c, node.ID(), launch})
		node.Complete(c.ID, exit, "")
		n.mu.Lock()
		delete(n.running, c.ID)
		n.mu.Unlock()
	})
	return nil
}

// cancel ends a container, and tells whether it was running.
func (n *Nodes) cancel(id records.ContainerID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	end, runs := n.running[id]
	if runs {
		end()
	}
	return runs
}

func (n *Nodes) end(id records.ContainerID) error {
	if !n.cancel(id) {
		return fmt.Errorf("container %s is not handled by this NodeManager", id)
	}
	return nil
}

func (n *Nodes) status(id records.ContainerID) (records.ContainerStatus, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running[id] == nil {
		return records.ContainerStatus{}, fmt.Errorf("container %s is not handled by this NodeManager", id)
	}
	return records.ContainerStatus{ID: id, State: records.ContainerRunning, ExitStatus: records.ExitUnknown}, nil
}

// Stop ends all containers and removes the nodes.
func (n *Nodes) Stop(ctx context.Context) error {
	n.stop()
	err := n.beats.Wait()
	for _, port := range n.ports {
		err = errors.Join(err, port.Close())
	}
	n.server.Close()
	n.serving.Wait()
	n.containers.Wait()
	for _, node := range n.nodes {
		err = errors.Join(err, node.Unregister(ctx))
	}
	return errors.Join(err, n.client.Close())
}
