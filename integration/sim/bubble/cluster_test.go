package bubble

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

const (
	leastDelay = 100 * time.Microsecond // of one way between processes
	mostDelay  = 5 * time.Millisecond
	// masterExpiry is how long YARN waits for a silent ApplicationMaster.
	masterExpiry = 3 * time.Minute
	// mostAttempts is how many attempts of an application YARN starts.
	mostAttempts = 50
	nodes        = 3
)

var nodeSize = records.Resource{MemoryMB: 16384, VCores: 16} //nolint:gochecknoglobals // a constant

// cluster is YARN, HDFS, and the processes on them.
type cluster struct {
	yarn    *yarnfake.Fake
	files   *hdfs
	config  config.Config
	log     logrus.FieldLogger
	running sync.WaitGroup // the goroutines of processes

	mu        sync.Mutex // guards what follows
	random    *rand.Rand
	processes []*process // by age
	kinds     map[kind][]*process
	listeners map[address]*listener
	ports     int
}

// kind is what a process runs.
type kind string

// The kinds of processes that faults hit.
const (
	masters   kind = "master"
	workers   kind = "worker"
	taskHosts kind = "task host"
)

// hdfs is the file system of the cluster.
type hdfs struct {
	mu    sync.Mutex // held during the effect of a call
	space *dfsmodel.Namespace
}

// crash ends the leases of a process.
func (h *hdfs) crash(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.space.Crash(time.Now(), client)
}

// newCluster starts a cluster without processes.
func newCluster(t *testing.T, seed uint64, log logrus.FieldLogger) *cluster {
	t.Helper()
	options, err := config.New(config.Layer{Source: "bubble", Values: map[string]string{
		config.FixedDelayAttempts.Name():    "1000", // the job must finish, whatever fails
		config.SlotRequestTimeout.Name():    "1 d",
		config.TaskSlots.Name():             "1", // so that records cross connections
		config.YarnHeartbeatInterval.Name(): "5 s",
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		files: &hdfs{space: dfsmodel.NewNamespace(time.Now())}, config: options, log: log,
		random: rand.New(rand.NewPCG(seed, 1)),
		kinds:  make(map[kind][]*process), listeners: make(map[address]*listener),
	}
	c.yarn, err = yarnfake.Start(yarnfake.Config{
		Nodes: nodes, Node: nodeSize, Minimum: records.Resource{MemoryMB: 1024, VCores: 1}, MaxAttempts: mostAttempts,
		MasterExpiry: masterExpiry, StoreDelay: 100 * time.Millisecond, Heartbeat: time.Second,
		InMemory: true, Run: c.run,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// delay draws the time of one way between two processes.
func (c *cluster) delay() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return leastDelay + time.Duration(c.random.Int64N(int64(mostDelay-leastDelay)))
}

func (c *cluster) add(p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes = append(c.processes, p)
}

// sort says what a process runs.
func (c *cluster) sort(k kind, p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds[k] = append(c.kinds[k], p)
}

// alive returns the processes of a kind that run, by age.
func (c *cluster) alive(k kind) []*process {
	c.mu.Lock()
	defer c.mu.Unlock()
	var alive []*process
	for _, p := range c.kinds[k] {
		if p.alive() {
			alive = append(alive, p)
		}
	}
	return alive
}

func (c *cluster) listen(p *process, host string) *listener {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ports++
	l := &listener{process: p, at: address(fmt.Sprint(host, ":", 30000+c.ports)), accepted: make(chan *conn), closed: make(chan struct{})}
	c.listeners[l.at] = l
	return l
}

func (c *cluster) unlisten(l *listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.listeners, l.at)
}

func (c *cluster) listener(at string) *listener {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listeners[address(at)]
}

// close ends the cluster with all processes, and waits for their goroutines.
func (c *cluster) close(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	processes := append([]*process(nil), c.processes...)
	c.mu.Unlock()
	for _, p := range processes {
		p.kill()
	}
	if err := c.yarn.Stop(); err != nil {
		t.Error(err)
	}
	c.running.Wait()
}
