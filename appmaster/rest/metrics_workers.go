package rest

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// MeasuredWorker is a worker whose metrics are known.
type MeasuredWorker struct {
	ID string
	// Samples makes the samples of the worker itself, and then those of each of its task hosts.
	Samples func() []metrics.Sample
}

// WorkerSource gives the workers whose metrics are known, in the order of their ids. It makes no samples: there may be ten thousand
// workers. It may be called from any goroutine. If it fails, the workers that it gives may lack some samples.
type WorkerSource func(context.Context) (iter.Seq[MeasuredWorker], error)

// NamedWorker gives the samples of one worker itself, without those of its task hosts. It has none of a worker that is not known, or
// whose metrics are not. It may be called from any goroutine.
type NamedWorker func(ctx context.Context, worker string) ([]metrics.Sample, error)

// mostNamed is how many workers are asked for one by one. To ask for all of ten thousand workers costs as much as some thousand such
// questions.
const mostNamed = 64

// samplesOfNamed yields the samples of workers that the request names, in the order of their ids, as WorkerSource gives them.
func (s *Server) samplesOfNamed(ctx context.Context, names map[string]bool) (iter.Seq[metrics.Sample], error) {
	var all []metrics.Sample
	if s.config.Metrics.Worker != nil {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			samples, err := s.config.Metrics.Worker(ctx, name)
			if err != nil {
				return nil, err
			}
			all = append(all, samples...)
		}
	}
	return slices.Values(all), nil
}

// none is a source's answer if there is no source.
func none(func(MeasuredWorker) bool) {}

// workers are those of the source.
func (m Metrics) workers(ctx context.Context) (iter.Seq[MeasuredWorker], error) {
	if m.Workers == nil {
		return none, nil
	}
	all, err := m.Workers(ctx)
	if all == nil {
		all = none
	}
	return all, err
}

// mostWorkerSeries is how many series of workers and their task hosts are in the text for Prometheus, which is held in memory. Each
// takes some 170 bytes.
const mostWorkerSeries = 20_000

// boundWorkers makes the samples of workers until they have mostWorkerSeries, and counts the workers that lack some or all of
// theirs. It makes no samples of further workers.
func boundWorkers(workers iter.Seq[MeasuredWorker]) (shown []metrics.Sample, left int) {
	room := mostWorkerSeries
	for w := range workers {
		if room == 0 {
			left++
			continue
		}
		samples := w.Samples()
		for len(samples) > 0 && room > 0 {
			n, series := firstScope(samples)
			if series > room {
				room = 0
				break
			}
			room -= series
			shown, samples = append(shown, samples[:n]...), samples[n:]
		}
		if len(samples) > 0 {
			left++
		}
	}
	return shown, left
}

// firstScope returns how many of the samples are of the same scope as the first one, and how many series they have.
func firstScope(samples []metrics.Sample) (n, series int) {
	level, job := samples[0].Scope.Level, samples[0].Scope.Label(metrics.LabelJobID)
	for ; n < len(samples) && samples[n].Scope.Level == level && samples[n].Scope.Label(metrics.LabelJobID) == job; n++ {
		series += metrics.SeriesOf(samples[n].Summary)
	}
	return n, series
}
