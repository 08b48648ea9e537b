package amrm

import (
	"cmp"
	"slices"
	"sort"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Node is a place for containers, as the node list of the cluster has it.
type Node struct {
	Host string
	Rack string
	Free records.Resource // what no container holds
}

// NodeOf reads a node from YARN's report of it.
func NodeOf(report records.NodeReport) Node {
	return Node{Host: report.ID.Host, Rack: report.Rack, Free: report.Capability.Sub(report.Used)}
}

// namedHosts bounds the hosts that an ask for n containers names: enough to find
// a free one soon, and not the whole of a large cluster.
func namedHosts(n int) int { return max(2*n, 16) }

// Spread chooses the hosts to name in an ask for n containers, and how many on
// each, so that the scheduler can give all of them in one round of NodeManager
// heartbeats: for "*" alone CapacityScheduler gives one per heartbeat
// (per-node-heartbeat.maximum-offswitch-assignments), for hosts that are named
// as many as are asked there.
//
// The counts are as even as the free room allows; hosts with most room come
// first. Together they are at least n, and mostly more: the first hosts that
// report take what they may, and Ask.Count stops the rest. When there is not
// room for n, or none is known, hosts are named as if all were empty, since
// room appears where containers end. NodeManagers of one host are one place.
func Spread(nodes []Node, n int, capability records.Resource) []HostAsk {
	places := placesOf(nodes, n, capability)
	if n <= 0 || len(places) == 0 {
		return nil
	}
	if roomOf(places) < n {
		for i := range places {
			places[i].fits = n
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.fits, a.fits), cmp.Compare(b.freeMB, a.freeMB), cmp.Compare(a.host, b.host))
	})
	if limit := namedHosts(n); len(places) > limit && roomOf(places[:limit]) >= n {
		places = places[:limit]
	}
	share := evenShare(places, n)
	var hosts []HostAsk
	for _, p := range places {
		if count := min(p.fits, share); count > 0 {
			hosts = append(hosts, HostAsk{Host: p.host, Rack: p.rack, Count: count})
		}
	}
	return hosts
}

type place struct {
	host, rack string
	fits       int   // containers there is room for, at most n
	freeMB     int64 // to prefer the emptier of two
}

func placesOf(nodes []Node, n int, capability records.Resource) []place {
	index := make(map[string]int)
	var places []place
	for _, node := range nodes {
		i, ok := index[node.Host]
		if !ok {
			i = len(places)
			index[node.Host] = i
			places = append(places, place{host: node.Host, rack: node.Rack})
		}
		places[i].fits = min(n, places[i].fits+fits(node.Free, capability, n))
		places[i].freeMB += node.Free.MemoryMB
	}
	return places
}

// fits is how many containers of a size free room holds, at most n.
func fits(free, capability records.Resource, n int) int {
	return sort.Search(n, func(i int) bool { return !capability.Times(i + 1).Fits(free) })
}

func roomOf(places []place) int {
	room := 0
	for _, p := range places {
		room += p.fits
	}
	return room
}

// evenShare is the lowest limit per place under which the places hold n.
func evenShare(places []place, n int) int {
	return 1 + sort.Search(n-1, func(i int) bool {
		held := 0
		for _, p := range places {
			held += min(p.fits, i+1)
		}
		return held >= n
	})
}
