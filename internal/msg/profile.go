package msg

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// ResourceProfile describes the slots of a slot sharing group that has resources of its own; Flink's
// ResourceProfile. Profiles can be compared. The zero value is the default slot of the cluster.
type ResourceProfile struct {
	CPU         float64 // cores
	TaskHeap    int64   // bytes, as the other two
	TaskOffHeap int64
	Managed     int64
	External    ExternalResources
}

// ProfileOf returns the profile of a slot sharing group; nil resources are those of a default slot.
func ProfileOf(r *jobgraph.Resources) ResourceProfile {
	if r == nil {
		return ResourceProfile{}
	}
	return ResourceProfile{
		CPU: r.CPU, TaskHeap: r.TaskHeap, TaskOffHeap: r.TaskOffHeap, Managed: r.Managed,
		External: ExternalResourcesOf(r.External),
	}
}

// IsDefault tells whether this is the default slot.
func (p ResourceProfile) IsDefault() bool { return p == ResourceProfile{} }

// Check refuses a profile from another process that no slot sharing group can have.
func (p ResourceProfile) Check() error {
	if p.IsDefault() {
		return nil
	}
	r := &jobgraph.Resources{CPU: p.CPU, TaskHeap: p.TaskHeap, TaskOffHeap: p.TaskOffHeap, Managed: p.Managed, External: p.External.Amounts()}
	if err := r.Validate(); err != nil {
		return err
	}
	if ProfileOf(r) != p {
		return fmt.Errorf("external resources are written %q, which is not their form", p.External)
	}
	return nil
}

// String describes a slot in words.
func (p ResourceProfile) String() string {
	if p.IsDefault() {
		return "the default resources"
	}
	parts := []string{fmt.Sprintf("%v cores", p.CPU)}
	for _, part := range []struct {
		bytes int64
		name  string
	}{{p.TaskHeap, "task heap"}, {p.TaskOffHeap, "task off-heap"}, {p.Managed, "managed memory"}} {
		if part.bytes > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", memory.Text(config.Bytes(part.bytes)), part.name))
		}
	}
	if p.External != "" {
		parts = append(parts, string(p.External))
	}
	return strings.Join(parts, ", ")
}

// key is different for different profiles.
func (p ResourceProfile) key() string {
	if p.IsDefault() {
		return ""
	}
	return fmt.Sprintf(" %v %d %d %d %s", p.CPU, p.TaskHeap, p.TaskOffHeap, p.Managed, p.External)
}

// ExternalResources are amounts of external resources (external-resources) by name, such as
// "fpga=1,gpu=2". They can be compared. "" means none.
type ExternalResources string

// ExternalResourcesOf makes ExternalResources from amounts above 0. Names must not contain "=" or
// ",".
func ExternalResourcesOf(amounts map[string]int64) ExternalResources {
	parts := make([]string, 0, len(amounts))
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		parts = append(parts, name+"="+strconv.FormatInt(amounts[name], 10))
	}
	return ExternalResources(strings.Join(parts, ","))
}

// Amounts returns the amounts by name.
func (e ExternalResources) Amounts() map[string]int64 {
	amounts := make(map[string]int64)
	for part := range strings.SplitSeq(string(e), ",") {
		name, amount, found := strings.Cut(part, "=")
		if n, err := strconv.ParseInt(amount, 10, 64); found && err == nil {
			amounts[name] = n
		}
	}
	return amounts
}

// Times returns n times the amounts.
func (e ExternalResources) Times(n int) ExternalResources {
	amounts := e.Amounts()
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		amounts[name] *= int64(n)
	}
	return ExternalResourcesOf(amounts)
}

// Profiles lists the different profiles of a job's slot sharing groups, and says which of them each
// group has.
func Profiles(g *jobgraph.JobGraph) (profiles []ResourceProfile, of []int) {
	for _, group := range g.SlotGroups() {
		profile := ProfileOf(group.Resources)
		at := slices.Index(profiles, profile)
		if at < 0 {
			at = len(profiles)
			profiles = append(profiles, profile)
		}
		of = append(of, at)
	}
	return profiles, of
}
