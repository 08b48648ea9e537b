package rest

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// mostWorkers is the number of workers of which the text for Prometheus has each metric. Each has some 30 series.
const mostWorkers = 1000

// boundWorkers keeps the samples of the first mostWorkers workers, and adds up those of the left ones: for the workers and for
// the task hosts of each job. The sums have no labels of a worker, and take the place of what they add up, so that a sum over
// all series is one over all workers. Distributions have no sum.
func boundWorkers(samples []metrics.Sample) (bounded []metrics.Sample, left int) {
	shown, others := make(map[string]bool), make(map[string]bool)
	sums := make(map[string]int) // by what they add up: the places of the sums in all
	var all []metrics.Sample
	bounded = samples[:0]
	for _, s := range samples {
		worker := s.Scope.Label(metrics.LabelWorker)
		if !shown[worker] && len(shown) < mostWorkers {
			shown[worker] = true
		}
		if shown[worker] {
			bounded = append(bounded, s)
			continue
		}
		others[worker] = true
		if s.Summary != nil {
			continue
		}
		key := sumKey(s)
		at, begun := sums[key]
		if !begun {
			sums[key] = len(all)
			s.Scope = metrics.Scope{Level: s.Scope.Level, Labels: withoutWorker(s.Scope.Labels)}
			all = append(all, s)
			continue
		}
		all[at].Value += s.Value
	}
	return append(bounded, all...), len(others)
}

// ofWorker tells whether a label names a worker.
func ofWorker(l metrics.Label) bool {
	return l.Name == metrics.LabelHost || l.Name == metrics.LabelWorker
}

func withoutWorker(labels []metrics.Label) []metrics.Label {
	return slices.DeleteFunc(slices.Clone(labels), ofWorker)
}

// sumKey is equal for the samples that one sum adds up.
func sumKey(s metrics.Sample) string {
	parts := []string{string(s.Scope.Level), s.Name, s.Group.Value}
	for _, l := range s.Scope.Labels {
		if !ofWorker(l) {
			parts = append(parts, l.Value)
		}
	}
	return strings.Join(parts, "\x00")
}
