package fleet

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// readEach is the time between two reads of a reading task, so that each measurement of its progress finds
// something new.
const readEach = time.Second

const input = "/input"

// Reading is a process for jobs of Graph.
func Reading() minicluster.Process {
	return minicluster.Process{Program: reading{}, FileSystem: dataflowtest.NewFiles(map[string]string{input: "a byte a second"})}
}

// Graph is a job of independent tasks, which read a byte each second until they are cancelled.
func Graph(tasks int) *jobgraph.JobGraph {
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "reading", Name: "reading",
		Vertices: []jobgraph.Vertex{{Name: "read", Operators: []string{"read"}, Parallelism: tasks, Source: true}},
		Config:   map[string]string{"parallelism.default": fmt.Sprint(tasks)},
	}
	g.Digest = g.ComputeDigest()
	return g
}

type reading struct{}

// Compile implements taskhost.Program.
func (reading) Compile(_ string, _ []byte, parallelism int, _ map[string]string) (taskhost.Compiled, error) {
	return taskhost.Compiled{Graph: *Graph(parallelism), Tasks: []operator.Task{reader{}}}, nil
}

type reader struct{}

// Run implements operator.Task.
func (reader) Run(ctx context.Context, s operator.Subtask) error {
	file, err := s.FileSystem().Open(ctx, input)
	if err != nil {
		return err
	}
	defer file.Close()
	next := time.NewTicker(readEach)
	defer next.Stop()
	for {
		if err := readByte(file); err != nil {
			return err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func readByte(file filesystem.File) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := file.Read(make([]byte, 1))
	return err
}

// Waiting is a process whose hosts do not become ready until ctx ends.
func Waiting(ctx context.Context) minicluster.Process {
	return minicluster.Process{Program: waiting{ctx}, FileSystem: dataflowtest.NewFiles(nil)}
}

type waiting struct {
	ctx context.Context //nolint:containedctx // Compile has none
}

// Compile implements taskhost.Program.
func (w waiting) Compile(string, []byte, int, map[string]string) (taskhost.Compiled, error) {
	<-w.ctx.Done()
	return taskhost.Compiled{}, context.Cause(w.ctx)
}
