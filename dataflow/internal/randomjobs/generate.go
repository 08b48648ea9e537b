package randomjobs

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// maxParallelism bounds the parallelism of operators.
const maxParallelism = 5

// The operators that the generator chooses from, by the number of their inputs and what they need.
//
//nolint:gochecknoglobals // constants
var (
	oneInput = []Op{
		OpConvert, OpMap, OpFilter, OpFlatMap, OpProcess, OpTry, OpSplit, OpRebalance, OpPartition, OpBroadcast, OpLimit, OpSort,
		OpSortPartition, OpDistinct, OpTopNOfAll, OpCount, OpSum, OpMin, OpMax, OpAvg, OpReduce, OpAggregate, OpTopN, OpGroup,
	}
	twoInputs = []Op{OpUnion, OpBroadcastList, OpCoGroup, OpJoin, OpLeftJoin, OpRightJoin, OpFullJoin}
	// spilling write to files if their input is large.
	spilling = []Op{
		OpSort, OpSortPartition, OpDistinct, OpMin, OpMax, OpReduce, OpAggregate, OpTopN, OpGroup, OpCoGroup,
		OpJoin, OpLeftJoin, OpRightJoin, OpFullJoin,
	}
	numeric        = []Op{OpCount, OpSum, OpAvg}                  // write to files only if their keys are large: they keep nothing else
	spillingShapes = []string{texts.name, blobs.name, flats.name} // the text is nearly all of their memory
)

// Spills tells whether the node's operator writes to files if its input is large.
func (n *Node) Spills() bool {
	return slices.Contains(spilling, n.Op) || slices.Contains(numeric, n.Op) && n.Key == longText
}

// generator makes one job.
type generator struct {
	*rand.Rand

	job    Job
	values []values // of the nodes
	uses   []int    // how often the elements of each node are an input; side outputs are nodes of their own
}

// Generate makes the job of a seed. The same seed gives the same job.
func Generate(seed uint64) Job {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	if g.IntN(5) == 0 {
		g.large()
	} else {
		for range 1 + g.IntN(2) {
			g.add(g.source())
		}
	}
	for range 1 + g.IntN(10) {
		switch {
		case g.IntN(12) == 0:
			g.add(g.source())
		case g.IntN(3) == 0:
			g.two()
		default:
			g.one()
		}
	}
	g.sinks()
	return g.job
}

// add adds a node, if it does not emit too much, and returns its number.
func (g *generator) add(n Node) (at int, added bool) {
	if n.Salt == 0 {
		n.Salt = g.Uint64() >> 1 // so that JSON in any language has it
	}
	v, err := n.evaluate(g.values)
	if err != nil || n.tooLarge(g.values, v) {
		return 0, false
	}
	g.append(n, v)
	return len(g.job.Nodes) - 1, true
}

func (g *generator) append(n Node, v values) {
	for _, in := range n.Inputs {
		if n.Op != OpSide {
			g.uses[in]++
		}
	}
	g.job.Nodes, g.values, g.uses = append(g.job.Nodes, n), append(g.values, v), append(g.uses, 0)
}

// source chooses a source. One in eight is empty, and one in six has about as much as fits into the least memory.
func (g *generator) source() Node {
	in := &Input{Files: 1 + g.IntN(6), Lines: 1 + g.IntN(400), Keys: 1 + g.IntN(maxKey), Skew: g.IntN(3) == 0, Text: g.IntN(40), Gzip: g.IntN(4) == 0}
	switch g.IntN(24) {
	case 0, 1, 2:
		in.Lines = 0
	case 3, 4, 5, 6:
		in.Lines, in.Text = 1000+g.IntN(2000), 1500
	case 7:
		in.Lines, in.Text = 20, 150_000
	}
	return Node{Op: OpSource, Shape: g.shape(), Parallelism: g.parallelism(), Input: in}
}

// large adds a source of more than the least memory of two operators, and one or two subtasks that write it to files.
func (g *generator) large() {
	n := Node{Op: spilling[g.IntN(len(spilling))], Shape: spillingShapes[g.IntN(len(spillingShapes))], Inputs: []int{0}, Parallelism: 1 + g.IntN(2)}
	g.settle(&n)
	n.N = min(n.N, 1) // a large element of each key must fit into memory
	for range 2 {
		in := &Input{Files: 1 + g.IntN(6), Lines: 120 + g.IntN(40), Keys: maxKey, Text: 40_000, Gzip: g.IntN(4) == 0}
		g.add(Node{Op: OpSource, Shape: n.Shape, Parallelism: g.parallelism(), Input: in})
		if !slices.Contains(twoInputs, n.Op) {
			break
		}
		n.Inputs = []int{0, len(g.job.Nodes) - 1}
	}
	g.add(n)
}

func (g *generator) shape() string { return shapeNames[g.IntN(len(shapeNames))] }

// parallelism is 0 in half of the cases: that of the job.
func (g *generator) parallelism() int { return max(0, g.IntN(2*maxParallelism)-maxParallelism+1) }

// input chooses a node. Nodes that no other one reads yet are more likely, and so are the last ones.
func (g *generator) input() int {
	at := g.IntN(len(g.job.Nodes))
	for range 2 {
		if other := g.IntN(len(g.job.Nodes)); g.uses[other] == 0 || other > at {
			at = other
		}
	}
	return at
}

// one adds an operator with one input, and the operator's side output.
func (g *generator) one() {
	in := g.input()
	n := Node{Op: oneInput[g.IntN(len(oneInput))], Shape: g.job.Nodes[in].Shape, Inputs: []int{in}, Parallelism: g.parallelism()}
	g.settle(&n)
	at, added := g.add(n)
	if added && n.hasSide() {
		g.add(Node{Op: OpSide, Shape: n.Shape, Inputs: []int{at}})
	}
}

// settle chooses what an operator needs.
func (g *generator) settle(n *Node) {
	switch n.Op {
	case OpConvert:
		n.Shape = g.shape()
	case OpDistinct:
		if n.Shape == nesteds.name { // a map is no key
			n.Op = OpCount
		}
	case OpBroadcast:
		n.N = 1 + g.IntN(maxParallelism)
	case OpLimit:
		n.N = g.IntN(60)
	case OpTopN, OpTopNOfAll:
		n.N = 1 + g.IntN(9)
	case OpSort, OpSortPartition:
		n.Descending = g.IntN(2) == 0
	case OpJoin, OpLeftJoin, OpRightJoin, OpFullJoin:
		n.Hint = hints[n.Op][g.IntN(len(hints[n.Op]))]
	default:
	}
	n.Key = cmp.Or(n.Key, keyTypes[g.IntN(len(keyTypes))])
	if slices.Index(oneInput, n.Op) < slices.Index(oneInput, OpCount) && !slices.Contains(twoInputs[2:], n.Op) {
		n.Key = ""
	}
}

// ways are the hints of an operation; 0 if it has none.
func ways(op Op) []int {
	if len(hints[op]) == 0 {
		return []int{0}
	}
	return hints[op]
}

// hints are the ways that each join has; 0 leaves the choice to the planner.
//
//nolint:gochecknoglobals // constants
var hints = map[Op][]int{
	OpJoin: {0, 1, 2, 3, 4, 5}, OpLeftJoin: {0, 2, 3, 4, 5}, OpRightJoin: {0, 1, 3, 4, 5}, OpFullJoin: {0, 3, 4, 5},
}

// two adds an operator with two inputs, often of the same stream. If needed, it converts the second one.
func (g *generator) two() {
	left, right := g.input(), g.input()
	n := Node{Op: twoInputs[g.IntN(len(twoInputs))], Shape: g.job.Nodes[left].Shape, Parallelism: g.parallelism()}
	g.settle(&n)
	switch shape := g.job.Nodes[right].Shape; {
	case shape == n.Shape, n.Op != OpUnion && shape == flats.name:
	default:
		converted, added := g.add(Node{Op: OpConvert, Shape: n.Shape, Inputs: []int{right}, Parallelism: g.parallelism()})
		if !added {
			return
		}
		right = converted
	}
	n.Inputs = []int{left, right}
	g.add(n)
}

// sinks writes all streams that nothing reads, and some others.
func (g *generator) sinks() {
	for at := range g.job.Nodes {
		if g.uses[at] == 0 || g.IntN(10) == 0 {
			g.job.Sinks = append(g.job.Sinks, Sink{Node: at, Collect: len(g.job.Sinks) < maxCollects && g.IntN(2) == 0})
		}
	}
}
