package launch

import (
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// TestAJobThatCanHardlyFitIsToldSo would catch a job that silently requests 80 GB from a cluster of
// 16 GB, and a warning about a job that fits to the last megabyte.
func TestAJobThatCanHardlyFitIsToldSo(t *testing.T) {
	t.Parallel()
	c, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		config.TaskManagerProcessSize.Name(): "2g", config.TaskSlots.Name(): "2",
	}})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := memory.WorkerOf(c)
	if err != nil {
		t.Fatal(err)
	}
	demand := func(graph jobgraph.JobGraph) Demand {
		workers := WorkersOf(c, WorkerSize{Memory: worker, VCores: 2}, &graph)
		return DemandOf(workers, memory.Master{Process: 512 * config.Mebibyte}, c.Duration(config.SlotRequestTimeout))
	}
	demandOf := func(slots int) Demand {
		return demand(jobgraph.JobGraph{Vertices: []jobgraph.Vertex{{Parallelism: slots}}})
	}
	const says = "the job may not fit: its 80 slots take 40 TaskExecutors of 2048 MB, 82432 MB in all, and the nodes have 16384 MB together. " +
		"Its parts run one after the other if they fit, and the job fails if it gets no slot within 5m0s (slot.request.timeout); lower -p or -tm, or raise -s"
	if got := demandOf(80).TooLarge(16384); got != says {
		t.Errorf("%q, want %q", got, says)
	}
	groups := func(heap int64) Demand {
		small, large := jobgraph.Resources{CPU: 0.5, TaskHeap: 32 << 20}, jobgraph.Resources{CPU: 1, TaskHeap: heap}
		return demand(jobgraph.JobGraph{
			Groups:   []jobgraph.Group{{Name: "read", Resources: &small}, {Name: "train", Resources: &large}, {Name: "write", Resources: &small}},
			Vertices: []jobgraph.Vertex{{Parallelism: 4}, {Parallelism: 3, Group: 1}, {Parallelism: 1, Group: 2}},
		})
	}
	const ofGroups = "the job may not fit: its 8 slots take 2 TaskExecutors of %d MB (slot sharing group read, write) and 3 TaskExecutors of %d MB (slot sharing group train), %d MB in all, " +
		"and the nodes have 16384 MB together. Its parts run one after the other if they fit, and the job fails if it gets no slot within 5m0s (slot.request.timeout); lower -p, or the resources of slot sharing groups"
	large := groups(8 << 30)
	each := [2]int{large.Workers[0].Each.Memory.ContainerMB(), large.Workers[1].Each.Memory.ContainerMB()}
	if got, want := large.TooLarge(16384), fmt.Sprintf(ofGroups, each[0], each[1], 2*each[0]+3*each[1]+512); got != want || each[0] > 2048 || each[1] < 8<<10 {
		t.Errorf("%q, want %q", got, want)
	}
	for name, test := range map[string]struct {
		demand  Demand
		nodesMB int64
		fits    bool
	}{
		"it fits":                     {demandOf(15), 8*2048 + 512, true},
		"a megabyte is missing":       {demandOf(15), 8*2048 + 511, false},
		"a session, without a job":    {demandOf(0), 0, true},
		"a cluster that does not say": {Demand{Workers: []JobWorkers{{Slots: 80}}}, 0, true},
		"groups of small slots":       {groups(64 << 20), 4096, true},
	} {
		if got := test.demand.TooLarge(test.nodesMB); (got == "") != test.fits {
			t.Errorf("%s: %q", name, got)
		}
	}
}
