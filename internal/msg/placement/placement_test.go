package placement_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
)

// TestATableSurvivesTheWire would catch a subtask that comes out at another host, as another attempt or of another epoch,
// or not at all, one whose partitions are looked for where it ran, whatever the order in which regions were added.
func TestATableSurvivesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parallelism := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 4).Draw(t, "parallelism")
		var all []ids.ExecutionAttemptID
		for v, n := range parallelism {
			for s := range n {
				all = append(all, ids.ExecutionAttemptID{Vertex: v, Subtask: s})
			}
		}
		if rapid.Bool().Draw(t, "in any order") {
			all = rapid.Permutation(all).Draw(t, "order")
		}
		var hosts []placement.Host
		for i := range rapid.IntRange(1, len(all)).Draw(t, "hosts") {
			hosts = append(hosts, placement.Host{
				ID:      ids.HostID(fmt.Sprintf("container_e17_1700000000000_0001_01_%06d-%d", i, i%3)),
				Address: rapid.SampledFrom([]string{"n1:1", "node-2.example.com:65535", "[::1]:0", "n:65536", "n:01", "n", ":", ""}).Draw(t, "address"),
			})
		}
		type place struct {
			execution ids.ExecutionAttemptID
			host      placement.Host
		}
		want, partitions := make(map[[2]int]place), make(map[[2]int]place)
		var table placement.Table
		for _, e := range all[:rapid.IntRange(0, len(all)).Draw(t, "added")] {
			e.Epoch = ids.Epoch(rapid.SampledFrom([]int{1, 1, 0, 300}).Draw(t, "epoch"))
			e.Attempt = rapid.SampledFrom([]int{0, 0, 0, 1, 70_000}).Draw(t, "attempt")
			p := place{e, rapid.SampledFrom(hosts).Draw(t, "host")}
			of := rapid.IntRange(1, 3).Draw(t, "task, partitions or both")
			if of&1 != 0 {
				table.Add(p.execution, p.host)
				want[[2]int{e.Vertex, e.Subtask}] = p
			}
			if of&2 != 0 {
				p.host = rapid.SampledFrom(hosts).Draw(t, "server")
				table.AddPartitions(p.execution, p.host)
				partitions[[2]int{e.Vertex, e.Subtask}] = p
			}
		}
		got, err := placement.Decode(table.Encode(), parallelism)
		if err != nil {
			t.Fatal(err)
		}
		for v, n := range parallelism {
			for s := -1; s <= n; s++ {
				execution, host, found := got.Find(v, s)
				w, placed := want[[2]int{v, s}]
				if found != placed || found && (place{execution, host} != w) {
					t.Errorf("v%d s%d is found: %v, %v at %v; want %v: %v", v, s, found, execution, host, placed, w)
				}
				execution, host, found = got.FindPartitions(v, s)
				w, placed = partitions[[2]int{v, s}]
				if found != placed || found && (place{execution, host} != w) {
					t.Errorf("partitions of v%d s%d are found: %v, %v at %v; want %v: %v", v, s, found, execution, host, placed, w)
				}
			}
		}
		if _, _, found := got.Find(len(parallelism), 0); found {
			t.Error("a vertex that the job does not have is found")
		}
	})
}

// large is the table of a job with an all-to-all edge of 10,000 to 10,000 subtasks on 2,500 workers.
func large() *placement.Table {
	var t placement.Table
	for s := range 10_000 {
		w := s / 4
		t.Add(ids.ExecutionAttemptID{Subtask: s}, placement.Host{
			ID:      ids.HostID(fmt.Sprintf("container_e17_1700000000000_0001_01_%06d-1", w*7919%2500)),
			Address: fmt.Sprintf("node-%04d.dc1.example.com:%d", w*6007%2500, 32768+w*6151%28000),
		})
	}
	return &t
}

// TestALargeTableIsSmall would catch a deployment whose bytes grow with the square of the workers
// faster than the network bears: each of 2,500 hosts gets this table.
func TestALargeTableIsSmall(t *testing.T) {
	t.Parallel()
	data := large().Encode()
	if most := 30 << 10; len(data) > most {
		t.Errorf("table of 2,500 hosts has %d bytes, want at most %d", len(data), most)
	}
	table, err := placement.Decode(data, []int{10_000, 10_000})
	if err != nil {
		t.Fatal(err)
	}
	if _, host, found := table.Find(0, 9_999); !found || host.Address != "node-1493.dc1.example.com:60117" {
		t.Errorf("the last subtask is found: %v, at %v", found, host)
	}
}

// TestOtherBytesAreRefused would catch a table that takes more memory than its job's, that leads to
// hosts or subtasks which do not exist, or that crashes the task host.
func TestOtherBytesAreRefused(t *testing.T) {
	t.Parallel()
	bomb := large()
	for v := range 60 {
		for s := range 10_000 {
			bomb.Add(ids.ExecutionAttemptID{Vertex: v + 1, Subtask: s * 2}, placement.Host{ID: "h", Address: "n:1"})
		}
	}
	for name, data := range map[string][]byte{
		"an unknown form":         {2, 0},
		"no bytes after the form": {0},
		"too many hosts":          {0, 7},
		"half a host":             {0, 1, 1, 'h', 200},
		"a port above the most":   {0, 1, 1, 'h', 1, 'n', 0x82, 0x80, 4},
		"an unknown list":         {0, 1, 1, 'h', 1, 'n', 2, 4, 1, 0, 1, 2, 0, 0},
		"a list twice":            {0, 1, 1, 'h', 1, 'n', 2, 0, 1, 0, 1, 2, 0, 0, 0, 1, 0, 1, 2, 0, 0},
		"a run beyond the vertex": {0, 1, 1, 'h', 1, 'n', 2, 0, 1, 1, 2, 2, 0, 0},
		"a run without subtasks":  {0, 1, 1, 'h', 1, 'n', 2, 0, 1, 0, 0, 2, 0, 0},
		"a run of epoch -1":       {0, 1, 1, 'h', 1, 'n', 2, 0, 1, 0, 1, 1, 0, 0},
		"a run on another host":   {0, 1, 1, 'h', 1, 'n', 2, 0, 1, 0, 1, 2, 0, 2},
		"a run on host -1":        {0, 1, 1, 'h', 1, 'n', 2, 0, 1, 0, 1, 2, 0, 1},
		"deflated garbage":        {1, 0xff, 0xff},
		"more than the job needs": bomb.Encode(),
	} {
		if _, err := placement.Decode(data, []int{2, 1}); !errors.Is(err, placement.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := placement.Decode([]byte{0, 1, 1, 'h', 1, 'n', 2, 0, 1, 1, 1, 2, 0, 0}, []int{2, 1}); err != nil {
		t.Errorf("a table: %v", err)
	}
}

// FuzzDecode would catch bytes that crash a task host, or a table with more subtasks than its job.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{0, 1, 1, 'h', 1, 'n', 2, 0, 1, 1, 1, 2, 0, 0})
	f.Add(large().Encode())
	var several placement.Table
	for _, s := range []int{3, 0, 1, 2} {
		several.Add(ids.ExecutionAttemptID{Vertex: s % 2, Subtask: s, Attempt: s}, placement.Host{ID: ids.HostID(fmt.Sprint("h", s)), Address: "[::1]:9"})
	}
	f.Add(several.Encode())
	parallelism := []int{10_000, 4}
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := placement.Decode(data, parallelism)
		if err != nil {
			return
		}
		for v, n := range parallelism {
			for _, s := range []int{-1, n} {
				if _, _, found := table.Find(v, s); found {
					t.Errorf("subtask %d of vertex %d is found", s, v)
				}
			}
			table.Find(v, n/2)
		}
	})
}

// BenchmarkEncode is the cost of a deployment to 2,500 workers for the JobMaster, and BenchmarkDecode
// for each task host.
func BenchmarkEncode(b *testing.B) {
	table := large()
	b.ReportAllocs()
	for b.Loop() {
		table.Encode()
	}
}

func BenchmarkDecode(b *testing.B) {
	data := large().Encode()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := placement.Decode(data, []int{10_000, 10_000}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data)), "bytes")
}
