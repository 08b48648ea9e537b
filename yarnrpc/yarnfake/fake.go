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
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// Fake is a running cluster.
type Fake struct {
	cluster  cluster
	conf     *hadoopconf.Conf
	fronts   []front // of the ResourceManagers
	managers []*nodeManager
	servers  map[string]*rpctest.Server // by address
	remove   func() error
	faults   faults

	stopping chan struct{} // closed by Stop
	stop     sync.Once
	stopped  error
	tasks    sync.WaitGroup // heartbeats and containers

	moved chan struct{} // has an element after a step: the alarm may be another

	mu         sync.Mutex // guards what follows, the cores of the nodes, and the order of effects
	rm         *books.ResourceManager
	generation int32 // of the ResourceManager's keys
	active     int   // index of the active ResourceManager's front
	standby    bool  // not even that one is active
}

// Start starts a cluster. Its owner stops it.
func Start(c Config) (*Fake, error) {
	full, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Fake{
		cluster: full, stopping: make(chan struct{}), servers: make(map[string]*rpctest.Server), moved: make(chan struct{}, 1),
		rm: books.NewResourceManager(full.settings, newKeys(0), time.Now()),
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
	f.tasks.Go(f.alarms)
	return f, nil
}

// open makes the servers and starts them.
func (f *Fake) open(dir string) error {
	addresses, err := f.openFronts()
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
		m.core = books.NewNodeManager(m.id, f.cluster.Node)
		f.managers = append(f.managers, m)
		f.tell(m, books.Start{})
	}
	f.conf = new(hadoopconf.Conf).With("yarnfake", map[string]string{
		"hadoop.rpc.protection":                    f.cluster.Protection,
		"yarn.scheduler.minimum-allocation-mb":     strconv.FormatInt(f.cluster.Minimum.MemoryMB, 10),
		"yarn.scheduler.maximum-allocation-mb":     strconv.FormatInt(f.cluster.Maximum.MemoryMB, 10),
		"yarn.scheduler.minimum-allocation-vcores": strconv.Itoa(f.cluster.Minimum.VCores),
		"yarn.scheduler.maximum-allocation-vcores": strconv.Itoa(f.cluster.Maximum.VCores),
		// Hadoop's 30 s and 10 s are too long for tests.
		"yarn.resourcemanager.connect.retry-interval.ms":    "50",
		"yarn.client.nodemanager-connect.retry-interval-ms": "50",
	}).With("yarnfake", addresses)
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
// yarnrpc.Options.Dial. It refuses unknown addresses and those of lost nodes and standbys.
func (f *Fake) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	server := f.servers[address]
	if server == nil || f.lost(address) || f.refuses(server) || ctx.Err() != nil {
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
			f.tell(m, books.Stop{})
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
			f.tell(m, books.Beat{})
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

// alarms wakes the ResourceManager when it wants that.
func (f *Fake) alarms() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-f.moved:
		case <-timer.C:
			f.step(books.Tick{})
		case <-f.stopping:
			return
		}
		timer.Stop()
		f.mu.Lock()
		alarm := f.rm.Alarm()
		f.mu.Unlock()
		if !alarm.IsZero() {
			timer.Reset(time.Until(alarm))
		}
	}
}

// step passes an event to the ResourceManager and performs its effects. It returns the answer for
// the caller, if there is one.
func (f *Fake) step(e books.Event) books.Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stepLocked(e)
}

// tell passes an event to a NodeManager, as step does.
func (f *Fake) tell(m *nodeManager, e books.NodeEvent) books.Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tellLocked(m, e)
}

// stepLocked does the work of step. An order for a node reaches the node at once.
func (f *Fake) stepLocked(e books.Event) books.Answer {
	var reply books.Answer
	for _, effect := range f.rm.Step(time.Now(), e) {
		switch effect := effect.(type) {
		case books.Answer:
			reply = effect
		case books.ToNode:
			if m := f.manager(effect.To()); m != nil {
				f.tellLocked(m, effect)
			}
		default:
		}
	}
	select {
	case f.moved <- struct{}{}:
	default:
	}
	return reply
}

// tellLocked does the work of tell. A node's report reaches the ResourceManager at once.
func (f *Fake) tellLocked(m *nodeManager, e books.NodeEvent) books.Answer {
	var reply books.Answer
	for _, effect := range m.core.Step(time.Now(), e) {
		switch effect := effect.(type) {
		case books.Answer:
			reply = effect
		case books.Run:
			m.run(effect)
		case books.End:
			m.end(effect.ID)
		case books.Signal:
			m.signal(effect)
		case books.ToResourceManager:
			f.stepLocked(effect)
		default:
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
	for _, m := range f.managers {
		if m.id.String() == address {
			return !m.core.Up()
		}
	}
	return false
}
