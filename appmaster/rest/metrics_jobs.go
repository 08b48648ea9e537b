package rest

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// jobsMetrics answers GET /jobs/metrics: the metrics of all jobs that run. The parameter jobs selects some.
func (s *Server) jobsMetrics(r *http.Request) (any, error) {
	modes, err := aggregationsOf(r)
	if err != nil {
		return nil, err
	}
	some := listed(r, "jobs")
	for _, job := range some {
		if _, err := parseJobID(job); err != nil {
			return nil, err
		}
	}
	samples, err := s.samplesOfJobs(r, some)
	if err != nil {
		return nil, err
	}
	return aggregated(r, samples, modes), nil
}

// jobMetrics answers GET /jobs/{job}/metrics. As in Flink, a job that has ended and an unknown one have none. Flink also shows the
// metrics of only one worker, if several have some of the job by one name.
func (s *Server) jobMetrics(r *http.Request) (any, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	samples, err := s.samplesOfJobs(r, []string{string(id)})
	if err != nil {
		return nil, err
	}
	return metricsOf(r, samples), nil
}

// samplesOfJobs yields the samples of some jobs, or of all if the list is empty: those of the ApplicationMaster, and then those of
// each of their task hosts. Flink's MetricStore also keeps the metrics that a worker has of a job with the job.
//
// There may be ten thousand workers. They are left out if the request wants only metrics that the ApplicationMaster has.
func (s *Server) samplesOfJobs(r *http.Request, some []string) (iter.Seq[metrics.Sample], error) {
	wanted := setOf(some)
	is := func(one metrics.Sample, level metrics.Level) bool {
		return one.Scope.Level == level && (len(some) == 0 || wanted[one.Scope.Label(metrics.LabelJobID)])
	}
	own, err := metrics.Join(s.config.Metrics.Jobs)(r.Context())
	own = slices.DeleteFunc(own, func(one metrics.Sample) bool { return !is(one, metrics.JobManagerJob) })
	if err != nil || len(own) == 0 || hasAll(own, listed(r, "get")) {
		return slices.Values(own), err
	}
	workers, err := s.config.Metrics.workers(r.Context())
	return func(yield func(metrics.Sample) bool) {
		for _, one := range own {
			if !yield(one) {
				return
			}
		}
		for w := range workers {
			for _, one := range w.Samples() {
				if is(one, metrics.TaskHost) && !yield(one) {
					return
				}
			}
		}
	}, err
}

// hasAll reports whether there are names, and samples of each.
func hasAll(samples []metrics.Sample, names []string) bool {
	missing := setOf(names)
	for _, s := range samples {
		for n := range s.Numbers() {
			delete(missing, n.ID)
		}
	}
	return len(names) > 0 && len(missing) == 0
}

// vertexMetrics answers GET …/vertices/{vertex}/metrics: the metrics of all subtasks, each after the subtask's index.
func (s *Server) vertexMetrics(r *http.Request) (any, error) {
	samples, err := s.samplesOfVertex(r)
	if err != nil {
		return nil, err
	}
	for i := range samples {
		samples[i].Name = samples[i].Scope.Label(metrics.LabelSubtaskIndex) + "." + samples[i].Name
	}
	return metricsOf(r, slices.Values(samples)), nil
}

// subtasksMetrics answers GET …/vertices/{vertex}/subtasks/metrics. The parameter subtasks selects some: "0,3-5".
func (s *Server) subtasksMetrics(r *http.Request) (any, error) {
	modes, err := aggregationsOf(r)
	if err != nil {
		return nil, err
	}
	some, err := rangesOf(listed(r, "subtasks"))
	if err != nil {
		return nil, err
	}
	samples, err := s.samplesOfVertex(r)
	if err != nil {
		return nil, err
	}
	samples = slices.DeleteFunc(samples, func(one metrics.Sample) bool {
		return len(some) > 0 && !some.has(one.Scope.Label(metrics.LabelSubtaskIndex))
	})
	return aggregated(r, slices.Values(samples), modes), nil
}

// subtaskMetrics answers GET …/vertices/{vertex}/subtasks/{subtask}/metrics.
func (s *Server) subtaskMetrics(r *http.Request) (any, error) {
	index, err := strconv.Atoi(r.PathValue("subtask"))
	if err != nil || index < 0 {
		return nil, badRequest("%q is not the index of a subtask: it is a number, 0 or more", r.PathValue("subtask"))
	}
	samples, err := s.samplesOfVertex(r)
	if err != nil {
		return nil, err
	}
	return metricsOf(r, slices.Values(slices.DeleteFunc(samples, func(one metrics.Sample) bool {
		return one.Scope.Label(metrics.LabelSubtaskIndex) != strconv.Itoa(index)
	}))), nil
}

// coordinatorMetrics answers GET …/vertices/{vertex}/jm-operator-metrics: what the ApplicationMaster knows of the vertex.
func (s *Server) coordinatorMetrics(r *http.Request) (any, error) {
	samples, err := samplesFrom(r, s.config.Metrics.Coordinator)
	if err != nil {
		return nil, err
	}
	return metricsOf(r, slices.Values(samples)), nil
}

// samplesFrom returns the samples that a source has of the path's vertex. As in Flink, an unknown vertex has none.
func samplesFrom(r *http.Request, source VertexSource) ([]metrics.Sample, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	vertex := r.PathValue("vertex")
	if !isID(vertex) {
		return nil, badRequest("%q is not the id of a vertex: it has 32 hex digits", vertex)
	}
	if source == nil {
		return nil, nil
	}
	return source(r.Context(), id, vertex)
}

// samplesOfVertex returns the samples of the subtasks of the path's vertex.
func (s *Server) samplesOfVertex(r *http.Request) ([]metrics.Sample, error) {
	samples, err := samplesFrom(r, s.config.Metrics.Vertex)
	for i := range samples {
		if one := &samples[i]; one.Scope.Level == metrics.Operator {
			one.Name = plainName.Replace(one.Scope.Label(metrics.LabelOperatorName)) + "." + plainName.Replace(one.Name)
		}
	}
	return samples, err
}

// plainName makes names of operators and of users' metrics parts of a metric's id: those of several ids are a list with
// commas. Flink's MetricQueryService does the same.
var plainName = strings.NewReplacer(" ", "_", ".", "_", ":", "_", ",", "_") //nolint:gochecknoglobals // immutable

// VertexSource gives the samples of the subtasks of a vertex, which its public id names.
type VertexSource func(ctx context.Context, job ids.JobID, vertex string) ([]metrics.Sample, error)

// indexes are the numbers from first to last.
type indexes struct{ first, last int }

// ranges are indexes in ascending order that do not overlap.
type ranges []indexes

// has reports whether a text is one of the numbers.
func (r ranges) has(text string) bool {
	n, err := strconv.Atoi(text)
	if err != nil {
		return false
	}
	_, found := slices.BinarySearchFunc(r, n, func(one indexes, n int) int {
		switch {
		case one.last < n:
			return -1
		case one.first > n:
			return 1
		}
		return 0
	})
	return found
}

// rangesOf reads numbers and ranges of numbers.
func rangesOf(texts []string) (ranges, error) {
	all := make([]indexes, 0, len(texts))
	for _, text := range texts {
		from, to, ranged := strings.Cut(text, "-")
		first, err := strconv.Atoi(from)
		last := first
		if err == nil && ranged {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 0 || last < first {
			return nil, badRequest("subtasks=%s is no index and no range: give for example 0,3-5", text)
		}
		all = append(all, indexes{first, last})
	}
	slices.SortFunc(all, func(a, b indexes) int { return cmp.Compare(a.first, b.first) })
	var joined ranges
	for _, next := range all {
		if end := len(joined) - 1; end >= 0 && next.first <= joined[end].last {
			joined[end].last = max(joined[end].last, next.last)
			continue
		}
		joined = append(joined, next)
	}
	return joined, nil
}
