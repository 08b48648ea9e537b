package jobgraph_test

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

func wordCount() jobgraph.JobGraph {
	g := jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "wordcount", Name: "my words",
		Vertices: []jobgraph.Vertex{
			{Name: "read -> split", Operators: []string{"read", "split"}, Parallelism: 4, Source: true},
			{Name: "count -> write", Operators: []string{"count", "write"}, Parallelism: 2},
			{Name: "commit", Operators: []string{"commit"}, Parallelism: 1, Commit: true},
		},
		Edges: []jobgraph.Edge{
			{From: 0, To: 1, Pattern: jobgraph.AllToAll, Type: "kv[bytes,int64]"},
			{From: 1, To: 2, Pattern: jobgraph.AllToAll, Type: "string"},
		},
	}
	g.Digest = g.ComputeDigest()
	return g
}

// inGroups puts the second vertex into the second group.
func inGroups(g *jobgraph.JobGraph, names ...string) {
	for _, name := range names {
		g.Groups = append(g.Groups, jobgraph.Group{Name: name})
	}
	g.Vertices[1].Group = 1
}

// withResources is the default group with resources.
func withResources(r jobgraph.Resources) []jobgraph.Group {
	return []jobgraph.Group{{Name: jobgraph.DefaultGroup, Resources: &r}}
}

// TestSlotsAreCountedByGroup would catch a job that waits for too few slots: groups share none.
func TestSlotsAreCountedByGroup(t *testing.T) {
	g := wordCount()
	if n := g.Slots(); n != 4 {
		t.Errorf("%d slots in one group, want 4", n)
	}
	inGroups(&g, "default", "heavy")
	if diff := cmp.Diff([]int{4, 2}, g.GroupSlots()); diff != "" {
		t.Errorf("slots of the groups (-want +got):\n%s", diff)
	}
	if n := g.Slots(); n != 6 {
		t.Errorf("%d slots in two groups, want 6", n)
	}
	if diff := cmp.Diff([][]int{{4, 2}}, g.Regions()); diff != "" {
		t.Errorf("slots of its region (-want +got):\n%s", diff)
	}
	g.Edges[0].Pattern, g.Vertices[1].Parallelism = jobgraph.Pointwise, 4
	g.Edges, g.Vertices = g.Edges[:1], append(g.Vertices[:2], jobgraph.Vertex{Parallelism: 3}, jobgraph.Vertex{Parallelism: 3})
	g.CoLocations = []jobgraph.CoLocation{{A: 2, B: 3}}
	if diff := cmp.Diff([][]int{{1, 1}, {1, 0}}, g.Regions()); diff != "" {
		t.Errorf("slots of regions of a pointwise edge and of a co-location (-want +got):\n%s", diff)
	}
}

// TestDigestIsOfTheShape would catch a host that refuses its own job, or accepts
// another job.
func TestDigestIsOfTheShape(t *testing.T) {
	original := wordCount()
	for _, c := range []struct {
		name   string
		change func(*jobgraph.JobGraph)
		same   bool
	}{
		{"splits do not count", func(g *jobgraph.JobGraph) { g.Vertices[0].Splits = []jobgraph.Split{{Base: "x/"}} }, true},
		{"config does not count", func(g *jobgraph.JobGraph) { g.Config = map[string]string{"a": "b"} }, true},
		{"arguments do not count", func(g *jobgraph.JobGraph) { g.Args = []byte("{}") }, true},
		{"parallelism counts", func(g *jobgraph.JobGraph) { g.Vertices[1].Parallelism = 3 }, false},
		{"operators count", func(g *jobgraph.JobGraph) { g.Vertices[1].Operators[0] = "sum" }, false},
		{"types count", func(g *jobgraph.JobGraph) { g.Edges[0].Type = "kv[bytes,int32]" }, false},
		{"routes count", func(g *jobgraph.JobGraph) { g.Edges[0].Route = "BROADCAST" }, false},
		{"the group counts", func(g *jobgraph.JobGraph) { inGroups(g, "default", "heavy") }, false},
		{"resources do not count", func(g *jobgraph.JobGraph) { g.Groups = withResources(jobgraph.Resources{CPU: 1, TaskHeap: 1}) }, true},
		{"the name of the default group is implied", func(g *jobgraph.JobGraph) { g.Groups = []jobgraph.Group{{Name: jobgraph.DefaultGroup}} }, true},
		{"co-location counts", func(g *jobgraph.JobGraph) { g.CoLocations = []jobgraph.CoLocation{{A: 1, B: 2}} }, false},
		{"the commit counts", func(g *jobgraph.JobGraph) { g.Vertices[2].Commit = false }, false},
		{"the kind of an edge does not count", func(g *jobgraph.JobGraph) { g.Edges[0].Kind = jobgraph.Blocking }, true},
		{"what is told to people does not count", func(g *jobgraph.JobGraph) {
			g.Edges[0].Ship, g.Edges[0].Why, g.Vertices[1].Notes = jobgraph.ShipHash, "because", []string{"count: in memory"}
		}, true},
		{"the plan function counts", func(g *jobgraph.JobGraph) { g.Job = "other" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := wordCount()
			c.change(&g)
			if same := g.ComputeDigest() == original.Digest; same != c.same {
				t.Errorf("same digest = %v, want %v", same, c.same)
			}
		})
	}
}

// TestValidateRefusesWhatAJobMasterCannotRun would catch a graph from another
// process that panics the AM.
func TestValidateRefusesWhatAJobMasterCannotRun(t *testing.T) {
	good := wordCount()
	if err := good.Validate(); err != nil {
		t.Fatalf("good graph: %v", err)
	}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*jobgraph.JobGraph){
		"no vertices":               func(g *jobgraph.JobGraph) { g.Vertices, g.Edges = nil, nil },
		"another protocol version":  func(g *jobgraph.JobGraph) { g.ProtocolVersion++ },
		"parallelism 0":             func(g *jobgraph.JobGraph) { g.Vertices[1].Parallelism = 0 },
		"parallelism without bound": func(g *jobgraph.JobGraph) { g.Vertices[1].Parallelism = jobgraph.MaxParallelism + 1 },
		"too many subtasks": func(g *jobgraph.JobGraph) {
			for range jobgraph.MaxSubtasks / jobgraph.MaxParallelism {
				g.Vertices = append(g.Vertices, jobgraph.Vertex{Parallelism: jobgraph.MaxParallelism, Source: true})
			}
		},
		"too many vertices": func(g *jobgraph.JobGraph) {
			for range jobgraph.MaxVertices {
				g.Vertices = append(g.Vertices, jobgraph.Vertex{Parallelism: 1, Source: true})
			}
		},
		"too many edges": func(g *jobgraph.JobGraph) {
			last := g.Edges[len(g.Edges)-1]
			for range jobgraph.MaxEdges {
				last.Input, last.Output = last.Input+1, last.Output+1
				g.Edges = append(g.Edges, last)
			}
		},
		"a split before its file": func(g *jobgraph.JobGraph) {
			g.Vertices[0].Splits = []jobgraph.Split{{Base: "/", Parts: []jobgraph.Part{{Offset: -1, Length: 2, FileLength: 2}}}}
		},
		"a split of less than nothing": func(g *jobgraph.JobGraph) {
			g.Vertices[0].Splits = []jobgraph.Split{{Base: "/", Parts: []jobgraph.Part{{}, {Length: -1, FileLength: 2}}}}
		},
		"a split beyond its file": func(g *jobgraph.JobGraph) {
			g.Vertices[0].Splits = []jobgraph.Split{{Base: "/", Parts: []jobgraph.Part{{Offset: 1, Length: math.MaxInt64, FileLength: 2}}}}
		},
		"a split of a file without a base": func(g *jobgraph.JobGraph) {
			g.Vertices[0].Splits = []jobgraph.Split{{Parts: []jobgraph.Part{{Name: "hdfs://n/a"}}}}
		},
		"a split with too much data": func(g *jobgraph.JobGraph) {
			g.Vertices[0].Splits = []jobgraph.Split{{Data: make([]byte, jobgraph.MaxSplitData+1)}}
		},
		"a split of a negative size":   func(g *jobgraph.JobGraph) { g.Vertices[0].Splits = []jobgraph.Split{{Size: -1}} },
		"a vertex with no input":       func(g *jobgraph.JobGraph) { g.Edges = g.Edges[:1] },
		"a source with an input":       func(g *jobgraph.JobGraph) { g.Vertices[1].Source = true },
		"an edge backwards":            func(g *jobgraph.JobGraph) { g.Edges[1].From, g.Edges[1].To = 2, 1 },
		"an edge to nowhere":           func(g *jobgraph.JobGraph) { g.Edges[1].To = 9 },
		"an edge from below nowhere":   func(g *jobgraph.JobGraph) { g.Edges[0].From = -1 },
		"ports with a gap":             func(g *jobgraph.JobGraph) { g.Edges[1].Output = 1 },
		"pointwise of different size":  func(g *jobgraph.JobGraph) { g.Edges[0].Pattern = jobgraph.Pointwise },
		"an unknown pattern":           func(g *jobgraph.JobGraph) { g.Edges[0].Pattern = "star" },
		"an unknown kind":              func(g *jobgraph.JobGraph) { g.Edges[0].Kind = "hybrid" },
		"an endless route":             func(g *jobgraph.JobGraph) { g.Edges[0].Route = strings.Repeat("x", 65) },
		"an endless ship strategy":     func(g *jobgraph.JobGraph) { g.Edges[0].Ship = jobgraph.Ship(strings.Repeat("x", 33)) },
		"an endless reason":            func(g *jobgraph.JobGraph) { g.Edges[0].Why = strings.Repeat("x", jobgraph.MaxWhy+1) },
		"more notes than operators":    func(g *jobgraph.JobGraph) { g.Vertices[1].Notes = make([]string, 3) },
		"an endless note":              func(g *jobgraph.JobGraph) { g.Vertices[1].Notes = []string{strings.Repeat("x", jobgraph.MaxWhy+1)} },
		"a group that does not exist":  func(g *jobgraph.JobGraph) { g.Vertices[1].Group = 1 },
		"a group below none":           func(g *jobgraph.JobGraph) { g.Vertices[1].Group = -1 },
		"a group without a name":       func(g *jobgraph.JobGraph) { inGroups(g, "default", "") },
		"a group with an endless name": func(g *jobgraph.JobGraph) { inGroups(g, "default", strings.Repeat("x", 257)) },
		"two groups of one name":       func(g *jobgraph.JobGraph) { inGroups(g, "a", "a") },
		"a group without a vertex":     func(g *jobgraph.JobGraph) { inGroups(g, "a", "b", "c") },
		"too many groups":              func(g *jobgraph.JobGraph) { inGroups(g, make([]string, jobgraph.MaxGroups+1)...) },
		"resources for some groups": func(g *jobgraph.JobGraph) {
			inGroups(g, "a", "b")
			g.Groups[0].Resources = &jobgraph.Resources{CPU: 1, TaskHeap: 1}
		},
		"resources without CPU":    func(g *jobgraph.JobGraph) { g.Groups = withResources(jobgraph.Resources{TaskHeap: 1}) },
		"resources without a heap": func(g *jobgraph.JobGraph) { g.Groups = withResources(jobgraph.Resources{CPU: 1}) },
		"resources below none": func(g *jobgraph.JobGraph) {
			g.Groups = withResources(jobgraph.Resources{CPU: 1, TaskHeap: 1, Managed: -1})
		},
		"an amount of none": func(g *jobgraph.JobGraph) {
			g.Groups = withResources(jobgraph.Resources{CPU: 1, TaskHeap: 1, External: map[string]int64{"gpu": 0}})
		},
		"a resource without a name": func(g *jobgraph.JobGraph) {
			g.Groups = withResources(jobgraph.Resources{CPU: 1, TaskHeap: 1, External: map[string]int64{"g=1,pu": 1}})
		},
		"co-location of other widths": func(g *jobgraph.JobGraph) { g.CoLocations = []jobgraph.CoLocation{{A: 0, B: 1}} },
		"co-location across groups": func(g *jobgraph.JobGraph) {
			g.Vertices[0].Parallelism = 2
			inGroups(g, "a", "b")
			g.CoLocations = []jobgraph.CoLocation{{A: 0, B: 1}}
		},
		"co-location with itself":  func(g *jobgraph.JobGraph) { g.CoLocations = []jobgraph.CoLocation{{A: 1, B: 1}} },
		"co-location with nothing": func(g *jobgraph.JobGraph) { g.CoLocations = []jobgraph.CoLocation{{A: 1, B: 3}} },
		"collecting in parallel":   func(g *jobgraph.JobGraph) { g.Vertices[1].Collect = "words" },
		"committing in parallel":   func(g *jobgraph.JobGraph) { g.Vertices[2].Parallelism = 2 },
		"committing for others":    func(g *jobgraph.JobGraph) { g.Vertices[1].Commit, g.Vertices[1].Parallelism = true, 1 },
		"committing without a writer": func(g *jobgraph.JobGraph) {
			g.Vertices = append(g.Vertices, jobgraph.Vertex{Parallelism: 1, Source: true, Commit: true})
		},
		"too many files": func(g *jobgraph.JobGraph) {
			for i := range jobgraph.MaxFiles + 1 {
				g.Files = append(g.Files, jobgraph.CachedFile{Name: strconv.Itoa(i), URI: "hdfs://ns/x"})
			}
		},
		"a file without a name":  func(g *jobgraph.JobGraph) { g.Files = []jobgraph.CachedFile{{URI: "hdfs://ns/x"}} },
		"a file without a place": func(g *jobgraph.JobGraph) { g.Files = []jobgraph.CachedFile{{Name: "x"}} },
		"a file with a long place": func(g *jobgraph.JobGraph) {
			g.Files = []jobgraph.CachedFile{{Name: "x", URI: "hdfs://ns/" + strings.Repeat("x", 1<<12)}}
		},
		"a file with another hash": func(g *jobgraph.JobGraph) { g.Files = []jobgraph.CachedFile{{Name: "x", SHA256: "../x"}} },
		"a file that is too short": func(g *jobgraph.JobGraph) {
			g.Files = []jobgraph.CachedFile{{Name: "x", URI: "hdfs://ns/x", Size: -1}}
		},
		"two files of one name": func(g *jobgraph.JobGraph) {
			g.Files = []jobgraph.CachedFile{{Name: "x", URI: "hdfs://ns/x"}, {Name: "x", URI: "hdfs://ns/y"}}
		},
		"collecting two as one": func(g *jobgraph.JobGraph) {
			one := jobgraph.Vertex{Parallelism: 1, Source: true, Collect: "words"}
			g.Vertices = append(g.Vertices, one, one)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var g jobgraph.JobGraph
			if err := json.Unmarshal(text, &g); err != nil {
				t.Fatal(err)
			}
			change(&g)
			g.Digest = g.ComputeDigest()
			if err := g.Validate(); !errors.Is(err, jobgraph.ErrInvalid) {
				t.Errorf("Validate = %v, want ErrInvalid", err)
			}
		})
	}
	good.Digest = "0"
	if err := good.Validate(); !errors.Is(err, jobgraph.ErrInvalid) {
		t.Errorf("another digest: Validate = %v, want ErrInvalid", err)
	}
}
