package yarnfake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Fake is a running cluster.
type Fake struct {
	cluster  cluster
	conf     *hadoopconf.Conf
	client   *rpctest.Server // of ApplicationClientProtocol
	masters  *rpctest.Server // of ApplicationMasterProtocol
	managers []*nodeManager
	servers  map[string]*rpctest.Server // by address
	remove   func() error
	faults   faults

	stopping chan struct{} // closed by Stop
	stop     sync.Once
	stopped  error
	tasks    sync.WaitGroup // heartbeats and containers

	mu    sync.Mutex // guards books and the order of their effects
	books books
}

// Start starts a cluster. Its owner stops it.
func Start(c Config) (*Fake, error) {
	full, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Fake{
		cluster: full, stopping: make(chan struct{}), servers: make(map[string]*rpctest.Server),
		books: books{settings: full.settings, keys: newKeys(), started: time.Now().UnixMilli()},
	}
	dir, remove, err := full.workplace()
	if err != nil {
		return nil, fmt.Errorf("start fake cluster: %w", err)
	}
	f.remove = remove
	if err := f.open(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("start fake cluster: %w", err), f.Stop())
	}
	if full.Heartbeat > 0 {
		f.tasks.Go(f.beats)
	}
	return f, nil
}

// open makes the servers and starts them.
func (f *Fake) open(dir string) error {
	f.client = &rpctest.Server{
		Handler: f.clientCall, Passwords: f.delegationPassword, Trusts: true, QOPs: f.cluster.qops,
	}
	f.masters = &rpctest.Server{Handler: f.masterCall, Passwords: f.amrmPassword, QOPs: f.cluster.qops}
	clientAddress, err := f.listen(f.client, "resourcemanager:8032")
	if err != nil {
		return err
	}
	schedulerAddress, err := f.listen(f.masters, "resourcemanager:8030")
	if err != nil {
		return err
	}
	for i := range f.cluster.Nodes {
		m := newNodeManager(f, dir)
		address, err := f.listen(m.server, fmt.Sprintf("node%d:8041", i+1))
		if err != nil {
			return err
		}
		if m.id, err = records.ParseNodeID(address); err != nil {
			return err
		}
		f.managers = append(f.managers, m)
		f.books.nodes = append(f.books.nodes, &node{id: m.id, capability: f.cluster.Node, heard: time.Now()})
	}
	f.conf = new(hadoopconf.Conf).With("yarnfake", map[string]string{
		"yarn.resourcemanager.address":             clientAddress,
		"yarn.resourcemanager.scheduler.address":   schedulerAddress,
		"yarn.resourcemanager.hostname":            "127.0.0.1",
		"hadoop.rpc.protection":                    f.cluster.Protection,
		"yarn.scheduler.minimum-allocation-mb":     strconv.FormatInt(f.cluster.Minimum.MemoryMB, 10),
		"yarn.scheduler.maximum-allocation-mb":     strconv.FormatInt(f.cluster.Maximum.MemoryMB, 10),
		"yarn.scheduler.minimum-allocation-vcores": strconv.Itoa(f.cluster.Minimum.VCores),
		"yarn.scheduler.maximum-allocation-vcores": strconv.Itoa(f.cluster.Maximum.VCores),
		// Hadoop's 30 s and 10 s are too long for tests.
		"yarn.resourcemanager.connect.retry-interval.ms":    "50",
		"yarn.client.nodemanager-connect.retry-interval-ms": "50",
	})
	return nil
}

// listen gives a server its address: a port of its own, or a name that only Dial knows.
func (f *Fake) listen(s *rpctest.Server, name string) (string, error) {
	address := name
	if !f.cluster.InMemory {
		var err error
		if address, err = s.ListenLoopback(context.Background()); err != nil {
			return "", err
		}
	}
	f.servers[address] = s
	return address, nil
}

// Conf returns the Hadoop configuration of the cluster's clients.
func (f *Fake) Conf() *hadoopconf.Conf { return f.conf }

// Nodes returns the NodeManagers, also lost ones, in the order of heartbeats.
func (f *Fake) Nodes() []records.NodeID {
	ids := make([]records.NodeID, len(f.managers))
	for i, m := range f.managers {
		ids[i] = m.id
	}
	return ids
}

// Dial opens a connection to a server of the cluster without a socket, for
// yarnrpc.Options.Dial. It refuses unknown addresses and those of lost nodes.
func (f *Fake) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	server := f.servers[address]
	if server == nil || f.lost(address) || ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", address, syscall.ECONNREFUSED)})
	}
	ours, theirs := net.Pipe()
	server.Serve(ours)
	return theirs, nil
}

// Stop ends the cluster with its connections, containers and their processes. It may
// be called more than once.
func (f *Fake) Stop() error {
	f.stop.Do(func() {
		close(f.stopping)
		for _, m := range f.managers {
			m.empty()
		}
		for server := range maps.Values(f.servers) {
			server.Close()
		}
		f.tasks.Wait()
		f.stopped = f.remove()
	})
	return f.stopped
}

// Beat makes one heartbeat of each NodeManager, in their order, and so grants
// containers. It returns when the state is updated. ApplicationMasters get the
// containers with their next allocate.
func (f *Fake) Beat() {
	for _, m := range f.managers {
		if !m.frozen.Load() {
			f.step(nodeBeat{m.id})
		}
	}
}

func (f *Fake) beats() {
	ticker := time.NewTicker(f.cluster.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.Beat()
		case <-f.stopping:
			return
		}
	}
}

// step passes an event to the books and performs their effects. It returns the answer for
// the caller, if there is one.
func (f *Fake) step(e event) answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	var reply answer
	for _, effect := range f.books.step(time.Now(), e) {
		switch effect := effect.(type) {
		case answer:
			reply = effect
		case launch:
			f.manager(effect.node).launchMaster(effect.request)
		case kill:
			f.manager(effect.node).kill(effect.id, effect.exit, effect.reason)
		case emptyNode:
			f.manager(effect.node).empty()
		}
	}
	return reply
}

func (f *Fake) manager(id records.NodeID) *nodeManager {
	for _, m := range f.managers {
		if m.id == id {
			return m
		}
	}
	return nil
}

// lost reports whether an address is that of a lost node.
func (f *Fake) lost(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.books.nodes {
		if n.id.String() == address {
			return n.lost
		}
	}
	return false
}
