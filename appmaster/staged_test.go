package appmaster

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// FuzzDecodeStaged reads the staged file of the ApplicationMaster. It would catch content that crashes the
// process, a cluster for one job that starts without a job, and a job or a node that differs from the
// staged one.
func FuzzDecodeStaged(f *testing.F) {
	graph, err := json.Marshal(jobgraph.JobGraph{ProtocolVersion: jobgraph.ProtocolVersion, Job: "count", Vertices: []jobgraph.Vertex{{Name: "read", Parallelism: 2}}})
	if err != nil {
		f.Fatal(err)
	}
	node := launch.Node{
		Host: "n1", Port: 8041, Rack: "/r", MemoryMB: 2048, VCores: 4, Labels: []string{"gpu"},
		Others: map[string]records.ResourceAmount{"yarn.io/gpu": {Value: 2}, "": {Value: -1, Units: "Ki"}},
	}
	for _, s := range []launch.Staged{
		{},
		{Nodes: []launch.Node{node, {}}},
		{Job: &launch.Job{ID: testJob, Graph: graph}, Nodes: []launch.Node{node}},
		{Job: &launch.Job{Graph: json.RawMessage("null")}},
		{Shipped: []launch.Shipped{{}}},
	} {
		content, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, true)
	}
	f.Add([]byte(`{"Job":{"ID":"a"}}`), true)
	f.Add([]byte(`{"Job":{"Graph":{"vertices":[null,{"splits":[{}]}],"args":"!"}}}`), true)
	f.Add([]byte(`null`), false)
	f.Fuzz(func(t *testing.T, content []byte, perJob bool) {
		mode := launch.Session
		if perJob {
			mode = launch.PerJob
		}
		s, err := decodeStaged(content, mode)
		if errors.Is(err, errNoJob) && (!perJob || s.Job != nil) {
			t.Errorf("%s is read as %+v, %v", content, s, err)
		}
		if err != nil {
			return
		}
		if perJob && s.Job == nil {
			t.Errorf("%s is read as a cluster's for one job", content)
		}
		reports := s.nodeReports()
		for i, r := range reports {
			if want := s.Nodes[i]; r.ID.Host != want.Host || r.ID.Port != want.Port || r.Capability.MemoryMB != want.MemoryMB || r.State != records.NodeRunning {
				t.Errorf("node %+v is reported as %+v", want, r)
			}
		}
		if s.Job != nil {
			text, err := json.Marshal(s.graph)
			if err != nil {
				t.Fatal(err)
			}
			s.Job.Graph = text
		}
		again, err := json.Marshal(s.Staged)
		if err != nil {
			t.Fatal(err)
		}
		same, err := decodeStaged(again, mode)
		if diff := cmp.Diff([]any{s.Nodes, s.Shipped, s.graph}, []any{same.Nodes, same.Shipped, same.graph}, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s is read again as another (-first +again): %v\n%s", content, err, diff)
		}
	})
}

// TestTheTextOfAStagedJobIsDropped would catch a job that takes memory twice while it runs: decoded, and as its text.
func TestTheTextOfAStagedJobIsDropped(t *testing.T) {
	t.Parallel()
	s, err := decodeStaged([]byte(`{"Job":{"ID":"a","Graph":{"name":"count"}}}`), launch.PerJob)
	if err != nil {
		t.Fatal(err)
	}
	if s.Job.ID != "a" || s.graph.Name != "count" || s.Job.Graph != nil {
		t.Errorf("decoded are job %s named %q, with the text %q", s.Job.ID, s.graph.Name, s.Job.Graph)
	}
}

// TestNodesForTheDriver would catch nodes that requests to YARN cannot name.
func TestNodesForTheDriver(t *testing.T) {
	t.Parallel()
	s := staged{Staged: launch.Staged{Nodes: []launch.Node{{Host: "n1", Port: 8041, Rack: "/r", MemoryMB: 2048, VCores: 4}}}}
	want := []records.NodeReport{{
		ID: records.NodeID{Host: "n1", Port: 8041}, Rack: "/r", State: records.NodeRunning,
		Capability: records.Resource{MemoryMB: 2048, VCores: 4},
	}}
	if diff := cmp.Diff(want, s.nodeReports()); diff != "" {
		t.Errorf("nodes differ (-want +got):\n%s", diff)
	}
}
