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
	"github.com/bobbin-yarn/bobbin/internal/restapi"
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

// vertexMetrics answers GET …/vertices/{vertex}/metrics: the metrics of all subtasks, each after the subtask's index. It makes no
// samples of subtasks that the request does not name.
func (s *Server) vertexMetrics(r *http.Request) (any, error) {
	subtasks, err := s.subtasksOf(r)
	if err != nil {
		return nil, err
	}
	named := func(index int, one *metrics.Sample) { one.Name = strconv.Itoa(index) + "." + one.Name }
	names := listed(r, "get")
	if len(names) == 0 {
		return vertexNames(subtasks, named), nil
	}
	wanted := make(map[string]bool)
	for _, name := range names {
		index, _, _ := strings.Cut(name, ".")
		wanted[index] = true
	}
	return metricsOf(r, samplesOf(subtasks, func(index int) bool { return wanted[strconv.Itoa(index)] }, named)), nil
}

// vertexNames are the names of the metrics of all subtasks. There may be hundreds of thousands. Those of a subtask begin with its
// index, so it compares only them with each other.
func vertexNames(subtasks iter.Seq[MeasuredSubtask], named func(index int, one *metrics.Sample)) []restapi.Metric {
	answer := []restapi.Metric{}
	told := make(map[string]bool)
	last := 0
	samples := samplesOf(subtasks, anySubtask, func(index int, one *metrics.Sample) {
		if index != last {
			clear(told)
			last = index
		}
		named(index, one)
	})
	for id := range idsOf(told, samples) {
		answer = append(answer, restapi.Metric{ID: id})
	}
	return answer
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
	subtasks, err := s.subtasksOf(r)
	if err != nil {
		return nil, err
	}
	samples := samplesOf(subtasks, func(index int) bool { return len(some) == 0 || some.has(index) }, asNamed)
	return aggregated(r, samples, modes), nil
}

// subtaskMetrics answers GET …/vertices/{vertex}/subtasks/{subtask}/metrics.
func (s *Server) subtaskMetrics(r *http.Request) (any, error) {
	index, err := strconv.Atoi(r.PathValue("subtask"))
	if err != nil || index < 0 {
		return nil, badRequest("%q is not the index of a subtask: it is a number, 0 or more", r.PathValue("subtask"))
	}
	subtasks, err := s.subtasksOf(r)
	if err != nil {
		return nil, err
	}
	return metricsOf(r, samplesOf(subtasks, func(i int) bool { return i == index }, asNamed)), nil
}

// coordinatorMetrics answers GET …/vertices/{vertex}/jm-operator-metrics: what the ApplicationMaster knows of the vertex.
func (s *Server) coordinatorMetrics(r *http.Request) (any, error) {
	job, vertex, err := vertexPath(r)
	if err != nil {
		return nil, err
	}
	if s.config.Metrics.Coordinator == nil {
		return []restapi.Metric{}, nil
	}
	samples, err := s.config.Metrics.Coordinator(r.Context(), job, vertex)
	if err != nil {
		return nil, err
	}
	return metricsOf(r, slices.Values(samples)), nil
}

// vertexPath returns the job and the vertex of the path.
func vertexPath(r *http.Request) (job ids.JobID, vertex string, err error) {
	if job, err = jobID(r); err != nil {
		return "", "", err
	}
	if vertex = r.PathValue("vertex"); !isID(vertex) {
		return "", "", badRequest("%q is not the id of a vertex: it has 32 hex digits", vertex)
	}
	return job, vertex, nil
}

// subtasksOf yields the subtasks of the path's vertex. As in Flink, an unknown vertex has none.
func (s *Server) subtasksOf(r *http.Request) (iter.Seq[MeasuredSubtask], error) {
	job, vertex, err := vertexPath(r)
	if err != nil {
		return nil, err
	}
	var all iter.Seq[MeasuredSubtask]
	if s.config.Metrics.Vertex != nil {
		if all, err = s.config.Metrics.Vertex(r.Context(), job, vertex); err != nil {
			return nil, err
		}
	}
	if all == nil {
		all = func(func(MeasuredSubtask) bool) {}
	}
	return all, nil
}

// samplesOf yields the samples of some subtasks, under their names in REST, which rename may change. It has those of one subtask at
// a time: there may be ten thousand subtasks.
func samplesOf(subtasks iter.Seq[MeasuredSubtask], wanted func(index int) bool, rename func(index int, one *metrics.Sample)) iter.Seq[metrics.Sample] {
	return func(yield func(metrics.Sample) bool) {
		var samples []metrics.Sample
		for t := range subtasks {
			if !wanted(t.Index) {
				continue
			}
			samples = t.Append(samples[:0])
			for _, one := range samples {
				if one.Scope.Level == metrics.Operator {
					one.Name = plainName.Replace(one.Scope.Label(metrics.LabelOperatorName)) + "." + plainName.Replace(one.Name)
				}
				rename(t.Index, &one)
				if !yield(one) {
					return
				}
			}
		}
	}
}

// anySubtask wants all subtasks.
func anySubtask(int) bool { return true }

// asNamed leaves a sample its name.
func asNamed(int, *metrics.Sample) {}

// plainName makes names of operators and of users' metrics parts of a metric's id: those of several ids are a list with
// commas. Flink's MetricQueryService does the same.
var plainName = strings.NewReplacer(" ", "_", ".", "_", ":", "_", ",", "_") //nolint:gochecknoglobals // immutable

// MeasuredSubtask is a subtask that was deployed.
type MeasuredSubtask struct {
	Index int
	// Append makes the samples of the subtask and of its operators, and appends them.
	Append func([]metrics.Sample) []metrics.Sample
}

// SubtaskSource gives the subtasks of a vertex, which its public id names, by index; nil: there are none. It makes no samples. It may
// be called from any goroutine.
type SubtaskSource func(ctx context.Context, job ids.JobID, vertex string) (iter.Seq[MeasuredSubtask], error)

// VertexSource gives the samples of a vertex, which its public id names. It may be called from any goroutine.
type VertexSource func(ctx context.Context, job ids.JobID, vertex string) ([]metrics.Sample, error)

// indexes are the numbers from first to last.
type indexes struct{ first, last int }

// ranges are indexes in ascending order that do not overlap.
type ranges []indexes

// has reports whether n is one of the numbers.
func (r ranges) has(n int) bool {
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
