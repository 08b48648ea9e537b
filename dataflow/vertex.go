package dataflow

import (
	"context"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// vertex is a chain of operators that run in one goroutine. Only its first operator
// takes elements from other vertices.
type vertex struct {
	id          jobgraph.VertexID
	nodes       []*node // inputs come first
	inputs      []connection
	outputs     map[*port][]int // the vertex's outputs that each port feeds
	outputCount int
}

// vertices joins an operator with its inputs if these are in one vertex, have the
// same parallelism and slot sharing group, and pass elements on without an exchange, and the operator holds none back. The order is
// topological: every edge ends at a vertex's first operator, which was made after
// its inputs.
func (p *Plan) vertices() (all []*vertex, of map[*node]*vertex) {
	of = map[*node]*vertex{}
	for _, n := range p.nodes {
		v := chainable(n, of)
		if v == nil {
			v = &vertex{id: jobgraph.VertexID(len(all)), inputs: n.inputs, outputs: map[*port][]int{}}
			all = append(all, v)
		}
		v.nodes = append(v.nodes, n)
		of[n] = v
	}
	return all, of
}

// chainable returns the vertex that an operator may join, or nil.
func chainable(n *node, of map[*node]*vertex) *vertex {
	var joined *vertex
	for _, in := range n.inputs {
		v, from := of[in.from.node], in.from.node
		if in.exchange || in.held || from.parallelism != n.parallelism || from.group.name != n.group.name || joined != nil && joined != v {
			return nil
		}
		joined = v
	}
	return joined
}

// describe returns the vertex as plain data.
func (v *vertex) describe() jobgraph.Vertex {
	d := jobgraph.Vertex{Parallelism: v.nodes[0].parallelism, Source: v.nodes[0].source != nil}
	for _, n := range v.nodes {
		d.Operators = append(d.Operators, n.name)
		if n.collect != "" {
			d.Collect = n.collect
		}
		d.Commit = d.Commit || n.commits
		if n.note != "" {
			d.Notes = append(d.Notes, shorter(n.name+": "+n.note, jobgraph.MaxWhy))
		}
	}
	d.Name = strings.Join(d.Operators, " -> ")
	return d
}

// line is the number of operators at the beginning of a source's vertex that form a line: each one gives all its elements to the
// next one, and to no other operator. It is 0 for a vertex with inputs, which are read to their ends in any case.
func (v *vertex) line() int {
	if len(v.inputs) > 0 {
		return 0
	}
	n := 1
	for n < len(v.nodes) && v.nodes[n-1].out.consumers == 1 && len(v.nodes[n-1].sides) == 0 {
		n++
	}
	return n
}

// build attaches the operators for one subtask, the last one first, and puts their stages into the chain. It returns the
// function that takes the first operator's input, or its heads.
func (v *vertex) build(ctx context.Context, c *chain) any {
	takers := map[*port][]any{} // the functions that take a port's elements
	var head any
	for i, n := range slices.Backward(v.nodes) {
		taker := func(p *port) any {
			for _, output := range v.outputs[p] {
				takers[p] = append(takers[p], p.send(caller{ctx, c, n}, c.subtask.Output(output)))
			}
			if len(takers[p]) > 1 {
				return p.tee(takers[p])
			}
			return takers[p][0]
		}
		c.operator, c.sides = i, make(sides, len(n.sides))
		for name, side := range n.sides {
			c.sides[name] = taker(side)
		}
		var down any
		if n.out != nil {
			down = taker(n.out)
		}
		head, c.stages[i] = n.observed(ctx, c, down)
		for input, in := range n.inputs {
			takers[in.from] = append(takers[in.from], headOf(head, input))
		}
	}
	return head
}

// observed attaches an operator, and lets an observer of the subtask watch its elements.
func (n *node) observed(ctx context.Context, c *chain, down any) (take any, s stage) {
	observer, watches := c.subtask.(operator.Observer)
	if !watches {
		return n.attach(ctx, c, down)
	}
	before := observer.Observe(ctx, n.name)
	switch {
	case before == nil:
		return n.attach(ctx, c, down)
	case len(n.inputs) == 0:
		return n.attach(ctx, c, n.out.watch(c, before, down))
	}
	take, s = n.attach(ctx, c, down)
	if all, several := take.(heads); several {
		for input, in := range n.inputs {
			all[input] = in.from.watch(c, before, all[input])
		}
		return all, s
	}
	return n.inputs[0].from.watch(c, before, take), s // all inputs have the same type
}
