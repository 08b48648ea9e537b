package jobgraph

import (
	"fmt"
	"slices"
)

// DefaultGroup is the slot sharing group of operators that name none; Flink's name.
const DefaultGroup = "default"

// Bounds of slot sharing groups.
const (
	// MaxGroups bounds the slot sharing groups of a job.
	MaxGroups = 64
	// maxGroupName bounds the name of a group, in bytes.
	maxGroupName = 256
)

// Group is a slot sharing group. A slot holds at most one subtask of each vertex of one group, and
// no subtask of another group.
type Group struct {
	Name string `json:"name"`
}

// CoLocation says that subtask i of both vertices always runs in the same slot. Both vertices have
// the same group and the same parallelism. A is less than B.
type CoLocation struct {
	A VertexID `json:"a"`
	B VertexID `json:"b"`
}

// SlotGroups lists the slot sharing groups of the job. A graph that names no group has only the
// default group.
func (g *JobGraph) SlotGroups() []Group {
	if len(g.Groups) == 0 {
		return []Group{{Name: DefaultGroup}}
	}
	return g.Groups
}

// GroupSlots returns the number of slots that each group needs to run at once: as many as its widest
// vertex has subtasks.
func (g *JobGraph) GroupSlots() []int {
	slots := make([]int, len(g.SlotGroups()))
	for _, v := range g.Vertices {
		slots[v.Group] = max(slots[v.Group], v.Parallelism)
	}
	return slots
}

// Slots returns the number of slots that the whole job needs to run at once.
func (g *JobGraph) Slots() int {
	total := 0
	for _, slots := range g.GroupSlots() {
		total += slots
	}
	return total
}

// validateGroups checks the groups, the group of each vertex, and the co-locations.
func (g *JobGraph) validateGroups() error {
	groups := g.SlotGroups()
	if len(groups) > MaxGroups {
		return fmt.Errorf("%w: %d slot sharing groups, a job has at most %d", ErrInvalid, len(groups), MaxGroups)
	}
	for i, group := range groups {
		switch {
		case group.Name == "" || len(group.Name) > maxGroupName:
			return fmt.Errorf("%w: slot sharing group %d has a name of %d bytes, want 1 to %d", ErrInvalid, i, len(group.Name), maxGroupName)
		case slices.ContainsFunc(groups[:i], func(other Group) bool { return other.Name == group.Name }):
			return fmt.Errorf("%w: two slot sharing groups are named %q", ErrInvalid, group.Name)
		}
	}
	used := make([]bool, len(groups))
	for i, v := range g.Vertices {
		if v.Group < 0 || v.Group >= len(groups) {
			return fmt.Errorf("%w: vertex %d %q is in slot sharing group %d of %d", ErrInvalid, i, v.Name, v.Group, len(groups))
		}
		used[v.Group] = true
	}
	if i := slices.Index(used, false); i >= 0 {
		return fmt.Errorf("%w: slot sharing group %q has no vertex", ErrInvalid, groups[i].Name)
	}
	if len(g.CoLocations) > MaxEdges {
		return fmt.Errorf("%w: %d co-locations, a job has at most %d", ErrInvalid, len(g.CoLocations), MaxEdges)
	}
	for _, c := range g.CoLocations {
		if c.A < 0 || c.A >= c.B || int(c.B) >= len(g.Vertices) {
			return fmt.Errorf("%w: co-location of vertices %d and %d", ErrInvalid, c.A, c.B)
		}
		if a, b := &g.Vertices[c.A], &g.Vertices[c.B]; a.Group != b.Group || a.Parallelism != b.Parallelism {
			return fmt.Errorf("%w: vertices %q and %q are co-located, and need the same slot sharing group and parallelism", ErrInvalid, a.Name, b.Name)
		}
	}
	return nil
}
