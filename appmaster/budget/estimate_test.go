package budget_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
)

// TestJobsTakeNoMoreThanIsReserved would catch an estimate that no longer covers what a job takes: an
// ApplicationMaster then accepts more jobs than its memory holds. The test measures from the job's graph to
// the moment before its deployment. What tasks add later is not part of it.
func TestJobsTakeNoMoreThanIsReserved(t *testing.T) {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	for name, graph := range map[string]jobgraph.JobGraph{
		"many splits": reading(10_000, 16),
		"many files": func() jobgraph.JobGraph {
			g := reading(40, 16)
			for i := range g.Vertices[0].Splits {
				s := &g.Vertices[0].Splits[i]
				for range 255 {
					s.Parts = append(s.Parts, s.Parts[0])
				}
			}
			return g
		}(),
		"many tasks": reading(0, 10_000),
		"many vertices": func() jobgraph.JobGraph {
			g := reading(0, 1)
			for i := range 1000 {
				g.Vertices = append(g.Vertices, jobgraph.Vertex{Name: "map -> filter", Operators: []string{"map", "filter"}, Parallelism: 1})
				g.Edges = append(g.Edges, jobgraph.Edge{From: jobgraph.VertexID(i), To: jobgraph.VertexID(i + 1), Pattern: jobgraph.AllToAll, Type: "string"})
			}
			return g
		}(),
		"many partitions": func() jobgraph.JobGraph {
			g := reading(0, 10_000)
			for v := 1; v <= 4; v++ {
				g.Vertices = append(g.Vertices, jobgraph.Vertex{Name: "map", Operators: []string{"map"}, Parallelism: 10_000})
				g.Edges = append(g.Edges, jobgraph.Edge{Output: v - 1, To: jobgraph.VertexID(v), Pattern: jobgraph.AllToAll, Kind: jobgraph.Blocking})
			}
			return g
		}(),
		"a commit of many parts": func() jobgraph.JobGraph {
			g := reading(0, 10_000)
			g.Vertices = append(g.Vertices, jobgraph.Vertex{Name: "commit", Operators: []string{"commit"}, Parallelism: 1, Commit: true})
			g.Edges = append(g.Edges, jobgraph.Edge{To: 1, Pattern: jobgraph.AllToAll})
			return g
		}(),
	} {
		graph.Digest = graph.ComputeDigest()
		text, err := json.Marshal(graph)
		if err != nil {
			t.Fatal(err)
		}
		before := heaptest.InUse()
		var decoded jobgraph.JobGraph
		if err := json.Unmarshal(text, &decoded); err != nil {
			t.Fatal(err)
		}
		settings, err := jobmaster.Configured(config.Config{}, &decoded)
		if err != nil {
			t.Fatal(err)
		}
		settings.Job, settings.JobMaster, settings.ResultBytes = "0123456789abcdef0123456789abcdef", "m", 0
		settings.Recovered = recovered(&decoded)
		master, err := jobmaster.New(settings, deaf{}, deaf{}, logger)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _, _, _ = master.Run(ctx) }) // suspended in the end
		if _, err := master.Overview(ctx); err != nil {  // it has started
			t.Fatal(err)
		}
		after := heaptest.InUse()
		cancel()
		running.Wait()
		took, reserved := after-before, budget.GraphSize(&decoded)
		t.Logf("%s: %d bytes of JSON take %d, and %d are reserved", name, len(text), took, reserved)
		if took > reserved {
			t.Errorf("%s: the job takes %d bytes, more than the %d that are reserved for it", name, took, reserved)
		}
		runtime.KeepAlive(master)
		runtime.KeepAlive(text)
	}
}

// deaf is a ResourceManager that never answers.
type deaf struct{}

func (deaf) Tell(context.Context, msg.Message) error { return nil }

func (deaf) AddCommit(context.Context, int, []byte) error { return nil }
func (deaf) FinishCommit(context.Context, int) error      { return nil }

// recovered is what an earlier master has stored of a job that commits the output of its first vertex.
func recovered(g *jobgraph.JobGraph) map[int]commitrecord.Record {
	last := len(g.Vertices) - 1
	if !g.Vertices[last].Commit {
		return nil
	}
	winners := make([]string, g.Vertices[0].Parallelism)
	for i := range winners {
		winners[i] = fmt.Sprintf("e10-v1000-s%d-a1000", i)
	}
	finished := make([]msg.Subtask, g.Vertices[0].Parallelism)
	for i := range finished {
		finished[i].TaskAttempt = msg.TaskAttempt{State: msg.ExecutionFinished, Resource: ids.ResourceID(fmt.Sprintf("container_e10_1795356515783_0001_01_%06d", i)), Node: fmt.Sprintf("node-%05d.example.com", i)}
	}
	return map[int]commitrecord.Record{0: {Winners: map[int][]string{last: winners}, Finished: []commitrecord.Finished{{Tasks: subtasks.Encode(finished)}}}}
}

// reading is a job of one vertex.
func reading(splits, parallelism int) jobgraph.JobGraph {
	v := jobgraph.Vertex{Name: "read", Operators: []string{"read"}, Parallelism: parallelism, Source: true}
	for i := range splits {
		host := fmt.Sprintf("node-%03d.example.com", i%100)
		v.Splits = append(v.Splits, jobgraph.Split{
			Base: "hdfs://cluster/data/events/2026/",
			Parts: []jobgraph.Part{{
				Name: fmt.Sprintf("part-%05d", i), Length: 128 << 20, FileLength: 1 << 30, FileModTime: 1_700_000_000_000,
			}},
			Hosts: []string{host, "b" + host, "c" + host},
		})
	}
	return jobgraph.JobGraph{ProtocolVersion: jobgraph.ProtocolVersion, Job: "reading", Name: "reading", Vertices: []jobgraph.Vertex{v}}
}
