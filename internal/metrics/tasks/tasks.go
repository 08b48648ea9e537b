// Package tasks gives the metrics of subtasks, from what their hosts report.
package tasks

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Samples are the samples of a subtask, in its scope. times are for how long its attempt has done what.
func Samples(scope metrics.Scope, s msg.TaskSample, times msg.TaskTimes) []metrics.Sample {
	samples := make([]metrics.Sample, 0, 23)
	add := func(name string, kind metrics.Kind, value float64) {
		samples = append(samples, metrics.Sample{Scope: scope, Name: name, Kind: kind, Value: value})
	}
	for _, c := range counts {
		add(c.name, metrics.KindCounter, float64(c.of(s.Now)))
		add(c.name+"PerSecond", metrics.KindMeter, s.Rate(c.of))
	}
	shares, measured := s.Shares()
	const second = 1000 // ms
	add("busyTimeMsPerSecond", metrics.KindGauge, shares.Busy*second)
	add("idleTimeMsPerSecond", metrics.KindGauge, shares.Idle*second)
	add("backPressuredTimeMsPerSecond", metrics.KindGauge, shares.BackPressured*second)
	waits := 0.
	if measured && s.Now.Now == msg.TaskBackPressured {
		waits = 1
	}
	add("isBackPressured", metrics.KindGauge, waits)
	add("accumulateBusyTimeMs", metrics.KindCounter, milliseconds(times.Busy))
	add("accumulateIdleTimeMs", metrics.KindCounter, milliseconds(times.Idle))
	add("accumulateBackPressuredTimeMs", metrics.KindCounter, milliseconds(times.BackPressured))
	add("buffers.inputQueueLength", metrics.KindGauge, float64(s.Now.In))
	add("buffers.outputQueueLength", metrics.KindGauge, float64(s.Now.Out))
	add("buffers.inPoolUsage", metrics.KindGauge, usage(s.Now.InUsage))
	add("buffers.outPoolUsage", metrics.KindGauge, usage(s.Now.OutUsage))
	return samples
}

// counts are the counters with their names.
var counts = [...]struct { //nolint:gochecknoglobals // a constant table
	name string
	of   func(msg.TaskMetrics) int64
}{
	{"numRecordsIn", func(m msg.TaskMetrics) int64 { return m.ReadRecords }},
	{"numRecordsOut", func(m msg.TaskMetrics) int64 { return m.WriteRecords }},
	{"numBytesIn", func(m msg.TaskMetrics) int64 { return m.ReadBytes }},
	{"numBytesOut", func(m msg.TaskMetrics) int64 { return m.WriteBytes }},
	{"numBuffersIn", func(m msg.TaskMetrics) int64 { return m.ReadBuffers }},
	{"numBuffersOut", func(m msg.TaskMetrics) int64 { return m.WriteBuffers }},
}

// usage is a usage of msg.Queues as a fraction. A host runs users' code, and may report anything.
func usage(of int) float64 { return float64(min(max(of, 0), msg.WholeUsage)) / msg.WholeUsage }

func milliseconds(d time.Duration) float64 { return float64(d.Milliseconds()) }
