package taskhost

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
)

// FuzzTold sends messages of a TaskExecutor to a host. It would catch a deployment that crashes the
// host with all tasks of the job, that connects a task with inputs or outputs that the graph does
// not have, or that starts a task without a report.
func FuzzTold(f *testing.F) {
	count := ids.ExecutionAttemptID{Vertex: 1, Subtask: 1}
	var producers placement.Table
	producers.Add(subtaskOf(0, 0), placement.Host{ID: "h1", Address: "n1:1"})
	lost := msg.DeployTasks{
		Host: "h1", Tasks: []msg.TaskDeployment{{Execution: count}, {Execution: ids.ExecutionAttemptID{Vertex: 0}}},
		Producers: producers.Encode(),
	}
	producers.Add(subtaskOf(0, 1), placement.Host{ID: "h1", Address: "n1:1"})
	deploy := lost
	deploy.Producers = producers.Encode()
	for _, messages := range [][2]msg.Message{
		{deploy, msg.CancelTasks{Executions: []ids.ExecutionAttemptID{count, count}}},
		{lost, msg.StopHost{}},
		{deploy, msg.CollectAcknowledged{Execution: count, Sequence: -1}},
		{msg.SplitAssigned{Execution: count}, msg.SetMemory{Memory: memory.Slot{Heap: -1}}},
		{msg.UpdateTokens{Tokens: msg.Secret("new")}, deploy},
	} {
		first, err := codec.Encode(messages[0])
		if err != nil {
			f.Fatal(err)
		}
		second, err := codec.Encode(messages[1])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(first, second)
	}
	graph := testGraph()
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c := newCore("h1", graph, Cancellation{30 * time.Second, 30 * time.Second})
		started := make(map[ids.ExecutionAttemptID]bool)
		for _, data := range [][]byte{first, second, first} {
			m, err := codec.Decode(data, msg.TaskExecutorToHost)
			if err != nil {
				continue
			}
			for _, ef := range c.Step(testEpoch, read(m, graph)) {
				start, is := ef.(startTasks)
				if !is {
					continue
				}
				for _, d := range start.Tasks {
					if v := d.Execution.Vertex; v < 0 || v >= len(graph.Vertices) || d.Execution.Subtask < 0 || d.Execution.Subtask >= graph.Vertices[v].Parallelism {
						t.Fatalf("task %s is started, which the graph does not have", d.Execution)
					}
					if started[d.Execution] {
						t.Errorf("task %s is started twice", d.Execution)
					}
					started[d.Execution] = true
				}
			}
		}
		for execution := range started {
			reported := false
			for _, ef := range c.Step(testEpoch, taskEnded{Execution: execution}) {
				if said, is := ef.(send); is {
					changed, _ := said.Message.(msg.TaskStatesChanged)
					for _, state := range changed.Changes {
						reported = reported || state.Execution == execution && state.State.Final()
					}
				}
			}
			if !reported {
				t.Errorf("task %s has ended, and nobody is told", execution)
			}
		}
	})
}
