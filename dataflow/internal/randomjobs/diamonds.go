package randomjobs

import "math/rand/v2"

// Diamonds returns jobs whose branches come from one stream, of more bytes than the buffers of all edges have, and meet again: at
// each operator with two inputs, on either side, and behind that once more. A sort is behind them, so some edge is always blocking.
func Diamonds() []Job { return diamonds(diamond.sorted) }

// PipelinedDiamonds returns such jobs without a sort, in which all edges may be pipelined. An operator that reads one input and
// holds the other one back reads the first one from a source of its own. The input that it holds back also goes around the operator,
// to where both meet.
func PipelinedDiamonds() []Job { return diamonds(diamond.pipelined) }

// StuckDiamonds returns the diamonds of operators that hold an input back, and both inputs come from one source. They would wait for
// themselves if all edges were pipelined.
func StuckDiamonds() []Job { return diamonds(diamond.stuck) }

// diamond is an operator with two inputs: a large one, and one that ends only when all of its source has ended.
type diamond struct {
	*generator

	op   Op
	hint int
	side int // the number of the large input
}

// diamonds returns the jobs that of makes of all operators with two inputs. It may make none.
func diamonds(of func(d diamond) bool) (jobs []Job) {
	g := &generator{Rand: rand.New(rand.NewPCG(2, 0))}
	for _, op := range twoInputs {
		for _, hint := range ways(op) {
			for side := range 2 {
				if op == OpBroadcastList && side == 1 {
					break // a list must fit into memory
				}
				if g.job, g.values, g.uses = (Job{}), nil, nil; of(diamond{g, op, hint, side}) {
					g.sinks()
					jobs = append(jobs, g.job)
				}
			}
		}
	}
	return jobs
}

func (d diamond) sorted() bool {
	all := d.source()
	few, met := d.meet(all, all)
	again := d.must(Node{Op: OpUnion, Inputs: []int{met, all}})
	sorted := d.must(Node{Op: OpSort, Inputs: []int{again}})
	d.end(sorted, few)
	return true
}

func (d diamond) pipelined() bool {
	all := d.source()
	other := all
	if d.holds() {
		other = d.source()
	}
	few, met := d.meet(all, other)
	d.end(d.must(Node{Op: OpUnion, Inputs: []int{met, all}}), few)
	return true
}

func (d diamond) stuck() bool {
	if !d.holds() {
		return false
	}
	all := d.source()
	d.meet(all, all)
	return true
}

// holds tells whether the operator holds an input back, until it has read the other one.
func (d diamond) holds() bool {
	const sortMerge = 5
	switch d.op {
	case OpUnion, OpCoGroup:
		return false
	default:
		return d.hint != sortMerge
	}
}

func (d diamond) source() int {
	return d.must(Node{Op: OpSource, Input: &Input{Files: 4, Lines: 5000, Keys: maxKey, Text: 1000}})
}

// meet adds the operator, with a stream and the count of another one.
func (d diamond) meet(all, other int) (few, met int) {
	few = d.must(Node{Op: OpCount, Inputs: []int{other}, Key: "string", Parallelism: 3}) // ends only when other has ended
	inputs := []int{all, few}
	met = d.must(Node{Op: d.op, Inputs: []int{inputs[d.side], inputs[1-d.side]}, Key: keyOf(d.op), Hint: d.hint})
	return few, met
}

// end adds an operator that reads both streams at the same time.
func (d diamond) end(all, few int) {
	d.must(Node{Op: OpCoGroup, Inputs: []int{all, few}, Key: "int64", Parallelism: 2})
}

// keyOf is a type of keys for the operators that have one.
func keyOf(op Op) string {
	if op == OpUnion || op == OpBroadcastList {
		return ""
	}
	return "struct"
}
