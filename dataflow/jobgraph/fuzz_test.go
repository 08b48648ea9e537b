package jobgraph_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// FuzzValidate reads a JobGraph from another process. It would catch an accepted graph
// whose indices are out of range, or for which a few bytes make the JobMaster allocate
// gigabytes.
func FuzzValidate(f *testing.F) {
	good := wordCount()
	good.Vertices[0].Splits = []jobgraph.Split{{
		Base: "hdfs://n/", Parts: []jobgraph.Part{{Name: "a", Length: 5, FileLength: 5}, {Name: "b", Offset: 1, Length: 1, FileLength: 2}},
		Hosts: []string{"h", "h"},
	}, {Data: []byte("rows 1 to 9"), Size: 9}}
	for _, change := range []func(*jobgraph.JobGraph){
		func(*jobgraph.JobGraph) {},
		func(g *jobgraph.JobGraph) { g.Vertices[1].Parallelism = 1 << 40 },
		func(g *jobgraph.JobGraph) {
			g.Groups, g.Vertices[2].Group = []jobgraph.Group{{Name: "a"}, {Name: "b"}}, 1
		},
		func(g *jobgraph.JobGraph) { g.Edges[1].From = -1 },
		func(g *jobgraph.JobGraph) { g.Edges = append(g.Edges, g.Edges[0]) },
	} {
		g := good
		g.Vertices, g.Edges = append([]jobgraph.Vertex(nil), g.Vertices...), append([]jobgraph.Edge(nil), g.Edges...)
		change(&g)
		text, err := json.Marshal(g)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var g jobgraph.JobGraph
		if json.Unmarshal(text, &g) != nil {
			return
		}
		g.Digest = g.ComputeDigest() // or nothing that is changed would be valid
		if err := g.Validate(); err != nil {
			if !errors.Is(err, jobgraph.ErrInvalid) {
				t.Errorf("error %v is not ErrInvalid", err)
			}
			return
		}
		checkGraph(t, &g)
		again, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		var read jobgraph.JobGraph
		if err := json.Unmarshal(again, &read); err != nil {
			t.Fatal(err)
		}
		if err := read.Validate(); err != nil {
			t.Errorf("passed on it is refused: %v", err)
		}
	})
}

// checkGraph checks the properties on which readers of the graph rely.
func checkGraph(t *testing.T, g *jobgraph.JobGraph) {
	t.Helper()
	subtasks, ends := 0, 0
	for v := range g.Vertices {
		subtasks += g.Vertices[v].Parallelism
		for i, e := range g.Inputs(jobgraph.VertexID(v)) {
			if n := g.Producers(e); e.Input != i || n < 1 || n > jobgraph.MaxParallelism {
				t.Errorf("input %d of vertex %d: %+v from %d", i, v, e, n)
			}
			ends++
		}
		for i, e := range g.Outputs(jobgraph.VertexID(v)) {
			if n := g.Channels(e); e.Output != i || n < 1 || n > jobgraph.MaxParallelism {
				t.Errorf("output %d of vertex %d: %+v to %d", i, v, e, n)
			}
			ends++
		}
		for _, s := range g.Vertices[v].Splits {
			for _, p := range s.Parts {
				if p.Offset < 0 || p.Length < 0 || p.Length > p.FileLength-p.Offset {
					t.Errorf("%+v of vertex %d is outside its file", p, v)
				}
			}
		}
	}
	if ends != 2*len(g.Edges) || g.Slots() < 1 || g.Slots() > jobgraph.MaxSubtasks || subtasks > jobgraph.MaxSubtasks {
		t.Errorf("%d of %d ends of edges, %d slots, %d subtasks", ends, 2*len(g.Edges), g.Slots(), subtasks)
	}
}
