package rest

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// aggregatedOf returns the statistics of attempts.
func aggregatedOf(all []restapi.SubtaskAttempt) restapi.Aggregated {
	values := make([]int64, len(all))
	of := func(number func(*restapi.SubtaskAttempt) int64) restapi.Statistics {
		for i := range all {
			values[i] = number(&all[i])
		}
		return statistics(values)
	}
	type attempt = restapi.SubtaskAttempt
	return restapi.Aggregated{
		Metrics: restapi.AggregatedMetrics{
			ReadBytes:         of(func(a *attempt) int64 { return a.Metrics.ReadBytes }),
			WriteBytes:        of(func(a *attempt) int64 { return a.Metrics.WriteBytes }),
			ReadRecords:       of(func(a *attempt) int64 { return a.Metrics.ReadRecords }),
			WriteRecords:      of(func(a *attempt) int64 { return a.Metrics.WriteRecords }),
			BackpressuredTime: of(func(a *attempt) int64 { return a.Metrics.BackpressuredTime }),
			IdleTime:          of(func(a *attempt) int64 { return a.Metrics.IdleTime }),
			BusyTime:          of(func(a *attempt) int64 { return int64(a.Metrics.BusyTime) }),
		},
		StatusDuration: restapi.AggregatedStatusDuration{
			Created:      of(func(a *attempt) int64 { return a.StatusDuration.Created }),
			Scheduled:    of(func(a *attempt) int64 { return a.StatusDuration.Scheduled }),
			Deploying:    of(func(a *attempt) int64 { return a.StatusDuration.Deploying }),
			Initializing: of(func(a *attempt) int64 { return a.StatusDuration.Initializing }),
			Running:      of(func(a *attempt) int64 { return a.StatusDuration.Running }),
		},
	}
}

// statistics describes values, and sorts them. As in Flink, means and percentiles are cut to whole numbers.
func statistics(values []int64) restapi.Statistics {
	if len(values) == 0 {
		return restapi.Statistics{}
	}
	slices.Sort(values)
	sum := int64(0)
	for _, v := range values {
		sum += v
	}
	return restapi.Statistics{
		Min: values[0], Max: values[len(values)-1], Sum: sum, Avg: int64(float64(sum) / float64(len(values))),
		Median: percentile(values, 0.5), P25: percentile(values, 0.25), P75: percentile(values, 0.75), P95: percentile(values, 0.95),
	}
}

// percentile estimates as Flink does, with commons-math's Percentile of type LEGACY: it interpolates at part·(n+1).
func percentile(sorted []int64, part float64) int64 {
	at := part * float64(len(sorted)+1)
	below := int(at)
	switch {
	case below < 1:
		return sorted[0]
	case below >= len(sorted):
		return sorted[len(sorted)-1]
	}
	low, high := float64(sorted[below-1]), float64(sorted[below])
	return int64(low + (at-float64(below))*(high-low))
}
