package rest

import (
	"context"
	"fmt"
	"iter"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/prom"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Metrics are the sources of metrics. A source that is nil has none.
type Metrics struct {
	Master   metrics.Source // of the ApplicationMaster and of the cluster
	Jobs     metrics.Source // of the jobs that run, as the ApplicationMaster sees them
	Workers  WorkerSource   // of workers, and of what they run
	Worker   NamedWorker    // of one worker
	Together metrics.Source // of all workers, and of all task hosts of a job. For Prometheus only
	Tasks    metrics.Source // of the subtasks of the jobs that run, or sums of them
	Vertex   SubtaskSource
	// Coordinator has what the ApplicationMaster itself knows of a vertex.
	Coordinator VertexSource
	Scope       metrics.Scope // of the ApplicationMaster
}

// all gives the samples of all sources. It bounds those of workers: see boundWorkers.
func (m Metrics) all(ctx context.Context) ([]metrics.Sample, error) {
	return metrics.Join(m.Master, m.Jobs, m.Tasks, m.Together, func(ctx context.Context) ([]metrics.Sample, error) {
		workers, err := m.workers(ctx)
		samples, left := boundWorkers(workers)
		return append(samples, metrics.Sample{Scope: m.Scope, Name: "numTaskManagersNotShown", Kind: metrics.KindGauge, Value: float64(left)}), err
	})(ctx)
}

// prometheus answers GET /metrics.
func (s *Server) prometheus(r *http.Request) (any, error) {
	page := prom.Render(r, s.config.Metrics.all, s.logger)
	return raw{contentType: page.ContentType, body: page.Body, status: page.Status}, nil
}

// scrapeTargets answers GET /metrics/targets.
func (s *Server) scrapeTargets(r *http.Request) (any, error) {
	workers, err := s.gateway.TaskExecutors(r.Context())
	if err != nil {
		return nil, err
	}
	answer := []restapi.ScrapeTarget{}
	for _, w := range workers {
		if w.Metrics != nil && w.Metrics.Port != 0 {
			answer = append(answer, restapi.ScrapeTarget{
				Targets: []string{net.JoinHostPort(w.Host, strconv.Itoa(w.Metrics.Port))},
				Labels:  map[string]string{"__meta_bobbin_tm_id": string(w.Resource)},
			})
		}
	}
	return answer, nil
}

// masterMetrics answers GET /jobmanager/metrics.
func (s *Server) masterMetrics(r *http.Request) (any, error) {
	samples, err := metrics.Join(s.config.Metrics.Master)(r.Context())
	if err != nil {
		return nil, err
	}
	return metricsOf(r, slices.Values(samples)), nil
}

// workersMetrics answers GET /taskmanagers/metrics. The parameter taskmanagers selects some.
func (s *Server) workersMetrics(r *http.Request) (any, error) {
	modes, err := aggregationsOf(r)
	if err != nil {
		return nil, err
	}
	samples, err := s.samplesOfWorkers(r.Context(), listed(r, "taskmanagers"))
	if err != nil {
		return nil, err
	}
	return aggregated(r, samples, modes), nil
}

// workerMetrics answers GET /taskmanagers/{worker}/metrics. As in Flink, an unknown worker has no metrics.
func (s *Server) workerMetrics(r *http.Request) (any, error) {
	samples, err := s.samplesOfWorkers(r.Context(), []string{r.PathValue("worker")})
	if err != nil {
		return nil, err
	}
	return metricsOf(r, samples), nil
}

// samplesOfWorkers yields the samples of some workers, or of all if the list is empty; not of what they run.
func (s *Server) samplesOfWorkers(ctx context.Context, some []string) (iter.Seq[metrics.Sample], error) {
	wanted := setOf(some)
	if n := len(wanted); n > 0 && n <= mostNamed {
		return s.samplesOfNamed(ctx, wanted)
	}
	workers, err := s.config.Metrics.workers(ctx)
	return func(yield func(metrics.Sample) bool) {
		for w := range workers {
			if len(some) > 0 && !wanted[w.ID] {
				continue
			}
			for _, one := range w.Samples() {
				if one.Scope.Level == metrics.TaskManager && !yield(one) {
					return
				}
			}
		}
	}, err
}

// listed returns the values of a parameter: a list with commas, that may come several times.
func listed(r *http.Request, parameter string) []string {
	var values []string
	for _, list := range r.URL.Query()[parameter] {
		for value := range strings.SplitSeq(list, ",") {
			if value != "" {
				values = append(values, value)
			}
		}
	}
	return values
}

// setOf makes a set of the values of a parameter. A request may name thousands, and there may be a hundred thousand samples to
// compare with them.
func setOf(values []string) map[string]bool {
	set := make(map[string]bool, len(values))
	for _, value := range values {
		set[value] = true
	}
	return set
}

// metricsOf returns the metrics of one thing that the parameter get names, in its order, with their values. Without
// it, the answer names all. Of samples of one name it takes the last one.
func metricsOf(r *http.Request, samples iter.Seq[metrics.Sample]) []restapi.Metric {
	answer := []restapi.Metric{}
	names := listed(r, "get")
	if len(names) == 0 {
		for id := range idsOf(make(map[string]bool), samples) {
			answer = append(answer, restapi.Metric{ID: id})
		}
		return answer
	}
	wanted := setOf(names)
	values := make(map[string]string)
	for s := range samples {
		for n := range s.Numbers() {
			if wanted[n.ID] {
				values[n.ID] = n.String()
			}
		}
	}
	for _, name := range names {
		if value, known := values[name]; known {
			answer = append(answer, restapi.Metric{ID: name, Value: value})
			delete(values, name) // the request may name it again
		}
	}
	return answer
}

// idsOf yields the names of the numbers of samples, each once. told has those that it has yielded.
func idsOf(told map[string]bool, samples iter.Seq[metrics.Sample]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := range samples {
			for n := range s.Numbers() {
				if told[n.ID] {
					continue
				}
				told[n.ID] = true
				if !yield(n.ID) {
					return
				}
			}
		}
	}
}

// aggregations are the ways to make one number of those of several things.
var aggregations = [...]string{"min", "max", "sum", "avg", "skew"}

// aggregationsOf returns what the parameter agg asks for; without it, all.
func aggregationsOf(r *http.Request) ([]string, error) {
	var modes []string
	for _, mode := range listed(r, "agg") {
		mode = strings.ToLower(mode)
		if !slices.Contains(aggregations[:], mode) {
			return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("agg=%s is unknown: give some of min, max, sum, avg and skew", mode)}
		}
		modes = append(modes, mode)
	}
	if modes == nil {
		modes = aggregations[:]
	}
	return modes, nil
}

// aggregated returns the metrics of several things that the parameter get names, in its order. Without it, the answer
// names all.
func aggregated(r *http.Request, samples iter.Seq[metrics.Sample], modes []string) []restapi.AggregatedMetric {
	answer := []restapi.AggregatedMetric{}
	names := listed(r, "get")
	if len(names) == 0 {
		for id := range idsOf(make(map[string]bool), samples) {
			answer = append(answer, restapi.AggregatedMetric{ID: id})
		}
		return answer
	}
	totals := make(map[string]*metrics.Total)
	for _, name := range names {
		totals[name] = &metrics.Total{}
	}
	for s := range samples {
		for n := range s.Numbers() {
			if total := totals[n.ID]; total != nil {
				total.Add(n.Value)
			}
		}
	}
	for _, name := range names {
		if total := totals[name]; total != nil && total.N() > 0 {
			answer = append(answer, totalOf(name, total, modes))
			delete(totals, name) // the request may name it again
		}
	}
	return answer
}

func totalOf(name string, total *metrics.Total, modes []string) restapi.AggregatedMetric {
	m := restapi.AggregatedMetric{ID: name}
	set := func(field **float64, mode string, value float64) {
		if slices.Contains(modes, mode) {
			*field = &value
		}
	}
	set(&m.Min, "min", total.Min)
	set(&m.Max, "max", total.Max)
	set(&m.Avg, "avg", total.Avg())
	set(&m.Sum, "sum", total.Sum)
	set(&m.Skew, "skew", total.Skew())
	return m
}
