// Package measures makes rates and times of what task hosts report of their tasks. It is pure. JobMasters use it for all tasks
// of a job, and workers for their own.
package measures

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// window is the least time over which rates are measured, if the task is as old. The most is the double. Flink takes 60 s for traffic and 5 s for the
// busy time.
const window = 5 * time.Second

// Measures are what is known of the work of an attempt of a task.
type Measures struct {
	Metrics  msg.TaskMetrics // as last reported
	reported time.Time       // when, if the task ran then; zero: they are final, or there are none yet
	// The rates begin at from; nil: at the start of the task. They will begin at next, a window later.
	from, next *mark
}

// mark is what a task had done at some time.
type mark struct {
	at      time.Time
	metrics msg.TaskMetrics
}

// Report takes over what a host reports of a running task, which was deployed at started.
func (s *Measures) Report(m msg.TaskMetrics, started, now time.Time) {
	last := started
	if s.next != nil {
		last = s.next.at
	}
	if now.Sub(last) >= window {
		s.from, s.next = s.next, &mark{now, m}
	}
	s.Metrics, s.reported = m, now
}

// Ends takes over the last metrics of a task, with its final state.
func (s *Measures) Ends(m msg.TaskMetrics) { *s = Measures{Metrics: m} }

// Times is for how long the task has done what, from its deployment to its end or to now. A host reports only changes, so what the
// task did last goes on. The zero times say that it was not deployed, and that it has not ended.
func (s *Measures) Times(started, ended, now time.Time) msg.TaskTimes {
	if started.IsZero() {
		return msg.TaskTimes{}
	}
	if !ended.IsZero() {
		now = ended
	}
	m := s.measured(now)
	return msg.TaskTimes{Busy: max(now.Sub(started)-m.Idle-m.BackPressured, 0), Idle: m.Idle, BackPressured: m.BackPressured}
}

// measured is the metrics now.
func (s *Measures) measured(now time.Time) msg.TaskMetrics {
	if s.reported.IsZero() {
		return s.Metrics
	}
	return s.Metrics.After(now.Sub(s.reported))
}

// Sample is what the task does now, if hosts report changes at this interval: its rates begin at least a window ago, or when the
// task started. A task that has ended has none.
func (s *Measures) Sample(started, now time.Time, interval time.Duration) msg.TaskSample {
	sample := msg.TaskSample{Now: s.measured(now)}
	if s.reported.IsZero() {
		return sample
	}
	// Until the next report is late, the traffic may have changed: the rates end at the last one.
	until := now
	if now.Sub(s.reported) < 2*interval {
		until = s.reported
	}
	from := started
	if s.from != nil {
		from, sample.Before = s.from.at, s.from.metrics
	}
	sample.Over, sample.Until = until.Sub(from), s.measured(until)
	return sample
}
