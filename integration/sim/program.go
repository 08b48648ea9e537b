package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// program is the user's program: sources read splits, which take time, and send a record for each to
// the sinks, which count.
type program struct {
	sources, sinks, splits int
	pace                   *rand.Rand
}

func newProgram(w *World) *program {
	shape := w.stream("program")
	return &program{
		sources: 1 + shape.IntN(4), sinks: 1 + shape.IntN(3), splits: shape.IntN(12), pace: w.stream("pace"),
	}
}

// readCounter counts the splits that sources have read, and seenCounter the records that sinks have got.
const readCounter, seenCounter = "read", "seen"

// graph is the program's job.
func (p *program) graph() *jobgraph.JobGraph {
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "sim", Name: "sim",
		Vertices: []jobgraph.Vertex{
			{Name: "read", Operators: []string{"read"}, Parallelism: p.sources, Source: true},
			{Name: "count", Operators: []string{"count"}, Parallelism: p.sinks},
		},
		Edges: []jobgraph.Edge{{From: 0, To: 1, Pattern: jobgraph.AllToAll, Type: "bytes"}},
	}
	for i := range p.splits {
		g.Vertices[0].Splits = append(g.Vertices[0].Splits, jobgraph.Split{
			Base: "sim://in/", Parts: []jobgraph.Part{{Name: fmt.Sprint(i), Length: 1, FileLength: 1}},
		})
	}
	g.Digest = g.ComputeDigest()
	return g
}

// Compile implements taskhost.Program.
func (p *program) Compile(string, []byte, int, map[string]string) (taskhost.Compiled, error) {
	g := *p.graph()
	return taskhost.Compiled{Graph: g, Tasks: []operator.Task{source{p}, sink{}}}, nil
}

// Write is the stdout of tasks.
func (p *program) Write(b []byte) (int, error) { return len(b), nil }

// source is the task of the vertex that reads.
type source struct{ *program }

func (s source) Run(ctx context.Context, t operator.Subtask) error {
	for {
		split, err := t.NextSplit(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := sched.Sleep(ctx, between(s.pace, time.Millisecond, 3*time.Second)); err != nil {
			return err
		}
		t.Counter(readCounter).Add(1)
		name := split.Parts[0].Name
		if err := t.Output(0).Emit(ctx, len(name)%t.Output(0).Channels(), []byte(name)); err != nil {
			return err
		}
	}
}

// sink is the task of the vertex that counts.
type sink struct{}

func (sink) Run(ctx context.Context, t operator.Subtask) error {
	for {
		switch _, err := t.Input(0).Next(ctx); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		t.Counter(seenCounter).Add(1)
	}
}
