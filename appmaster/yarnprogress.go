package appmaster

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// progress is the progress of a cluster's jobs, which YARN shows for its application. The zero value is
// progress 0.
type progress struct{ bits atomic.Uint32 }

// share returns the last progress, from 0 to 1. It does not block.
func (p *progress) share() float32 { return math.Float32frombits(p.bits.Load()) }

func (p *progress) set(share float32) { p.bits.Store(math.Float32bits(share)) }

// watch reads the jobs at each interval until ctx ends. It runs beside the heartbeats to YARN, because
// these must not wait for the jobs.
func (p *progress) watch(ctx context.Context, every time.Duration, jobs func(context.Context) ([]msg.JobOverview, error)) {
	for ctx.Err() == nil {
		if overviews, err := jobs(ctx); err == nil { // after an error the next round asks again
			p.set(shareOf(overviews))
		}
		_ = sched.Sleep(ctx, every) // the loop sees that ctx has ended
	}
}

// shareOf is the share of finished tasks in all tasks of the jobs that have not ended. Without such jobs it
// is 1, which Flink reports for all applications. A job that is still being set up has no tasks yet.
func shareOf(jobs []msg.JobOverview) float32 {
	finished, total, all := 0, 0, float32(1)
	for _, job := range jobs {
		if !job.Status.GloballyTerminal() {
			all = 0
			finished += job.Tasks[msg.ExecutionFinished]
			total += job.TotalTasks
		}
	}
	if total == 0 {
		return all
	}
	return float32(finished) / float32(total)
}
