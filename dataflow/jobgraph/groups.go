package jobgraph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// Resources are the resources of each slot. nil: a default slot of the cluster. Either all groups
	// of a job have resources, or none.
	Resources *Resources `json:"resources,omitempty"`
}

// Resources are the resources of a slot; Flink's ResourceSpec. CPU and TaskHeap must be above 0.
type Resources struct {
	CPU         float64 `json:"cpu"`                   // cores; a part of a core is allowed
	TaskHeap    int64   `json:"taskHeap"`              // memory for the objects of functions, in bytes
	TaskOffHeap int64   `json:"taskOffHeap,omitempty"` // memory that Go does not manage, in bytes: of C code and of child processes
	Managed     int64   `json:"managed,omitempty"`     // memory for the state of operators, such as the keys of a Count, in bytes
	// External are the amounts of external resources, such as GPUs, by their names in the option
	// external-resources.
	External map[string]int64 `json:"external,omitempty"`
}

// Bounds of a slot's resources. They keep sums far from overflows.
const (
	maxCores      = 1 << 20
	maxMemory     = 1 << 50
	maxExternal   = 16
	maxAmount     = 1 << 32
	maxResource   = 256 // bytes of a resource's name
	noNameSymbols = "=,; \t\r\n"
)

// Validate says what is wrong with the resources of a slot.
func (r *Resources) Validate() error {
	switch {
	case !(r.CPU > 0 && r.CPU <= maxCores): // also for NaN
		return fmt.Errorf("it has %v cores: CPU must be above 0, and at most %d", r.CPU, maxCores)
	case r.TaskHeap <= 0 || r.TaskHeap > maxMemory:
		return fmt.Errorf("it has %d bytes of task heap: TaskHeap must be above 0, and at most %d", r.TaskHeap, int64(maxMemory))
	case r.TaskOffHeap < 0 || r.Managed < 0 || r.TaskOffHeap > maxMemory || r.Managed > maxMemory:
		return fmt.Errorf("it has %d bytes of task off-heap memory and %d of managed memory: both must be 0 to %d",
			r.TaskOffHeap, r.Managed, int64(maxMemory))
	case len(r.External) > maxExternal:
		return fmt.Errorf("it has %d external resources, and may have %d", len(r.External), maxExternal)
	}
	for _, name := range slices.Sorted(maps.Keys(r.External)) {
		if amount := r.External[name]; amount < 1 || amount > maxAmount {
			return fmt.Errorf("it has %d of external resource %q: an amount must be 1 to %d", amount, name, int64(maxAmount))
		}
		if name == "" || len(name) > maxResource || strings.ContainsAny(name, noNameSymbols) {
			return fmt.Errorf("%q is not the name of an external resource", name)
		}
	}
	return nil
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
	if err := g.validateResources(); err != nil {
		return err
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

// validateResources checks the resources of groups. As in Flink, either all groups have some or none:
// the default slot of a cluster is not known when a job is planned, and may be smaller or larger.
func (g *JobGraph) validateResources() error {
	with, without := -1, -1
	for i, group := range g.Groups {
		if group.Resources == nil {
			without = i
			continue
		}
		with = i
		if err := group.Resources.Validate(); err != nil {
			return fmt.Errorf("%w: slot sharing group %q: %w", ErrInvalid, group.Name, err)
		}
	}
	if with >= 0 && without >= 0 {
		return fmt.Errorf("%w: slot sharing group %q has resources, and %q has none: give all groups resources, or none",
			ErrInvalid, g.Groups[with].Name, g.Groups[without].Name)
	}
	return nil
}
