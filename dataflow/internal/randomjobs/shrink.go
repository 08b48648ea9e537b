package randomjobs

import "slices"

// Smaller returns jobs with fewer nodes: one with each sink alone, and one without each of the operators that pass elements of the
// same shape on. No result is larger than the job.
func (j Job) Smaller() (all []Job) {
	if len(j.Sinks) > 1 {
		for _, s := range j.Sinks {
			all = append(all, Job{j.Nodes, []Sink{s}}.needed())
		}
	}
	for at, n := range j.Nodes {
		if len(n.Inputs) > 0 && !n.hasSide() && n.Op != OpSide && j.Nodes[n.Inputs[0]].Shape == n.Shape {
			all = append(all, j.without(at).needed())
		}
	}
	return slices.DeleteFunc(all, func(smaller Job) bool { return len(smaller.Nodes) >= len(j.Nodes) })
}

// without is the job without a node: its first input stands for it. Nodes that the result needs no more stay.
func (j Job) without(at int) Job {
	instead := j.Nodes[at].Inputs[0]
	nodes, sinks := slices.Clone(j.Nodes), slices.Clone(j.Sinks)
	for i := range nodes {
		nodes[i].Inputs = slices.Clone(nodes[i].Inputs)
		for k, in := range nodes[i].Inputs {
			if in == at {
				nodes[i].Inputs[k] = instead
			}
		}
	}
	for i := range sinks {
		if sinks[i].Node == at {
			sinks[i].Node = instead
		}
	}
	return Job{nodes, sinks}
}

// needed is the job without the nodes that no sink needs. An output that is left over gets a sink: a plan must take all of them.
func (j Job) needed() Job {
	needs := make([]bool, len(j.Nodes))
	for _, s := range j.Sinks {
		needs[s.Node] = true
	}
	for at, n := range slices.Backward(j.Nodes) {
		for _, in := range n.Inputs {
			needs[in] = needs[in] || needs[at]
		}
	}
	for at, n := range j.Nodes { // a side output is as long as its node
		if n.Op == OpSide {
			needs[at] = needs[n.Inputs[0]]
		}
	}
	out := Job{Sinks: slices.Clone(j.Sinks)}
	number := make([]int, len(j.Nodes))
	used := make([]bool, len(j.Nodes))
	for at, n := range j.Nodes {
		if !needs[at] {
			continue
		}
		number[at] = len(out.Nodes)
		n.Inputs = slices.Clone(n.Inputs)
		for i, in := range n.Inputs {
			n.Inputs[i] = number[in]
			used[number[in]] = used[number[in]] || n.Op != OpSide
		}
		out.Nodes = append(out.Nodes, n)
	}
	for i := range out.Sinks {
		out.Sinks[i].Node = number[out.Sinks[i].Node]
		used[out.Sinks[i].Node] = true
	}
	for at := range out.Nodes {
		if !used[at] {
			out.Sinks = append(out.Sinks, Sink{Node: at})
		}
	}
	return out
}
