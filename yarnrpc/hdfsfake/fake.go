package hdfsfake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// nameService is the authority of a Fake with several NameNodes.
const nameService = "fakehdfs"

// Ports of the servers, Hadoop's own.
const (
	nameNodePort = 8020
	dataNodePort = 9866
)

// Config describes the HDFS. The zero value has one NameNode and one DataNode.
type Config struct {
	// NameNodes is the number of NameNodes; 0: one. Several share a nameservice, and the
	// first is active.
	NameNodes int
	// DataNodes is the number of DataNodes; 0: one. Each has every block.
	DataNodes int
	// BlockSize of new files in bytes, a multiple of 512; 0: 128 KiB.
	BlockSize int64
	// KeepAlive is the time for which a DataNode waits for another operation on a connection
	// (dfs.datanode.socket.reuse.keepalive); 0: 4 s.
	KeepAlive time.Duration
	// ListLimit bounds the entries in one part of a listing (dfs.ls.limit); 0: 1000.
	ListLimit int
	// Tokens makes the NameNodes issue delegation tokens, and accept them as a login
	// (dfs.namenode.delegation.token.always-use).
	Tokens bool
}

// Fake is a running HDFS.
type Fake struct {
	config    Config
	authority string
	conf      *hadoopconf.Conf
	nameNodes []*nameNode // in the order of their numbers, from 0
	dataNodes []string    // host names, which are also their addresses
	faults    faults
	tasks     sync.WaitGroup // connections of DataNodes

	mu      sync.Mutex // guards what follows
	space   namespace
	tokens  tokens
	active  int // number of a NameNode
	calls   []Call
	reads   []Read
	cache   map[string]answer // of calls that must not be executed twice, by client and call
	conns   map[net.Conn]bool // of DataNodes
	dialled int               // connections that DataNodes have accepted
	dead    map[string]bool   // DataNodes that the NameNodes treat as dead, by name
	// safeMode says that the NameNodes refuse changes.
	safeMode bool
	stopped  bool
}

// Start starts an HDFS without files. Its owner stops it.
func Start(c Config) *Fake {
	c.NameNodes, c.DataNodes = max(c.NameNodes, 1), max(c.DataNodes, 1)
	if c.BlockSize == 0 {
		c.BlockSize = 128 << 10
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = 4 * time.Second
	}
	if c.ListLimit == 0 {
		c.ListLimit = 1000
	}
	f := &Fake{config: c, space: newNamespace(), tokens: newTokens(), cache: make(map[string]answer), conns: make(map[net.Conn]bool), dead: make(map[string]bool)}
	for i := range c.NameNodes {
		f.nameNodes = append(f.nameNodes, newNameNode(f, i))
	}
	tag := strings.ToLower(rand.Text()[:8]) // keeps the names of tests apart: clients remember failed DataNodes
	for i := range c.DataNodes {
		f.dataNodes = append(f.dataNodes, fmt.Sprintf("node%d.%s", i+1, tag))
	}
	f.configure()
	return f
}

// configure makes the clients' configuration.
func (f *Fake) configure() {
	f.authority = f.nameNodes[0].address
	properties := map[string]string{}
	if f.config.NameNodes > 1 {
		f.authority = nameService
		properties["dfs.nameservices"] = nameService
		properties["dfs.client.failover.random.order"] = "false"
		var names []string
		for i, n := range f.nameNodes {
			name := fmt.Sprintf("nn%d", i)
			names = append(names, name)
			properties["dfs.namenode.rpc-address."+nameService+"."+name] = n.address
		}
		properties["dfs.ha.namenodes."+nameService] = strings.Join(names, ",")
	}
	properties["fs.defaultFS"] = "hdfs://" + f.authority
	f.conf = new(hadoopconf.Conf).With("hdfsfake", properties)
}

// Conf returns the Hadoop configuration of the clients.
func (f *Fake) Conf() *hadoopconf.Conf { return f.conf }

// Authority returns the authority of hdfs URIs: the NameNode or the nameservice.
func (f *Fake) Authority() string { return f.authority }

// Dialled returns the number of connections that DataNodes have accepted so far.
func (f *Fake) Dialled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dialled
}

// Connected returns the number of open connections to DataNodes.
func (f *Fake) Connected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

// running returns the DataNodes that the NameNodes do not treat as dead. f.mu is held.
func (f *Fake) running() []string {
	return slices.DeleteFunc(slices.Clone(f.dataNodes), func(name string) bool { return f.dead[name] })
}

// DataNodes returns the names by which the NameNodes know the DataNodes.
func (f *Fake) DataNodes() []string { return f.dataNodes }

// Dial opens a connection to a NameNode or a DataNode. It refuses unknown addresses and
// those of stopped nodes.
func (f *Fake) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	refused := &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", address, syscall.ECONNREFUSED)}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, refused)
	}
	if f.faults.refuses(address) {
		return nil, refused
	}
	ours, theirs := net.Pipe()
	for _, n := range f.nameNodes {
		if n.address == address {
			n.server.Serve(ours)
			return theirs, nil
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range f.dataNodes {
		if dataNodeAddress(name) == address && !f.stopped {
			f.conns[ours] = true
			f.dialled++
			f.tasks.Go(func() { f.transfer(name, ours) })
			return theirs, nil
		}
	}
	return nil, errors.Join(refused, ours.Close(), theirs.Close())
}

func dataNodeAddress(name string) string { return fmt.Sprintf("%s:%d", name, dataNodePort) }

// Stop ends the HDFS with all connections. It may be called twice.
func (f *Fake) Stop() {
	f.mu.Lock()
	f.stopped = true
	for conn := range f.conns {
		conn.Close()
	}
	f.mu.Unlock()
	for _, n := range f.nameNodes {
		n.server.Close()
	}
	f.tasks.Wait()
}

// nameNode is one of the NameNodes. They share one namespace.
type nameNode struct {
	fake    *Fake
	number  int
	address string
	server  *rpctest.Server
}

func newNameNode(f *Fake, number int) *nameNode {
	n := &nameNode{fake: f, number: number, address: fmt.Sprintf("127.0.0.%d:%d", number+1, nameNodePort)}
	n.server = &rpctest.Server{Handler: n.call, Trusts: true}
	if f.config.Tokens {
		n.server.Passwords = f.password
	}
	return n
}
