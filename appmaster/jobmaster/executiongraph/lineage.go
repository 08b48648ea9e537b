package executiongraph

import (
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Lineage tells which attempts have written what executions read. It remembers the attempts at the other ends of exchanges, so it
// is of use until an execution gets another attempt.
type Lineage struct {
	g        *Graph
	attempts map[*exchange]uint64         // of all producers
	agreed   map[jobgraph.VertexID]uint64 // see Agrees
	complete map[*exchange]bool           // see written
}

// Lineage gives the lineage of the present attempts.
func (g *Graph) Lineage() *Lineage {
	return &Lineage{g: g, attempts: make(map[*exchange]uint64), agreed: make(map[jobgraph.VertexID]uint64), complete: make(map[*exchange]bool)}
}

// Inputs identifies the attempts whose partitions an execution reads: one number for each blocking edge into its vertex, in the order of
// the job's edges. That of a source says that it has read no split yet.
func (l *Lineage) Inputs(e *Execution) []uint64 {
	if l.g.job.Vertices[e.ID.Vertex].Source {
		return []uint64{0}
	}
	var inputs []uint64
	for _, x := range l.g.inputs[e.ID.Vertex] {
		if x.Pattern == jobgraph.Pointwise {
			inputs = append(inputs, mix(l.g.producer(x, e).ID))
			continue
		}
		sum, known := l.attempts[x]
		if !known {
			for i := range x.partitions {
				sum += mix(l.g.executions[l.g.first[x.From]+i].ID)
			}
			l.attempts[x] = sum
		}
		inputs = append(inputs, sum)
	}
	return inputs
}

// Agrees tells whether an execution of an earlier master has read, as these Inputs say, what the present attempts of its producers
// have written. If those in regions that are not finished have no attempt that counts, then all executions have to agree with the
// first one. Over a pointwise exchange nobody can tell whether they do: each has read another producer, and these may be of different
// runs, which have divided the same records differently.
func (l *Lineage) Agrees(e *Execution, inputs []uint64, finished func(region int) bool) bool {
	now := l.Inputs(e)
	if len(inputs) != len(now) {
		return false
	}
	for i, x := range l.g.inputs[e.ID.Vertex] {
		if l.written(x, e, finished) {
			if inputs[i] != now[i] {
				return false
			}
			continue
		}
		first, known := l.agreed[x.From]
		if known && first != inputs[i] || x.Pattern == jobgraph.Pointwise && len(x.partitions) > 1 {
			return false
		}
		l.agreed[x.From] = inputs[i]
	}
	return true
}

// written tells whether all producers of an execution have finished. It looks once at those of an all-to-all exchange: if some turn out
// not to count afterwards, another lineage decides.
func (l *Lineage) written(x *exchange, e *Execution, finished func(region int) bool) bool {
	if x.Pattern == jobgraph.Pointwise {
		return finished(l.g.producer(x, e).Region)
	}
	complete, known := l.complete[x]
	if !known {
		complete = true
		for i := range x.partitions {
			complete = complete && finished(l.g.executions[l.g.first[x.From]+i].Region)
		}
		l.complete[x] = complete
	}
	return complete
}

// producer is the producer of an execution over a pointwise exchange.
func (g *Graph) producer(x *exchange, e *Execution) *Execution {
	return &g.executions[g.first[x.From]+e.ID.Subtask]
}

// SplitLineage identifies a split of a source vertex, by its index. The sum over splits identifies the splits that a source
// task has read.
func SplitLineage(split int) uint64 { return mix(ids.ExecutionAttemptID{Vertex: -1, Subtask: split}) }

// AllSplits is the sum over all splits of a vertex that has this number of them.
func AllSplits(splits int) (sum uint64) {
	for i := range splits {
		sum += SplitLineage(i)
	}
	return sum
}

// mix gives a number that another attempt rarely has, nor a sum of others. The constants are those of SplitMix64.
func mix(id ids.ExecutionAttemptID) uint64 {
	h := uint64(0)
	for _, n := range [...]int{int(id.Epoch), id.Vertex, id.Subtask, id.Attempt} {
		h += uint64(n) + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}
