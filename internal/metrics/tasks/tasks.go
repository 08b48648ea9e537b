// Package tasks gives the metrics of subtasks, from what their hosts report.
package tasks

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Append appends the samples of a subtask, in its scope. times are for how long its attempt has done what.
func Append(samples []metrics.Sample, scope metrics.Scope, s msg.TaskSample, times msg.TaskTimes) []metrics.Sample {
	spends, measured := spent(scope, s)
	shared := shares(scope, s, measured)
	return append(append(appendAdditive(samples, scope, s, times), spends[:]...), shared[:]...)
}

// appendAdditive appends the samples of a subtask that have a sum over several subtasks.
func appendAdditive(samples []metrics.Sample, scope metrics.Scope, s msg.TaskSample, times msg.TaskTimes) []metrics.Sample {
	add := func(name string, kind metrics.Kind, value float64) {
		samples = append(samples, metrics.Sample{Scope: scope, Name: name, Kind: kind, Value: value})
	}
	for _, c := range counts {
		add(c.name, metrics.KindCounter, float64(c.of(s.Now)))
		add(c.name+"PerSecond", metrics.KindMeter, s.Rate(c.of))
	}
	add("accumulateBusyTimeMs", metrics.KindGauge, milliseconds(times.Busy))
	add("accumulateIdleTimeMs", metrics.KindGauge, milliseconds(times.Idle))
	add("accumulateBackPressuredTimeMs", metrics.KindGauge, milliseconds(times.BackPressured))
	add("buffers.inputQueueLength", metrics.KindGauge, float64(s.Now.In))
	add("buffers.outputQueueLength", metrics.KindGauge, float64(s.Now.Out))
	return samples
}

// spent are the samples of what a subtask does with each second; false: it is not measured, and they are 0.
func spent(scope metrics.Scope, s msg.TaskSample) (samples [3]metrics.Sample, measured bool) {
	shares, measured := s.Shares()
	const second = 1000 // ms
	return [...]metrics.Sample{
		{Scope: scope, Name: "busyTimeMsPerSecond", Kind: metrics.KindGauge, Value: shares.Busy * second},
		{Scope: scope, Name: "idleTimeMsPerSecond", Kind: metrics.KindGauge, Value: shares.Idle * second},
		{Scope: scope, Name: "backPressuredTimeMsPerSecond", Kind: metrics.KindGauge, Value: shares.BackPressured * second},
	}, measured
}

// shares are the samples of a subtask from 0 to 1.
func shares(scope metrics.Scope, s msg.TaskSample, measured bool) [3]metrics.Sample {
	waits := 0.
	if measured && s.Now.Now == msg.TaskBackPressured {
		waits = 1
	}
	return [...]metrics.Sample{
		{Scope: scope, Name: "isBackPressured", Kind: metrics.KindGauge, Value: waits},
		{Scope: scope, Name: "buffers.inPoolUsage", Kind: metrics.KindGauge, Value: usage(s.Now.InUsage)},
		{Scope: scope, Name: "buffers.outPoolUsage", Kind: metrics.KindGauge, Value: usage(s.Now.OutUsage)},
	}
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
