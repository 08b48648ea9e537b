package launch

import (
	"errors"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// TestAJobBeyondTheCeilingIsRefused would catch a job that waits for slots that never come, one that is refused
// although its parts can run one after the other, and a refusal that names groups which fit.
func TestAJobBeyondTheCeilingIsRefused(t *testing.T) {
	t.Parallel()
	light, heavy := &jobgraph.Resources{CPU: 1, TaskHeap: 32 << 20}, &jobgraph.Resources{CPU: 3, TaskHeap: 64 << 20}
	grouped := func(reading, training int, patterns ...jobgraph.Pattern) jobgraph.JobGraph {
		g := jobgraph.JobGraph{
			Groups:   []jobgraph.Group{{Name: "read", Resources: light}, {Name: "train", Resources: heavy}},
			Vertices: []jobgraph.Vertex{{Parallelism: reading}, {Parallelism: training, Group: 1}},
		}
		for _, p := range patterns {
			g.Edges = append(g.Edges, jobgraph.Edge{To: 1, Pattern: p})
		}
		return g
	}
	pipelined := func(g jobgraph.JobGraph) jobgraph.JobGraph {
		g.Config = map[string]string{config.BatchShuffleMode.Name(): "ALL_EXCHANGES_PIPELINED"}
		return g
	}
	blocking := func(g jobgraph.JobGraph) jobgraph.JobGraph {
		for i := range g.Edges {
			g.Edges[i].Kind = jobgraph.Blocking
		}
		return pipelined(g)
	}
	plain := func(parallelism int, edges ...jobgraph.Edge) jobgraph.JobGraph {
		return jobgraph.JobGraph{Vertices: []jobgraph.Vertex{{Parallelism: parallelism}, {Parallelism: parallelism}}, Edges: edges}
	}
	const cpu, slots = "slotmanager.max-total-resource.cpu", "slotmanager.number-of-slots.max"
	for name, c := range map[string]struct {
		option, value string
		graph         jobgraph.JobGraph
		says, without string // "": it fits
	}{
		"it fits to the last core": {cpu, "10", pipelined(grouped(4, 2, jobgraph.AllToAll)), "", ""},
		"a core is missing": {
			cpu, "9", pipelined(grouped(4, 2, jobgraph.AllToAll)),
			"option slotmanager.max-total-resource.cpu: 9 is less than the job needs at a time: 4 slots of slot sharing group read, each with 1 cores, 32 MB task heap, " +
				"and 2 slots of slot sharing group train, each with 3 cores, 64 MB task heap, in TaskExecutors that have 6 slots, 10 cores and ", "any group alone",
		},
		"one group alone is too much":                       {cpu, "5", pipelined(grouped(4, 2, jobgraph.AllToAll)), "needs at a time: 2 slots of slot sharing group train", "slot sharing group read"},
		"a worker alone is too much":                        {cpu, "2", grouped(1, 1), "needs at a time: 1 slots of slot sharing group train", "slot sharing group read"},
		"its parts run one by one":                          {cpu, "4", grouped(100, 100, jobgraph.Pointwise), "", ""},
		"its second part fits beside a worker of the first": {cpu, "4", blocking(grouped(100, 100, jobgraph.AllToAll)), "", ""},
		"its second part fits, but not beside a worker of the first": {
			cpu, "3", blocking(grouped(100, 100, jobgraph.AllToAll)),
			"needs at a time: a TaskExecutor of slot sharing group read to serve what the other slots read, and 1 slots of slot sharing group train, " +
				"each with 3 cores, 64 MB task heap, in TaskExecutors that have 2 slots, 4 cores", "100",
		},
		"default slots":            {slots, "7", pipelined(plain(8, jobgraph.Edge{To: 1, Pattern: jobgraph.AllToAll})), "number-of-slots.max: 7 is less than the job needs at a time: 8 slots of slot sharing group default, in TaskExecutors that have 8 slots", "resources of slot sharing groups"},
		"default slots in waves":   {slots, "1", plain(8, jobgraph.Edge{To: 1, Pattern: jobgraph.AllToAll}), "", ""},
		"default slots one by one": {slots, "7", plain(8, jobgraph.Edge{To: 1, Pattern: jobgraph.Pointwise}), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf, err := config.New(config.Layer{Source: "test", Values: map[string]string{c.option: c.value}})
			if err != nil {
				t.Fatal(err)
			}
			worker, err := memory.WorkerOf(conf)
			if err != nil {
				t.Fatal(err)
			}
			err = Limits{Ceiling: config.MaxWorkers(conf)}.Check(WorkersOf(conf, WorkerSize{Memory: worker, VCores: 1}, &c.graph))
			if c.says == "" && err != nil {
				t.Fatal(err)
			}
			if c.says != "" && (!errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), c.without)) {
				t.Fatalf("%v, want %q and not %q", err, c.says, c.without)
			}
		})
	}
}
