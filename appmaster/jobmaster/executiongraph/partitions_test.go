package executiongraph

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestPartitionsAsAModelHasThem compares the counts of exchanges with a model that follows each channel. It would catch a region that
// runs before its inputs are there, or never, a partition that is released while somebody reads it, or kept when nobody does, a
// region that counts as done though it may have to run again, and a wrong number of tasks for which others wait.
func TestPartitionsAsAModelHasThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newPartitionModel(t)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			m.act()
			m.check()
		}
	})
}

// partitionModel knows the state of each partition, and which regions have read their inputs.
type partitionModel struct {
	t        *rapid.T
	g        *Graph
	state    map[ids.PartitionID]partitionState
	consumed map[int]bool
	revoked  map[jobgraph.Edge]bool // all consumers are known to run again
}

func newPartitionModel(t *rapid.T) *partitionModel {
	g := job(rapid.SliceOfN(rapid.IntRange(1, 3), 1, 5).Draw(t, "parallelisms"))
	for to := 1; to < len(g.Vertices); to++ {
		for from := range to {
			if !rapid.Bool().Draw(t, "edge") {
				continue
			}
			edge := allToAll(jobgraph.VertexID(from), jobgraph.VertexID(to))
			edge.Output, edge.Input = len(g.Outputs(edge.From)), len(g.Inputs(edge.To))
			edge.Kind = rapid.SampledFrom([]jobgraph.Kind{jobgraph.Blocking, jobgraph.Blocking, jobgraph.Pipelined}).Draw(t, "kind")
			if g.Vertices[from].Parallelism == g.Vertices[to].Parallelism && rapid.Bool().Draw(t, "pointwise") {
				edge.Pattern = jobgraph.Pointwise
			}
			g.Edges = append(g.Edges, edge)
		}
	}
	if err := g.SettleKinds(); err != nil {
		t.Fatal(err)
	}
	m := &partitionModel{t: t, g: New(g, 1, 0), state: make(map[ids.PartitionID]partitionState), consumed: make(map[int]bool), revoked: make(map[jobgraph.Edge]bool)}
	m.check()
	return m
}

// channels gives the executions that are connected with one over its blocking inputs, or outputs.
func (m *partitionModel) channels(visit func(producer, consumer *Execution, edge jobgraph.Edge)) {
	for _, edge := range m.g.job.Edges {
		if edge.Kind == jobgraph.Pipelined {
			continue
		}
		producers, consumers := m.g.Vertex(int(edge.From)), m.g.Vertex(int(edge.To))
		for p := range producers {
			for c := range consumers {
				if edge.Pattern == jobgraph.AllToAll || p == c {
					visit(&producers[p], &consumers[c], edge)
				}
			}
		}
	}
}

func partitionOf(e *Execution, edge jobgraph.Edge) ids.PartitionID {
	return ids.PartitionID{Execution: e.ID, Output: edge.Output}
}

// sizeOf is the size of a partition, which tells it apart from others.
func sizeOf(p ids.PartitionID) int64 {
	return int64(1 + p.Output + 10*p.Execution.Subtask + 100*p.Execution.Vertex)
}

// diskOf is one of two disks on which a partition is.
func diskOf(p ids.PartitionID) int { return (p.Output + p.Execution.Subtask) % 2 }

func (m *partitionModel) act() {
	e := &m.g.executions[rapid.IntRange(0, m.g.Total()-1).Draw(m.t, "execution")]
	switch rapid.IntRange(0, 5).Draw(m.t, "action") {
	case 0, 1, 2: // it finishes
		var written []msg.WrittenPartition
		for _, edge := range m.g.job.Outputs(jobgraph.VertexID(e.ID.Vertex)) {
			if edge.Kind == jobgraph.Blocking {
				written = append(written, msg.WrittenPartition{Output: edge.Output, Dir: diskOf(partitionOf(e, edge)), Bytes: sizeOf(partitionOf(e, edge))})
				m.state[partitionOf(e, edge)] = available
			}
		}
		if err := m.g.CheckWritten(e, written); err != nil {
			m.t.Fatal(err)
		}
		m.restored()
		free := m.g.Write(e, written)
		m.expectFreed(free)
	case 3:
		var free []ids.PartitionID
		for _, held := range m.g.Consume(e.Region) {
			free = append(free, held.Partition)
		}
		m.consumed[e.Region] = true
		m.expectFreed(free)
		m.g.Settle(e.Region)
	case 4:
		needed := m.g.Lose(e)
		want := false
		m.channels(func(producer, consumer *Execution, edge jobgraph.Edge) {
			p := partitionOf(producer, edge)
			want = want || producer == e && m.state[p] == available && !m.consumed[consumer.Region]
		})
		if needed != want {
			m.t.Fatalf("the lost partitions of %s are needed: %t, want %t", e.ID, needed, want)
		}
		m.lose(e)
	case 5: // the region runs again, with all that have read from it and are not done
		if !m.g.Done(e.Region) {
			m.again(e.Region)
		}
	}
}

func (m *partitionModel) lose(e *Execution) {
	for p := range m.state {
		if p.Execution == e.ID && m.state[p] == available {
			delete(m.state, p)
		}
	}
}

func (m *partitionModel) again(r int) {
	m.g.ReadAgain(r)
	delete(m.consumed, r)
	for e := range m.g.Region(r) {
		m.g.Drop(e)
		for p := range m.state {
			if p.Execution == e.ID {
				delete(m.state, p)
			}
		}
	}
	m.checkRevoke(r)
	for consumer := range m.g.Consumers(r) {
		if m.consumed[consumer] && !m.g.Done(consumer) {
			m.again(consumer)
		}
	}
}

// checkRevoke checks that Revoke gives the regions that may have begun to read from a region whose partitions are dropped.
func (m *partitionModel) checkRevoke(r int) {
	want := make(map[int]bool)
	m.channels(func(producer, consumer *Execution, edge jobgraph.Edge) {
		if producer.Region == r && consumer.Region != r && !(edge.Pattern == jobgraph.AllToAll && m.revoked[edge]) {
			want[consumer.Region] = true
		}
	})
	if got := maps.Collect(setOf(slices.Collect(m.g.Revoke(r)))); !maps.Equal(got, want) {
		m.t.Fatalf("%v must not go on without region %d, want %v", got, r, want)
	}
	m.channels(func(producer, _ *Execution, edge jobgraph.Edge) {
		if producer.Region == r {
			m.revoked[edge] = true
		}
	})
}

// restored notes which exchanges are complete again.
func (m *partitionModel) restored() {
	incomplete := make(map[jobgraph.Edge]bool)
	m.channels(func(producer, _ *Execution, edge jobgraph.Edge) {
		incomplete[edge] = incomplete[edge] || m.state[partitionOf(producer, edge)] != available
	})
	for edge, lacks := range incomplete {
		if !lacks {
			delete(m.revoked, edge)
		}
	}
}

// expectFreed checks that exactly the partitions are free that nobody reads.
func (m *partitionModel) expectFreed(got []ids.PartitionID) {
	read := make(map[ids.PartitionID]bool)
	m.channels(func(producer, consumer *Execution, edge jobgraph.Edge) {
		p := partitionOf(producer, edge)
		read[p] = read[p] || !m.consumed[consumer.Region]
	})
	want := make(map[ids.PartitionID]bool)
	for p, state := range m.state {
		if state == available && !read[p] {
			want[p] = true
			m.state[p] = released
		}
	}
	freed := make(map[ids.PartitionID]bool)
	for _, p := range got {
		if freed[p] {
			m.t.Fatalf("%s is released twice", p)
		}
		freed[p] = true
	}
	if diff := cmp.Diff(want, freed); diff != "" {
		m.t.Fatalf("released (-want +got):\n%s", diff)
	}
}

func (m *partitionModel) check() {
	regions := m.g.Regions()
	missing, consumers := make([]map[int]bool, regions), make([]map[int]bool, regions)
	for r := range regions {
		missing[r], consumers[r] = make(map[int]bool), make(map[int]bool)
	}
	m.channels(func(producer, consumer *Execution, edge jobgraph.Edge) {
		p := partitionOf(producer, edge)
		if m.g.Available(p) != (m.state[p] == available) {
			m.t.Fatalf("%s is available: %t, want state %d", p, m.g.Available(p), m.state[p])
		}
		if producer.Region == consumer.Region {
			return
		}
		consumers[producer.Region][consumer.Region] = true
		if m.state[p] != available {
			missing[consumer.Region][producer.Region] = true
		}
	})
	m.checkUnwritten()
	m.checkServed()
	done := make(map[int]bool) // what remains when all components are taken out that may run again
	for r := range regions {
		done[r] = true
	}
	for range regions {
		for r := range regions {
			again := !m.consumed[r]
			for consumer := range consumers[r] {
				again = again || !done[consumer]
			}
			for other := range regions {
				if again && m.g.Component(other) == m.g.Component(r) {
					done[other] = false
				}
			}
		}
	}
	for r := range regions {
		only := func(other int) bool { return other == r }
		if got := maps.Collect(setOf(slices.Collect(m.g.Needed(only)))); !maps.Equal(got, missing[r]) || m.g.Readable(r) != (len(missing[r]) == 0) {
			m.t.Fatalf("region %d misses what %v make, want %v", r, got, missing[r])
		}
		if got := maps.Collect(setOf(slices.Collect(m.g.Consumers(r)))); !maps.Equal(got, consumers[r]) {
			m.t.Fatalf("%v read from region %d, want %v", got, r, consumers[r])
		}
		if m.g.Done(r) != done[r] {
			m.t.Fatalf("region %d is done: %t, want %t", r, m.g.Done(r), done[r])
		}
	}
	m.checkReadAnew(consumers)
}

// checkReadAnew checks which regions read records anew if some regions run.
func (m *partitionModel) checkReadAnew(consumers []map[int]bool) {
	runs := make(map[int]bool)
	for r := range consumers {
		runs[r] = rapid.Bool().Draw(m.t, "runs")
	}
	want := make(map[int]bool)
	for r := range consumers {
		for consumer := range consumers[r] {
			if !runs[r] || !runs[consumer] {
				continue
			}
			for other := range consumers {
				if m.g.Component(other) == m.g.Component(r) {
					maps.Copy(want, consumers[other])
				}
			}
		}
	}
	if got := maps.Collect(setOf(slices.Collect(m.g.ReadAnew(func(r int) bool { return runs[r] })))); !maps.Equal(got, want) {
		m.t.Fatalf("if %v run, %v read anew, want %v", runs, got, want)
	}
}

func (m *partitionModel) checkServed() {
	var want msg.ServedPartitions
	servers := make(map[ids.ResourceID]bool)
	var onDisk [2]map[ids.ExecutionAttemptID]bool
	for disk := range onDisk {
		onDisk[disk] = make(map[ids.ExecutionAttemptID]bool)
	}
	for p, state := range m.state {
		if state == available {
			want.Add(msg.ServedPartitions{Number: 1, Bytes: config.Bytes(sizeOf(p))})
			e, err := m.g.Current(p.Execution)
			if err != nil {
				m.t.Fatal(err)
			}
			servers[e.Resource] = true
			onDisk[m.g.DiskOf(p)][p.Execution] = true
			if m.g.DiskOf(p) != diskOf(p) {
				m.t.Fatalf("%s is on disk %d, want %d", p, m.g.DiskOf(p), diskOf(p))
			}
		}
	}
	for disk, want := range onDisk {
		got := make(map[ids.ExecutionAttemptID]bool)
		for e := range m.g.OnDisk("", disk) { // no execution is deployed
			got[e.ID] = true
		}
		if !maps.Equal(got, want) {
			m.t.Fatalf("disk %d has partitions of %v, want %v", disk, got, want)
		}
	}
	if got := m.g.Served(); got != want || !maps.Equal(m.g.Servers(), servers) {
		m.t.Fatalf("workers %v serve %+v, want %+v on %v", m.g.Servers(), got, want, servers)
	}
}

// checkUnwritten counts for whom the consumers wait that have not read their inputs.
func (m *partitionModel) checkUnwritten() {
	waits := func(e *Execution) bool { return !m.consumed[e.Region] }
	want := make(map[int]map[*Execution]bool) // by edge
	for i := range m.g.job.Edges {
		want[i] = make(map[*Execution]bool)
	}
	m.channels(func(producer, consumer *Execution, edge jobgraph.Edge) {
		if waits(consumer) && producer.Region != consumer.Region && m.state[partitionOf(producer, edge)] != available {
			want[slices.Index(m.g.job.Edges, edge)][producer] = true
		}
	})
	for i, edge := range m.g.job.Edges {
		if got := m.g.Unwritten(edge, waits); got != len(want[i]) {
			m.t.Fatalf("%d producers of edge %d have still to write, want %d", got, i, len(want[i]))
		}
	}
}

func setOf(all []int) func(func(int, bool) bool) {
	return func(yield func(int, bool) bool) {
		for _, r := range all {
			if !yield(r, true) {
				return
			}
		}
	}
}

// TestCommitsOfOneWriterAreOneRegion would catch two records of what one region has written, of which the first forbids the writers to
// run again for the second, and commits of different writers that wait for each other.
func TestCommitsOfOneWriterAreOneRegion(t *testing.T) {
	t.Parallel()
	blocking := func(from, to jobgraph.VertexID) jobgraph.Edge {
		e := allToAll(from, to)
		e.Kind = jobgraph.Blocking
		return e
	}
	g := job([]int{2, 1, 1, 2, 1}, blocking(0, 1), blocking(0, 2), blocking(3, 4))
	for _, v := range []int{1, 2, 4} {
		g.Vertices[v].Commit = true
	}
	want := [][]string{{"0/0"}, {"0/1"}, {"1/0", "2/0"}, {"3/0"}, {"3/1"}, {"4/0"}}
	if diff := cmp.Diff(want, members(New(g, 1, 0))); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
}

// BenchmarkBlocking10000x10000 runs a blocking exchange of 100 million channels from the first producer to the last consumer. With a
// state for each channel, it would take minutes.
func BenchmarkBlocking10000x10000(b *testing.B) {
	edge := allToAll(0, 1)
	edge.Kind = jobgraph.Blocking
	g := job([]int{10_000, 10_000}, edge)
	b.ReportAllocs()
	for b.Loop() {
		graph, free := New(g, 1, 0), 0
		for e := range graph.All() {
			if e.ID.Vertex == 0 {
				graph.Write(e, []msg.WrittenPartition{{}})
				graph.Consume(e.Region)
				continue
			}
			if !graph.Readable(e.Region) {
				b.Fatal("a consumer cannot read")
			}
			free += len(graph.Consume(e.Region))
			graph.Settle(e.Region)
		}
		if free != 10_000 || !graph.Done(0) {
			b.Fatalf("%d partitions are released", free)
		}
	}
}
