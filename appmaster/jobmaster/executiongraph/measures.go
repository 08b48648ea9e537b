package executiongraph

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Report takes over what a host reports of a running task.
func (e *Execution) Report(m msg.TaskMetrics, now time.Time) { e.Measures.Report(m, e.Started(), now) }

// Times is for how long the task has done what, from its deployment to its end or to now.
func (e *Execution) Times(now time.Time) msg.TaskTimes {
	return e.Measures.Times(e.Started(), e.Ended(), now)
}

// Sample is what the task does now: see measures.Measures.
func (e *Execution) Sample(now time.Time, interval time.Duration) msg.TaskSample {
	return e.Measures.Sample(e.Started(), now, interval)
}
