package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// It would catch a picture that leaves out an edge, or draws an edge between neighbors that have none.
func TestAPlanIsDrawnWithAllOfItsEdges(t *testing.T) {
	input := func(id, strategy string) restapi.PlanInput { return restapi.PlanInput{ID: id, ShipStrategy: strategy} }
	node := func(id, name string, parallelism int, inputs ...restapi.PlanInput) restapi.PlanNode {
		return restapi.PlanNode{ID: id, Description: name, Parallelism: parallelism, Inputs: inputs}
	}
	alone := func(n int) (nodes []restapi.PlanNode) {
		for i := range n {
			nodes = append(nodes, node(strings.Repeat("a", i+1), "read", 1))
		}
		return nodes
	}
	for name, c := range map[string]struct {
		nodes []restapi.PlanNode
		want  string
	}{
		"one vertex": {alone(1), `
1 read, parallelism 1
`},
		"a chain": {[]restapi.PlanNode{node("a", "read", 2), node("b", "count", 3, input("a", "HASH")), node("c", "write", 3, input("b", "FORWARD"))}, `
1 read, parallelism 2
  │ hash
  ▼
2 count, parallelism 3
  │ forward
  ▼
3 write, parallelism 3
`},
		"a slot sharing group": {[]restapi.PlanNode{{Description: "train", Parallelism: 2, SlotSharingGroup: "gpu"}}, `
1 train, parallelism 2, slot sharing group gpu
`},
		"two inputs, one of them the neighbour": {[]restapi.PlanNode{
			node("a", "read left", 1), node("b", "read right", 2), node("c", "count", 3, input("a", "HASH"), input("b", "FORWARD")),
		}, `
1 read left, parallelism 1
2 read right, parallelism 2
  │ forward
  ▼
3 count, parallelism 3, reads hash from 1
`},
		"two inputs, neither of them the neighbour": {[]restapi.PlanNode{
			node("a", "read left", 1), node("b", "read right", 2), node("c", "write right", 2, input("b", "FORWARD")),
			node("d", "count", 3, input("b", "HASH"), input("a", "FORWARD")),
		}, `
1 read left, parallelism 1
2 read right, parallelism 2
  │ forward
  ▼
3 write right, parallelism 2
4 count, parallelism 3, reads hash from 2, forward from 1
`},
		"the neighbour twice": {[]restapi.PlanNode{node("a", "read", 1), node("b", "count", 2, input("a", "HASH"), input("a", "FORWARD"))}, `
1 read, parallelism 1
  │ hash
  │ forward
  ▼
2 count, parallelism 2
`},
		"what is blocking, and what was chosen": {[]restapi.PlanNode{
			node("a", "read", 1), node("b", "ranges", 1, input("a", "GATHER")),
			{ID: "c", Description: "partition", Parallelism: 2, Notes: []string{"partition: two ranges"}, Inputs: []restapi.PlanInput{
				{ID: "a", ShipStrategy: "FORWARD", Exchange: restapi.BlockingExchange, Why: "it is read later"},
				{ID: "b", ShipStrategy: "BROADCAST", Exchange: restapi.BlockingExchange, Why: "its consumer runs later"},
			}},
		}, `
1 read, parallelism 1
  │ gather
  ▼
2 ranges, parallelism 1
  │ blocking broadcast
  ▼
3 partition, parallelism 2, reads blocking forward from 1
    blocking forward from 1: it is read later
    blocking broadcast from 2: its consumer runs later
    partition: two ranges
`},
		"numbers of two digits": {append(alone(9), node("z", "write", 1, input("aaaaaaaaa", "HASH"))), "\n" +
			" 1 read, parallelism 1\n 2 read, parallelism 1\n 3 read, parallelism 1\n 4 read, parallelism 1\n 5 read, parallelism 1\n" +
			" 6 read, parallelism 1\n 7 read, parallelism 1\n 8 read, parallelism 1\n 9 read, parallelism 1\n" +
			"   │ hash\n   ▼\n10 write, parallelism 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := picture(restapi.JobPlan{Name: "job", Nodes: c.nodes}, 0)
			if diff := cmp.Diff("job"+c.want, got); diff != "" {
				t.Errorf("picture (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAPlanFitsItsTerminal would catch descriptions that continue below the numbers.
func TestAPlanFitsItsTerminal(t *testing.T) {
	plan := restapi.JobPlan{Name: "words of the night", Nodes: []restapi.PlanNode{
		{ID: "a", Description: "read text -> filter", Parallelism: 2},
		{ID: "b", Description: "count", Parallelism: 3, Inputs: []restapi.PlanInput{{ID: "a", ShipStrategy: "HASH"}}},
	}}
	want := `words of the
night
1 read text
  -> filter,
  parallelism
  2
  │ hash
  ▼
2 count,
  parallelism
  3
`
	if diff := cmp.Diff(want, picture(plan, 13)); diff != "" {
		t.Errorf("picture (-want +got):\n%s", diff)
	}
}

// TestTheResourcesOfGroupsAreShown would catch a group whose amounts are missing, amounts of another group, and a
// table for a job whose groups have no resources.
func TestTheResourcesOfGroupsAreShown(t *testing.T) {
	t.Parallel()
	graph := &jobgraph.JobGraph{
		Name: "job",
		Groups: []jobgraph.Group{
			{Name: "read", Resources: &jobgraph.Resources{CPU: 0.5, TaskHeap: 32 << 20}},
			{Name: "train", Resources: &jobgraph.Resources{CPU: 2, TaskHeap: 1 << 30, TaskOffHeap: 64 << 20, Managed: 8 << 20, External: map[string]int64{"gpu": 2, "fpga": 1}}},
		},
		Vertices: []jobgraph.Vertex{{Name: "read", Parallelism: 3}, {Name: "train", Parallelism: 2, Group: 1}},
	}
	printed := func(graph *jobgraph.JobGraph, inJSON bool) string {
		var out bytes.Buffer
		c := &call{json: inJSON}
		c.Out = &out
		if err := c.printPlan(restapi.PlanOf(graph), amountsOf(graph), nil); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	want := `job
1 read, parallelism 3, slot sharing group read
2 train, parallelism 2, slot sharing group train

Each slot of a slot sharing group has:
GROUP  SLOTS  CORES  TASK HEAP  TASK OFF-HEAP  MANAGED  EXTERNAL
read   3      0.5    32 MB      none           none     none
train  2      2      1024 MB    64 MB          8 MB     fpga=1,gpu=2
`
	if diff := cmp.Diff(want, printed(graph, false)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	const groups = `{"groups":[{"name":"read","slots":3,"resources":{"cpu":0.5,"taskHeap":33554432}},` +
		`{"name":"train","slots":2,"resources":{"cpu":2,"taskHeap":1073741824,"taskOffHeap":67108864,"managed":8388608,"external":{"fpga":1,"gpu":2}}}],"plan":{`
	if got := printed(graph, true); !strings.HasPrefix(got, groups) {
		t.Errorf("JSON is %s, want it to begin with %s", got, groups)
	}
	graph.Groups[0].Resources, graph.Groups[1].Resources = nil, nil
	for _, inJSON := range []bool{false, true} {
		if got := printed(graph, inJSON); strings.Contains(got, "Each slot") || strings.Contains(got, "groups") {
			t.Errorf("the groups have no resources: %s", got)
		}
	}
}
