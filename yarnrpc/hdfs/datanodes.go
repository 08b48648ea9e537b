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

// failureMemory is how long a DataNode that has failed is asked after the others. The NameNode
// itself takes ten minutes to leave out one that is dead.
const failureMemory = 5 * time.Minute

// dataNodes remembers, for all readers of a Dialer, which DataNodes have failed: ten thousand
// files must not find out one by one that a node does not answer.
type dataNodes struct {
	byName bool // DialerOptions.UseDatanodeHostname
	here   func() map[string]bool

	mu     sync.Mutex // guards failedAt
	failed map[string]time.Time
}

func newDataNodes(byName bool) *dataNodes {
	return &dataNodes{byName: byName, here: sync.OnceValue(ownAddresses), failed: make(map[string]time.Time)}
}

// ownAddresses are this machine's; none where they cannot be told.
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

// inOrder gives the addresses of DataNodes in the order in which they are best asked: those on
// this machine first, the others as the NameNode has them, and last the ones that have failed a
// while ago, the oldest failure first.
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

// note takes in what became of a DataNode that was asked.
func (d *dataNodes) note(address string, failed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if failed {
		d.failed[address] = time.Now()
	} else {
		delete(d.failed, address)
	}
}
