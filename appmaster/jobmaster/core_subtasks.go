package jobmaster

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
)

// vertexSubtasks describes a vertex with its subtasks for users. Users ask for all vertices, one after the other, so the time for
// one does not grow with the job.
func (c *core) vertexSubtasks(id string) subtasksAnswer {
	v, known := c.publicIDs[id]
	if !known {
		return subtasksAnswer{Err: fmt.Errorf("%w: %s in job %s", msg.ErrVertexNotFound, id, c.config.Job)}
	}
	answer := msg.VertexSubtasks{VertexDetails: c.vertexDetails(v), Operators: c.config.Graph.Vertices[v].Operators, Subtasks: c.subtasks(v)}
	answer.Counters = c.countedIn(v)
	for s := range answer.Subtasks {
		answer.Subtasks[s].User = c.userMetrics(&c.graph.Vertex(v)[s])
	}
	return subtasksAnswer{Vertex: answer}
}

// subtasks describes the subtasks of a vertex.
func (c *core) subtasks(v int) []msg.Subtask {
	executions := c.graph.Vertex(v)
	all, interval := make([]msg.Subtask, len(executions)), msg.ProgressInterval(c.graph.Total())
	for s := range executions {
		all[s] = c.graph.Subtask(&executions[s], c.now, interval)
	}
	return all
}

// keepSubtasks adds the subtasks to the vertices of a job that has ended. If they take more than the given number of bytes, it
// leaves out earlier attempts, and then all subtasks.
func (c *core) keepSubtasks(vertices []msg.VertexDetails, most int) {
	for _, earlier := range []bool{true, false} {
		size := 0
		for v := range vertices {
			all := c.subtasks(v)
			if !earlier {
				for s := range all {
					all[s].Earlier = nil
				}
			}
			vertices[v].Subtasks = subtasks.Encode(all)
			if size += len(vertices[v].Subtasks); size > most {
				break
			}
		}
		if size <= most {
			return
		}
	}
	for v := range vertices {
		vertices[v].Subtasks = nil
	}
}
