package hdfs

import (
	"cmp"
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

// dataNodes remembers, for all readers of a Dialer, which DataNodes have failed. Otherwise each
// of ten thousand files would wait for the same silent node.
type dataNodes struct {
	byName bool // DialerOptions.UseDatanodeHostname
	here   func() map[string]bool

	mu     sync.Mutex // guards failedAt
	failed map[string]time.Time
}

func newDataNodes(byName bool) *dataNodes {
	return &dataNodes{byName: byName, here: sync.OnceValue(ownAddresses), failed: make(map[string]time.Time)}
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
		id := node.GetId()
		host := id.GetIpAddr()
		if d.byName {
			host = id.GetHostName()
		}
		c := candidate{address: net.JoinHostPort(host, strconv.Itoa(int(id.GetXferPort())))}
		if c.failed = d.failed[c.address]; time.Since(c.failed) >= failureMemory {
			c.failed = time.Time{}
		}
		c.here = d.here()[id.GetIpAddr()]
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
