package budget

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
	"github.com/bobbin-yarn/bobbin/internal/testing/heldtest"
)

// TestJobsTakeNoMoreThanTheirRoom would catch a planner's job that takes more memory decoded than a room
// sets aside for its text, a job of an application's program that takes more than all jobs may (its text
// had half of their memory), and a job that is too long although a session of the default size must run it.
// It prints the figures of the package's comment.
func TestJobsTakeNoMoreThanTheirRoom(t *testing.T) {
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.JobManagerProcessSize.Name(): "512m"}})
	if err != nil {
		t.Fatal(err)
	}
	application := of(t, launch.Application, options)
	largest := NewRoom(of(t, launch.Session, options).Requests, options).Largest()
	jobs := map[string]jobgraph.JobGraph{
		"10,000 files, one in a split": files(10_000, 1), "10,000 files, 16 in a split": files(10_000, 16), "10,000 files in 40 splits": files(10_000, 250),
		"5,000 slots": files(1, 1), "3,000 vertices, edges and options": wide(3000),
	}
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		graph := jobs[name]
		text, err := json.Marshal(graph)
		if err != nil {
			t.Fatal(err)
		}
		var decoded jobgraph.JobGraph
		if err := json.Unmarshal(text, &decoded); err != nil {
			t.Fatal(err)
		}
		message, err := codec.Encode(msg.ExecuteJob{Graph: graph})
		if err != nil {
			t.Fatal(err)
		}
		received, err := codec.Decode(message, msg.DriverToStarter)
		if err != nil {
			t.Fatal(err)
		}
		for encoding, one := range map[string]struct{ length, held int }{"JSON": {len(text), heldtest.By(decoded)}, "CBOR": {len(message), heldtest.By(received)}} {
			t.Logf("%s: %d bytes of %s hold %.1f times as much", name, one.length, encoding, float64(one.held)/float64(one.length))
			if one.held > growth*max(one.length, smallText) || one.length > largest {
				t.Errorf("%s: %d bytes of %s hold %d, want %d times as much at most, and %d bytes", name, one.length, encoding, one.held, growth, largest)
			}
			if longest := int64(one.held) * application.JobText / int64(max(one.length, smallText)); longest > application.Jobs {
				t.Errorf("%s: %d bytes of %s would hold %d, and an application has %d for its jobs", name, application.JobText, encoding, longest, application.Jobs)
			}
		}
	}
}

// TestWhatForgedJobsTake prints what a forged job takes. No room sets that aside: see the package's
// comment.
func TestWhatForgedJobsTake(t *testing.T) {
	const many = 1 << 17
	text := []byte(`{"vertices":[` + strings.Repeat("0,", many-1) + "0]}")
	var decoded jobgraph.JobGraph
	if json.Unmarshal(text, &decoded) == nil {
		t.Error("a number is a vertex")
	}
	message := binary.BigEndian.AppendUint32([]byte("\x82\x6aExecuteJob\xa1\x65Graph\xa1\x68vertices\x9a"), many)
	received, err := codec.Decode(append(message, strings.Repeat("\xf6", many)...), msg.DriverToStarter)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d vertices hold %.0f times as much as their JSON, and %.0f times as much as their CBOR", many,
		float64(heldtest.By(decoded))/float64(len(text)), float64(heldtest.By(received))/float64(len(message)+many))
	if len(decoded.Vertices) != many || decoded.Validate() == nil {
		t.Errorf("%d vertices are decoded, and are a job", len(decoded.Vertices))
	}
}

// files is a job of 5,000 slots that reads the given number of files, with each of them in one split.
func files(many, inSplit int) jobgraph.JobGraph {
	v := jobgraph.Vertex{Name: "read", Operators: []string{"read"}, Parallelism: 5000, Source: true}
	for i := range many {
		if i%inSplit == 0 {
			host := fmt.Sprintf("node-%03d.example.com", i%100)
			v.Splits = append(v.Splits, jobgraph.Split{Base: "hdfs://cluster/data/events/2026/", Hosts: []string{host, "b" + host, "c" + host}})
		}
		split := &v.Splits[len(v.Splits)-1]
		split.Parts = append(split.Parts, jobgraph.Part{Name: fmt.Sprintf("part-%05d", i), Length: 23, FileLength: 23, FileModTime: 1_700_000_000_000})
	}
	return jobgraph.JobGraph{ProtocolVersion: jobgraph.ProtocolVersion, Job: "count", Name: "count", Args: []byte("{}"), Vertices: []jobgraph.Vertex{v}}
}

// wide is a job of the given number of vertices, edges and options.
func wide(many int) jobgraph.JobGraph {
	g := jobgraph.JobGraph{ProtocolVersion: jobgraph.ProtocolVersion, Job: "wide", Name: "wide", Args: []byte("{}"), Config: make(map[string]string)}
	for i := range many {
		g.Vertices = append(g.Vertices, jobgraph.Vertex{Name: "read -> map", Operators: []string{"read", "map"}, Parallelism: 1})
		g.Edges = append(g.Edges, jobgraph.Edge{From: jobgraph.VertexID(i), To: jobgraph.VertexID(i + 1), Pattern: jobgraph.AllToAll, Type: "string"})
		g.Config[fmt.Sprintf("env.variable-%d", i)] = "1"
	}
	return g
}
