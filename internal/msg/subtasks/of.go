package subtasks

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Of returns a vertex of a job that has ended, with its subtasks. Errors: msg.ErrVertexNotFound, msg.ErrSubtasksGone,
// ErrMalformed.
func Of(job *msg.JobDetails, vertex string) (msg.VertexSubtasks, error) {
	for i := range job.Vertices {
		v := &job.Vertices[i]
		switch {
		case v.ID != vertex:
			continue
		case v.Subtasks == nil:
			return msg.VertexSubtasks{}, fmt.Errorf("%w: vertex %s in job %s", msg.ErrSubtasksGone, vertex, job.ID)
		}
		all, err := Decode(v.Subtasks)
		if err != nil {
			return msg.VertexSubtasks{}, fmt.Errorf("vertex %s in job %s: %w", vertex, job.ID, err)
		}
		return msg.VertexSubtasks{VertexDetails: *v, Subtasks: all}, nil
	}
	return msg.VertexSubtasks{}, fmt.Errorf("%w: %s in job %s", msg.ErrVertexNotFound, vertex, job.ID)
}
