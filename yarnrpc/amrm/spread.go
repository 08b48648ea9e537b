package amrm

import (
	"cmp"
	"slices"
	"sort"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Node is a host for containers, from the cluster's node list.
type Node struct {
	Host string
	Rack string
	Free records.Resource // resources that no container holds
}

// NodeOf converts YARN's report of a node.
func NodeOf(report records.NodeReport) Node {
	return Node{Host: report.ID.Host, Rack: report.Rack, Free: report.Capability.Sub(report.Used)}
}

// namedHosts returns the maximum number of hosts in an ask for n containers. They are
// enough to find a free host soon, but not all hosts of a large cluster.
func namedHosts(n int) int { return max(2*n, 16) }

// Spread chooses the hosts for an ask of n containers, and the number on each
// host. With them the scheduler can give all containers in one round of
// NodeManager heartbeats. For an ask without hosts, CapacityScheduler gives one
// container per heartbeat (per-node-heartbeat.maximum-offswitch-assignments).
// For a named host it gives as many as the ask's count for that host.
//
// The counts are as even as the free room allows; hosts with the most room come
// first. Their sum is at least n and usually more: the first hosts that report
// get their containers, and Ask.Count limits the total. If there is not enough
// known room for n, Spread treats each host as if it had room for n, because room
// appears when containers end. NodeManagers of one host count as one host.
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

// fits returns the number of containers of a size that fit into the free room, at most n.
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

// evenShare returns the lowest limit per place with which the places hold n containers.
func evenShare(places []place, n int) int {
	return 1 + sort.Search(n-1, func(i int) bool {
		held := 0
		for _, p := range places {
			held += min(p.fits, i+1)
		}
		return held >= n
	})
}
