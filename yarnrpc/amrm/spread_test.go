package amrm

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	gb := func(n int64) records.Resource { return records.Resource{MemoryMB: n << 10, VCores: int(n)} }
	tests := map[string]struct {
		nodes []Node
		n     int
		want  []HostAsk
	}{
		"one container may go to the first host that reports": {
			[]Node{{"a", "/r", gb(4)}, {"b", "/r", gb(4)}},
			1,
			[]HostAsk{{"a", "/r", 1}, {"b", "/r", 1}},
		},
		"counts are even and enough": {
			[]Node{{"a", "/r", gb(9)}, {"b", "/r", gb(9)}, {"c", "/s", gb(9)}},
			7,
			[]HostAsk{{"a", "/r", 3}, {"b", "/r", 3}, {"c", "/s", 3}},
		},
		"a full host is not named, a small one gets what it holds": {
			[]Node{{"full", "/r", gb(0)}, {"small", "/r", gb(1)}, {"big", "/r", gb(9)}},
			5,
			[]HostAsk{{"big", "/r", 4}, {"small", "/r", 1}},
		},
		"a full cluster is asked as if it were empty": {
			[]Node{{"a", "/r", gb(0)}, {"b", "/r", gb(1)}},
			4,
			[]HostAsk{{"b", "/r", 2}, {"a", "/r", 2}},
		},
		"NodeManagers of one host are one place": {
			[]Node{{"a", "/r", gb(1)}, {"a", "/r", gb(2)}},
			3,
			[]HostAsk{{"a", "/r", 3}},
		},
		"no nodes are no hosts":        {nil, 3, nil},
		"no containers are no hosts":   {[]Node{{"a", "/r", gb(1)}}, 0, nil},
		"negative room is a full host": {[]Node{{"a", "/r", gb(-1)}, {"b", "/r", gb(3)}}, 2, []HostAsk{{"b", "/r", 2}}},
		"cores count as much as memory do": {
			[]Node{{"a", "/r", records.Resource{MemoryMB: 9 << 10, VCores: 1}}, {"b", "/r", gb(9)}},
			4,
			[]HostAsk{{"b", "/r", 3}, {"a", "/r", 1}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Spread(test.nodes, test.n, gb(1))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Spread (-want +got):\n%s", diff)
			}
		})
	}
}

// With too few named places, containers would wait for the slow "*". With too many, the
// ask for one container would be as large as the cluster.
func TestSpreadNamesEnoughPlacesAndNotTheWholeCluster(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := records.Resource{MemoryMB: int64(rapid.IntRange(1, 4).Draw(t, "MB")), VCores: rapid.IntRange(0, 2).Draw(t, "cores")}
		n := rapid.IntRange(1, 60).Draw(t, "n")
		room := 0
		nodes := make([]Node, rapid.IntRange(1, 200).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = Node{
				Host: fmt.Sprintf("h%03d", i), Rack: fmt.Sprintf("/r%d", i%3),
				Free: records.Resource{MemoryMB: int64(rapid.IntRange(0, 12).Draw(t, "free")), VCores: 8},
			}
			room += fits(nodes[i].Free, size, n)
		}
		named, most, least := 0, 0, n
		asks := Spread(nodes, n, size)
		for _, h := range asks {
			named += h.Count
			most, least = max(most, h.Count), min(least, h.Count)
		}
		if named < n {
			t.Fatalf("%d places are named for %d containers", named, n)
		}
		if limit := namedHosts(n); len(asks) > limit && room >= 2*n*n {
			t.Errorf("%d hosts are named for %d containers", len(asks), n)
		}
		if least < 1 {
			t.Errorf("a host is asked for %d containers", least)
		}
		// Even: lowering the largest count would leave fewer places than n.
		below := 0
		for _, h := range asks {
			below += min(h.Count, most-1)
		}
		if below >= n && most > 1 {
			t.Errorf("counts up to %d where %d would do: %v", most, most-1, asks)
		}
		if diff := cmp.Diff(asks, Spread(nodes, n, size)); diff != "" {
			t.Errorf("differs from one call to the next:\n%s", diff)
		}
	})
}
