package randomjobs

import (
	"fmt"
	"strings"
)

// Op is a kind of node.
type Op string

// The operators. The parameter of a node that is called N means for them what the comment says.
const (
	OpSource        Op = "source"
	OpConvert       Op = "convert" // to another shape
	OpMap           Op = "map"
	OpFilter        Op = "filter"
	OpFlatMap       Op = "flatmap"
	OpProcess       Op = "process" // holds an element back until the next one, or the end
	OpTry           Op = "try"     // rejects some elements to its side output
	OpSplit         Op = "split"   // has a side output
	OpSide          Op = "side"    // the side output of its input, which is an OpTry or OpSplit
	OpUnion         Op = "union"
	OpRebalance     Op = "rebalance"
	OpPartition     Op = "partition"
	OpBroadcast     Op = "broadcast"      // to a map with N subtasks
	OpBroadcastList Op = "broadcast list" // the second input is the list
	OpLimit         Op = "limit"          // N elements, each replaced by the same one
	OpSort          Op = "sort"
	OpSortPartition Op = "sort partition"
	OpDistinct      Op = "distinct"
	OpTopNOfAll     Op = "top n of all"
	OpCount         Op = "count"
	OpSum           Op = "sum"
	OpMin           Op = "min"
	OpMax           Op = "max"
	OpAvg           Op = "avg"
	OpReduce        Op = "reduce"
	OpAggregate     Op = "aggregate"
	OpTopN          Op = "top n"
	OpGroup         Op = "group"
	OpCoGroup       Op = "cogroup"
	OpJoin          Op = "join"
	OpLeftJoin      Op = "left join"
	OpRightJoin     Op = "right join"
	OpFullJoin      Op = "full join"
)

// Job describes a job.
type Job struct {
	Nodes []Node // in an order in which the inputs of a node come before it
	Sinks []Sink
}

// Node is an operator, or a source.
type Node struct {
	Op          Op
	Shape       string // of the elements that it emits: a name in shapes
	Inputs      []int
	Key         string `json:",omitzero"` // the type of keys, a name in keyTypes; of operators with a key
	Hint        int    `json:",omitzero"` // of joins; a dataflow.JoinHint, or 0
	N           int    `json:",omitzero"`
	Descending  bool   `json:",omitzero"` // of sorts
	Parallelism int    `json:",omitzero"` // 0: that of the job
	Salt        uint64 // tells its function from those of other nodes
	Input       *Input `json:",omitzero"` // of a source
}

// Sink writes the elements of a node.
type Sink struct {
	Node    int
	Collect bool // sends them to the driver; otherwise into files
}

// name is the name of a node's operator.
func name(node int) string { return fmt.Sprintf("n%d", node) }

// output is the directory of a sink.
func output(sink int) string { return fmt.Sprintf("/out/%d", sink) }

// hasSide tells whether a node has a side output.
func (n *Node) hasSide() bool { return n.Op == OpTry || n.Op == OpSplit }

// String has a line for each node and sink.
func (j Job) String() string {
	var b strings.Builder
	for i, n := range j.Nodes {
		fmt.Fprintf(&b, "%s = %s", name(i), n.Op)
		for _, in := range n.Inputs {
			fmt.Fprintf(&b, " %s", name(in))
		}
		if n.Input != nil {
			fmt.Fprintf(&b, " %+v", *n.Input)
		}
		fmt.Fprintf(&b, " → %s", n.Shape)
		if n.Key != "" {
			fmt.Fprintf(&b, ", key %s", n.Key)
		}
		if n.Hint != 0 {
			fmt.Fprintf(&b, ", hint %d", n.Hint)
		}
		if n.N != 0 {
			fmt.Fprintf(&b, ", n %d", n.N)
		}
		if n.Descending {
			b.WriteString(", descending")
		}
		fmt.Fprintf(&b, ", parallelism %d, salt %d\n", n.Parallelism, n.Salt)
	}
	for i, s := range j.Sinks {
		kind := "write " + output(i)
		if s.Collect {
			kind = "collect"
		}
		fmt.Fprintf(&b, "%s %s\n", kind, name(s.Node))
	}
	return b.String()
}
