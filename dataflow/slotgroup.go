package dataflow

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Group is a slot sharing group: a set of operators whose subtasks may share slots.
// A slot holds at most one subtask of each chain of operators of one group, and none
// of another group. So operators of different groups run in different slots.
type Group struct {
	name      string
	resources Resources
}

// Resources are the resources of each slot of a slot sharing group.
type Resources = jobgraph.Resources

// SlotSharingGroup makes a group. The operators that are in no other group are in the
// group "default". With resources, the group's slots are in workers whose containers
// have the size for them. The zero Resources mean the default slots of the cluster. Either
// all groups of a job have resources, or none, as in Flink. Two groups of the same name
// are the same group, and must have the same resources.
func SlotSharingGroup(name string, r Resources) Group { return Group{name, r} }

// describe returns the group as plain data.
func (g *Group) describe() jobgraph.Group {
	d := jobgraph.Group{Name: g.name}
	if r := g.resources; r.CPU != 0 || r.TaskHeap != 0 || r.TaskOffHeap != 0 || r.Managed != 0 || len(r.External) > 0 {
		r.External = maps.Clone(r.External)
		d.Resources = &r
	}
	return d
}

// InGroup puts an operator into a slot sharing group. An operator without this option
// is in the group of its inputs if they are all in the same one, and otherwise in the
// group "default", as in Flink. Operators of different groups do not run in one
// goroutine, so elements between them are encoded.
func InGroup(g Group) Option {
	return Option{optionGroup, func(s *settings) { s.group = &g }}
}

// CoLocated makes subtask i of the operator always run in the same slot as subtask i of
// the operator of s. Both operators need the same slot sharing group and the same
// parallelism. They are deployed together, and restart together after a failure.
func CoLocated[T any](s Stream[T]) Option {
	return Option{optionCoLocated, func(set *settings) { set.coLocated = append(set.coLocated, s.out.node) }}
}

// placement says in which slots an operator runs.
type placement struct {
	group     *Group  // nil: that of the inputs; set when the operator is added to the plan
	coLocated []*node // operators whose subtasks run in the same slots
}

// inherit gives an operator without a group the group of its inputs.
func (n *node) inherit() {
	if n.group != nil {
		return
	}
	n.group = &Group{name: jobgraph.DefaultGroup}
	for i, in := range n.inputs {
		switch group := in.from.node.group; {
		case i == 0:
			n.group = group
		case group.name != n.group.name:
			n.group = &Group{name: jobgraph.DefaultGroup}
			return
		}
	}
}

// checkGroups returns the mistakes in slot sharing groups and co-locations.
func (p *Plan) checkGroups() (faults []error) {
	known := make(map[string]jobgraph.Group)
	for _, n := range p.nodes {
		group := n.group.describe()
		if first, is := known[group.Name]; is && !reflect.DeepEqual(first, group) {
			faults = append(faults, fmt.Errorf("%s: slot sharing group %q has other resources than before: give them once", n.name, group.Name))
		}
		known[group.Name] = group
		if n.group.name == "" {
			faults = append(faults, fmt.Errorf("%s: its slot sharing group has no name", n.name))
		}
		for _, other := range n.coLocated {
			var why error
			switch {
			case other.plan != p:
				why = errors.New("that is an operator of another plan")
			case other.group.name != n.group.name:
				why = fmt.Errorf("their slot sharing groups are %q and %q: put both into one group with InGroup", n.group.name, other.group.name)
			case other.parallelism != n.parallelism:
				why = fmt.Errorf("their parallelism is %d and %d: set the same Parallelism for both", n.parallelism, other.parallelism)
			default:
				continue
			}
			faults = append(faults, fmt.Errorf("%s cannot be co-located with %s: %w", n.name, other.name, why))
		}
	}
	return faults
}

// placeVertices sets the groups and co-locations of a graph. Groups are in the order of their
// first vertex.
func placeVertices(g *jobgraph.JobGraph, vertices []*vertex, of map[*node]*vertex) {
	for _, v := range vertices {
		group := v.nodes[0].group.describe()
		at := slices.IndexFunc(g.Groups, func(other jobgraph.Group) bool { return other.Name == group.Name })
		if at < 0 {
			at = len(g.Groups)
			g.Groups = append(g.Groups, group)
		}
		g.Vertices[v.id].Group = at
		for _, n := range v.nodes {
			for _, other := range n.coLocated {
				pair := jobgraph.CoLocation{A: min(v.id, of[other].id), B: max(v.id, of[other].id)}
				if pair.A != pair.B && !slices.Contains(g.CoLocations, pair) {
					g.CoLocations = append(g.CoLocations, pair)
				}
			}
		}
	}
}
