package launch

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// WorkerSize is what the container of a TaskExecutor has.
type WorkerSize struct {
	Memory   memory.Worker // also the number of slots
	VCores   int
	External msg.ExternalResources // by their names in external-resources
}

// Fit returns the worker for slots of a profile: as many slots as fit into this worker, which is that of
// default slots, by memory, cores and external resources, but at least one.
func (w WorkerSize) Fit(p msg.ResourceProfile, sizes memory.Sizes) WorkerSize {
	if p.IsDefault() {
		return w
	}
	slot := memory.Slot{Heap: config.Bytes(p.TaskHeap), OffHeap: config.Bytes(p.TaskOffHeap), Managed: config.Bytes(p.Managed)}
	most := int(float64(w.VCores) / p.CPU)
	available := w.External.Amounts()
	for name, amount := range p.External.Amounts() {
		most = min(most, int(available[name]/amount))
	}
	fits := sizes.Fit(slot, most)
	return WorkerSize{Memory: fits, VCores: wholeCores(p.CPU * float64(fits.Slots)), External: p.External.Times(fits.Slots)}
}

// wholeCores rounds up. A sum of parts of a core may exceed a whole number by a rounding error.
func wholeCores(cores float64) int {
	whole := int(cores)
	if cores-float64(whole) > 1e-6 {
		whole++
	}
	return max(whole, 1)
}

// JobWorkers are the workers for the slots of one profile of a job.
type JobWorkers struct {
	Groups  []string // the slot sharing groups that have this profile
	Profile msg.ResourceProfile
	Slots   int        // to run all tasks of the groups at once
	Regions []int      // slots that each region of the job needs at a time; see blockingOf
	Reads   []bool     // for each region: it reads blocking partitions, which at least one of these workers serves
	Each    WorkerSize // of the workers
}

// Names lists the groups.
func (w JobWorkers) Names() string { return strings.Join(w.Groups, ", ") }

// count is the number of workers for so many slots; 0 if it is not known how many slots each has.
func (w JobWorkers) count(slots int) int64 {
	if w.Each.Memory.Slots == 0 {
		return 0
	}
	return int64((slots + w.Each.Memory.Slots - 1) / w.Each.Memory.Slots)
}

// WorkersOf lists the workers that a job needs from a cluster with these options, one for each profile. one is
// the worker of default slots.
func WorkersOf(c config.Config, one WorkerSize, graph *jobgraph.JobGraph) []JobWorkers {
	sizes := memory.SizesOf(c, one.Memory)
	profiles, of := msg.Profiles(graph)
	workers := make([]JobWorkers, len(profiles))
	for i, p := range profiles {
		workers[i] = JobWorkers{Profile: p, Each: one.Fit(p, sizes)}
	}
	slots := graph.GroupSlots()
	for i, group := range graph.SlotGroups() {
		w := &workers[of[i]]
		w.Groups = append(w.Groups, group.Name)
		w.Slots += slots[i]
	}
	graph = blockingOf(c, graph)
	regions, inputs := graph.Regions(), graph.RegionInputs()
	for i := range workers {
		workers[i].Regions, workers[i].Reads = make([]int, len(regions)), make([]bool, len(regions))
	}
	for r := range regions {
		for group, n := range regions[r] {
			w := &workers[of[group]]
			w.Regions[r] += n
			w.Reads[r] = w.Reads[r] || inputs[r][group]
		}
	}
	return workers
}

// blockingOf gives the graph of a job with the smallest regions in which it may run. With execution.batch-shuffle-mode AUTOMATIC these
// are the ones in which the JobMaster runs the job if it gets too few slots for pipelined exchanges.
func blockingOf(c config.Config, graph *jobgraph.JobGraph) *jobgraph.JobGraph {
	c, err := c.With(config.Layer{Source: "job " + graph.Name, Values: graph.Config})
	if err == nil && c.String(config.BatchShuffleMode) == config.ShuffleAutomatic {
		if blocking, err := graph.WithBlockingExchanges(); err == nil { // otherwise co-locations do not allow that
			return blocking
		}
	}
	return graph
}
