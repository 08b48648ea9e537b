package tasks_test

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/tasks"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestSamplesAreWhatTheTableSays would catch a metric that docs/metrics.md does not have, or that nobody gives.
func TestSamplesAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	given := make(map[string]bool)
	scope := metrics.Scope{Level: metrics.Task}
	for _, s := range tasks.AppendUser(tasks.Append(nil, scope, msg.TaskSample{}, msg.TaskTimes{}), scope, nil, nil) {
		if d, known := metrics.Lookup(metrics.Task, s.Name); !known || d.Kind != s.Kind || given[s.Name] {
			t.Errorf("%s, a %s, is in the table as %+v", s.Name, s.Kind, d)
		}
		given[s.Name] = true
	}
	for _, d := range metrics.Definitions() {
		if d.Level == metrics.Task && !given[d.Name] {
			t.Errorf("nobody gives %s", d.Name)
		}
	}
}

// TestSamplesOfATask would catch a rate over the whole time of a task, times that are no thousandths, and input that counts as output.
func TestSamplesOfATask(t *testing.T) {
	t.Parallel()
	was := msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: 1000}, Activity: msg.Activity{Idle: time.Second}}
	is := msg.TaskMetrics{
		Traffic:  msg.Traffic{ReadRecords: 3000, WriteRecords: 30, ReadBytes: 300, WriteBytes: 40, ReadBuffers: 5, WriteBuffers: 6},
		Activity: msg.Activity{Idle: 3 * time.Second, BackPressured: 4 * time.Second, Now: msg.TaskBackPressured},
		Queues:   msg.Queues{In: 7, Out: 8, InUsage: 250, OutUsage: 5000},
	}
	got := make(map[string]float64)
	sample := msg.TaskSample{Now: is, Before: was, Until: is, Over: 10 * time.Second}
	for _, s := range tasks.Append(nil, metrics.Scope{}, sample, msg.TaskTimes{Busy: time.Minute, Idle: 3 * time.Second}) {
		got[s.Name] = s.Value
	}
	for name, want := range map[string]float64{
		"numRecordsIn": 3000, "numRecordsInPerSecond": 200, "numRecordsOut": 30, "numBytesIn": 300, "numBytesOut": 40, "numBuffersIn": 5, "numBuffersOut": 6,
		"busyTimeMsPerSecond": 400, "idleTimeMsPerSecond": 200, "backPressuredTimeMsPerSecond": 400, "isBackPressured": 1,
		"accumulateBusyTimeMs": 60_000, "accumulateIdleTimeMs": 3000, "buffers.inputQueueLength": 7, "buffers.outputQueueLength": 8, "buffers.inPoolUsage": 0.25, "buffers.outPoolUsage": 1,
	} {
		if d := got[name] - want; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}
