package hdfs

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// failureMemory is the time for which a failed DataNode comes after the others. The NameNode
// itself leaves out a dead DataNode only after ten minutes.
const failureMemory = 5 * time.Minute

// mostFirst bounds how many DataNodes are known by which files began to be written.
const mostFirst = 64

// dataNodes remembers, for all readers and writers of a Dialer, which DataNodes have failed. Otherwise
// each of ten thousand files would wait for the same silent node, and the NameNode would place each new
// block at first on the dead DataNode of this machine.
type dataNodes struct {
	byName bool // DialerOptions.UseDatanodeHostname
	here   func() map[string]bool

	mu     sync.Mutex // guards what follows
	failed map[string]time.Time
	first  map[string]*hdfspb.DatanodeInfoProto // to which the newest blocks were to be written, by address
}

func newDataNodes(byName bool) *dataNodes {
	return &dataNodes{byName: byName, here: sync.OnceValue(ownAddresses), failed: make(map[string]time.Time), first: make(map[string]*hdfspb.DatanodeInfoProto)}
}

// ownAddresses returns this machine's addresses; none if they cannot be determined.
func ownAddresses() map[string]bool {
	own := make(map[string]bool)
	addresses, _ := net.InterfaceAddrs() // without them no node is preferred
	for _, a := range addresses {
		if network, is := a.(*net.IPNet); is {
			own[network.IP.String()] = true
		}
	}
	return own
}

// inOrder returns the addresses of DataNodes in the order in which to try them: first those on
// this machine, then the others in the NameNode's order. Those that have failed recently come
// last, the oldest failure first.
func (d *dataNodes) inOrder(nodes []*hdfspb.DatanodeInfoProto) []string {
	type candidate struct {
		address string
		here    bool
		failed  time.Time
	}
	d.mu.Lock()
	candidates := make([]candidate, len(nodes))
	for i, node := range nodes {
		c := candidate{address: d.address(node)}
		if d.failedLately(c.address) {
			c.failed = d.failed[c.address]
		}
		c.here = d.here()[node.GetId().GetIpAddr()]
		candidates[i] = c
	}
	d.mu.Unlock()
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		if order := a.failed.Compare(b.failed); order != 0 {
			return order
		}
		return cmp.Compare(rank(a.here), rank(b.here))
	})
	addresses := make([]string, len(candidates))
	for i, c := range candidates {
		addresses[i] = c.address
	}
	return addresses
}

// address returns where the Dialer connects to a DataNode.
func (d *dataNodes) address(node *hdfspb.DatanodeInfoProto) string {
	host := node.GetId().GetIpAddr()
	if d.byName {
		host = node.GetId().GetHostName()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(node.GetId().GetXferPort())))
}

func (d *dataNodes) failedLately(address string) bool {
	return time.Since(d.failed[address]) < failureMemory
}

// places notes the DataNodes of a new block. The client writes to the first one.
func (d *dataNodes) places(pipeline []*hdfspb.DatanodeInfoProto) {
	if len(pipeline) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.first) >= mostFirst {
		clear(d.first)
	}
	d.first[d.address(pipeline[0])] = pipeline[0]
}

// avoided returns the DataNodes that have failed lately when a block was to be written to them.
func (d *dataNodes) avoided() (nodes []*hdfspb.DatanodeInfoProto) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(d.first)) {
		if d.failedLately(address) {
			nodes = append(nodes, d.first[address])
		}
	}
	return nodes
}

func rank(here bool) int {
	if here {
		return 0
	}
	return 1
}

// note records whether a DataNode has failed.
func (d *dataNodes) note(address string, failed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if failed {
		d.failed[address] = time.Now()
	} else {
		delete(d.failed, address)
	}
}
