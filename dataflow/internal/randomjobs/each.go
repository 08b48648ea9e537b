package randomjobs

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Each returns a job for each operator, and for each way in which a join works: two sources, the operator, and its sinks. Each input of
// an operator that spills exceeds the least memory of four subtasks.
func Each() (jobs []Job) {
	g := &generator{Rand: rand.New(rand.NewPCG(1, 0))}
	for _, op := range slices.Concat(oneInput, twoInputs) {
		for _, hint := range ways(op) {
			g.job, g.values, g.uses = Job{}, nil, nil
			n := Node{Op: op, Shape: shapeNames[len(jobs)%len(shapeNames)], Inputs: []int{0, 1}}
			if slices.Contains(numeric, op) {
				n.Key = longText
			}
			if n.Spills() {
				n.Shape = spillingShapes[len(jobs)%len(spillingShapes)]
			}
			if !slices.Contains(twoInputs, op) {
				n.Inputs = n.Inputs[:1]
			}
			for source := range 2 {
				in := &Input{Files: 8, Lines: 120, Keys: 60, Text: 30}
				if n.Spills() && slices.Contains(n.Inputs, source) {
					if in.Keys = maxKey; n.Key != longText {
						in.Text = 80_000
					}
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

// must adds a node of any size, of strings if it has no shape.
func (g *generator) must(n Node) int {
	n.Shape, n.Salt = cmp.Or(n.Shape, texts.name), g.Uint64()>>1
	g.append(n, values{})
	return len(g.job.Nodes) - 1
}
