package rest

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// The counters of a subtask are kept while its job runs, and as sums of all tasks of a vertex afterwards. Earlier attempts have
// none.

// vertexAccumulators answers GET …/vertices/{vertex}/accumulators. It needs no subtasks, which may not be kept.
func (s *Server) vertexAccumulators(r *http.Request) (any, error) {
	vertex, err := vertexID(r)
	if err != nil {
		return nil, err
	}
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(d.Vertices, func(v msg.VertexDetails) bool { return v.ID == vertex })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s in job %s", msg.ErrVertexNotFound, vertex, d.ID)
	}
	return vertexAccumulatorsOf(&d.Vertices[i]), nil
}

func vertexAccumulatorsOf(v *msg.VertexDetails) restapi.VertexAccumulators {
	return restapi.VertexAccumulators{ID: v.ID, User: accumulatorsOf(v.Counters)}
}

// subtasksAccumulators answers GET …/vertices/{vertex}/subtasks/accumulators.
func (s *Server) subtasksAccumulators(r *http.Request) (any, error) {
	v, err := s.vertexSubtasks(r)
	if err != nil {
		return nil, err
	}
	return subtasksAccumulatorsOf(v), nil
}

func subtasksAccumulatorsOf(v msg.VertexSubtasks) restapi.SubtasksAccumulators {
	answer := restapi.SubtasksAccumulators{ID: v.ID, Parallelism: v.Parallelism, Subtasks: make([]restapi.SubtaskAccumulators, len(v.Subtasks))}
	for i := range v.Subtasks {
		a := &v.Subtasks[i].TaskAttempt
		answer.Subtasks[i] = restapi.SubtaskAccumulators{Subtask: i, Attempt: a.Number, Endpoint: hostOf(a), Host: hostOf(a), User: countersOf(v.Subtasks[i].User)}
	}
	return answer
}

// attemptAccumulators answers GET …/subtasks/{subtask}/attempts/{attempt}/accumulators.
func (s *Server) attemptAccumulators(r *http.Request) (any, error) {
	i, a, err := s.attempt(r)
	if err != nil {
		return nil, err
	}
	return attemptAccumulatorsOf(r.PathValue("job"), r.PathValue("vertex"), i, &a), nil
}

func attemptAccumulatorsOf(job, vertex string, subtask int, a *msg.Subtask) restapi.AttemptAccumulators {
	return restapi.AttemptAccumulators{
		Subtask: subtask, Attempt: a.Number, ID: fmt.Sprintf("%s_%s_%d_%d", job, vertex, subtask, a.Number), User: countersOf(a.User),
	}
}

// countersOf returns the counters among the metrics of a task, which may be nil. Those of one name are added up.
func countersOf(user *msg.UserMetrics) []restapi.UserAccumulator {
	sums := make(map[string]int64)
	if user != nil {
		for _, m := range user.Metrics {
			if m.Kind == metrics.KindCounter {
				sums[m.Name] += int64(m.Value)
			}
		}
	}
	return accumulatorsOf(sums)
}
