package prom

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// collector collects the samples of one answer.
type collector struct {
	ctx    context.Context //nolint:containedctx // a collector lives as long as its request
	source metrics.Source
	logger logrus.FieldLogger
}

// Describe describes nothing, because samples come and go with jobs and workers.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the samples that fit together. Prometheus refuses a whole answer if two of its series
// are the same, or if two series of a name are of different types. The names of users' metrics can
// cause both, so the first one counts.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	samples, err := c.source(c.ctx)
	if err != nil {
		c.logger.WithError(err).Warn("some metrics are missing in an answer to Prometheus")
	}
	a := answer{out: out, types: map[string]metrics.Kind{}, parts: map[string]bool{}, help: map[string]string{}, sent: make(map[string]bool, len(samples))}
	for _, d := range metrics.Definitions() {
		a.help[Name(d.Level, d.Name)] = d.Meaning
	}
	dropped := 0
	for _, s := range samples {
		if !a.send(s) {
			dropped++
		}
	}
	failed := 0.0
	if err != nil {
		failed = 1
	}
	out <- gauge("bobbin_scrape_failed", "1: a part of this answer is missing, because its source failed", failed)
	out <- gauge("bobbin_scrape_dropped", "Samples that are missing in this answer, because others have the same name and labels or the same name and another type", float64(dropped))
}

func gauge(name, help string, v float64) prometheus.Metric {
	return prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, v)
}

// answer is what one answer has so far.
type answer struct {
	out   chan<- prometheus.Metric
	help  map[string]string       // of Bobbin's own metrics, by Prometheus' name
	types map[string]metrics.Kind // by Prometheus' name
	parts map[string]bool         // names of which a summary is made
	sent  map[string]bool         // by name and labels
}

// send sends a sample, and reports whether it fits to those before.
func (a *answer) send(s metrics.Sample) bool {
	name := Name(s.Scope.Level, s.Name)
	kind, known := a.types[name]
	if known && typeOf(kind) != typeOf(s.Kind) || !known && !a.free(name, s) {
		return false
	}
	names, values := labelsOf(s)
	if s.Summary != nil && slices.Contains(names, "quantile") { // Prometheus' own
		return false
	}
	series := name + "\x00" + strings.Join(names, "\x00") + "\x00" + strings.Join(values, "\x00")
	if a.sent[series] {
		return false
	}
	help, ours := a.help[name]
	if !ours {
		help = "A metric of the job's program"
	}
	desc := prometheus.NewDesc(name, help, names, nil)
	var metric prometheus.Metric
	var err error
	if s.Summary == nil {
		metric, err = prometheus.NewConstMetric(desc, typeOf(s.Kind), s.Value, values...)
	} else {
		d := s.Summary
		quantiles := map[float64]float64{0.5: d.P50, 0.75: d.P75, 0.95: d.P95, 0.98: d.P98, 0.99: d.P99, 0.999: d.P999}
		metric, err = prometheus.NewConstSummary(desc, uint64(d.Count), d.Sum, quantiles, values...)
	}
	if err != nil { // for example a label that Prometheus reserves
		return false
	}
	a.types[name] = s.Kind
	if s.Summary != nil {
		for _, part := range summaryParts {
			a.parts[name+part] = true
		}
	}
	a.sent[series] = true
	a.out <- metric
	return true
}

// summaryParts are the ends of the names that belong to a summary, or to a histogram.
var summaryParts = [...]string{"_sum", "_count", "_bucket"}

// free reports whether a new name collides with no part of a summary.
func (a *answer) free(name string, s metrics.Sample) bool {
	if s.Summary == nil {
		return !a.parts[name]
	}
	return !slices.ContainsFunc(summaryParts[:], func(part string) bool { return a.types[name+part] != 0 })
}

// typeOf returns the type of a kind of metric. Histograms are summaries, which have no type here.
func typeOf(k metrics.Kind) prometheus.ValueType {
	switch k {
	case metrics.KindCounter:
		return prometheus.CounterValue
	case metrics.KindGauge, metrics.KindMeter:
		return prometheus.GaugeValue
	case metrics.KindHistogram:
	}
	return 0
}

// labelsOf returns the labels of a series. Prometheus wants UTF-8 values.
func labelsOf(s metrics.Sample) (names, values []string) {
	labels := s.Scope.Labels
	if s.Group.Name != "" {
		labels = append(slices.Clip(labels), s.Group)
	}
	for _, l := range labels {
		names = append(names, clean(l.Name))
		values = append(values, strings.ToValidUTF8(l.Value, "�"))
	}
	return names, values
}
