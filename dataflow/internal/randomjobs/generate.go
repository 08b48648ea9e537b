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
	// spilling write to files if their input is large. Count, Sum and Avg would need more keys than there are.
	spilling = []Op{
		OpSort, OpSortPartition, OpDistinct, OpMin, OpMax, OpReduce, OpAggregate, OpTopN, OpGroup, OpCoGroup,
		OpJoin, OpLeftJoin, OpRightJoin, OpFullJoin,
	}
	spillingShapes = []string{texts.name, blobs.name, flats.name} // the text is nearly all of their memory
)

// Spills tells whether the node's operator writes to files if its input is large.
func (n *Node) Spills() bool { return slices.Contains(spilling, n.Op) }

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
	for range 1 + g.IntN(2) {
		g.add(g.source())
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

// source chooses a source. One in eight is empty, and one in six has more than fits into the least memory.
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
	n.Key = keyTypes[g.IntN(len(keyTypes))]
	if slices.Index(oneInput, n.Op) < slices.Index(oneInput, OpCount) && !slices.Contains(twoInputs[2:], n.Op) {
		n.Key = ""
	}
}

// Each returns a job for each operator, and for each way in which a join works: two sources, the operator, and its sinks. Each input of
// an operator that spills exceeds the least memory of four subtasks.
func Each() (jobs []Job) {
	g := &generator{Rand: rand.New(rand.NewPCG(1, 0))}
	for _, op := range slices.Concat(oneInput, twoInputs) {
		for _, hint := range append([]int{0}, hints[op]...)[min(1, len(hints[op])):] {
			g.job, g.values, g.uses = Job{}, nil, nil
			n := Node{Op: op, Shape: shapeNames[len(jobs)%len(shapeNames)], Inputs: []int{0, 1}}
			if n.Spills() {
				n.Shape = spillingShapes[len(jobs)%len(spillingShapes)]
			}
			if !slices.Contains(twoInputs, op) {
				n.Inputs = n.Inputs[:1]
			}
			for source := range 2 {
				in := &Input{Files: 8, Lines: 120, Keys: 60, Text: 30}
				if n.Spills() && slices.Contains(n.Inputs, source) {
					in.Keys, in.Text = maxKey, 80_000
				}
				g.must(Node{Op: OpSource, Shape: n.Shape, Input: in})
			}
			g.settle(&n)
			if n.Hint = hint; op == OpTopN {
				n.N = 2 // so many elements of a key are in memory
			}
			if at := g.must(n); n.hasSide() {
				g.must(Node{Op: OpSide, Shape: n.Shape, Inputs: []int{at}})
			}
			g.sinks()
			jobs = append(jobs, g.job)
		}
	}
	return jobs
}

// Diamonds returns jobs whose branches come from one stream, of more bytes than the buffers of all edges have, and meet again: at
// each operator with two inputs, on either side, and behind that once more.
func Diamonds() (jobs []Job) {
	g := &generator{Rand: rand.New(rand.NewPCG(2, 0))}
	for _, op := range twoInputs {
		for _, hint := range append([]int{0}, hints[op]...)[min(1, len(hints[op])):] {
			for side := range 2 {
				if op == OpBroadcastList && side == 1 {
					break // a list must fit into memory
				}
				g.job, g.values, g.uses = Job{}, nil, nil
				all := g.must(Node{Op: OpSource, Input: &Input{Files: 4, Lines: 5000, Keys: maxKey, Text: 1000}})
				few := g.must(Node{Op: OpCount, Inputs: []int{all}, Key: "string", Parallelism: 3}) // ends only when all has ended
				inputs := []int{all, few}
				met := g.must(Node{Op: op, Inputs: []int{inputs[side], inputs[1-side]}, Key: keyOf(op), Hint: hint})
				again := g.must(Node{Op: OpUnion, Inputs: []int{met, all}})
				sorted := g.must(Node{Op: OpSort, Inputs: []int{again}})
				g.must(Node{Op: OpCoGroup, Inputs: []int{sorted, few}, Key: "int64", Parallelism: 2})
				g.sinks()
				jobs = append(jobs, g.job)
			}
		}
	}
	return jobs
}

// keyOf is a type of keys for the operators that have one.
func keyOf(op Op) string {
	if op == OpUnion || op == OpBroadcastList {
		return ""
	}
	return "struct"
}

// must adds a node of any size, of strings if it has no shape.
func (g *generator) must(n Node) int {
	n.Shape, n.Salt = cmp.Or(n.Shape, texts.name), g.Uint64()>>1
	g.append(n, values{})
	return len(g.job.Nodes) - 1
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
