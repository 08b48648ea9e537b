package appmaster

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// progress is how far the jobs of a cluster are, as YARN shows it of its application. The
// zero value says 0.
type progress struct{ bits atomic.Uint32 }

// share is what was seen last, from 0 to 1. It does not block.
func (p *progress) share() float32 { return math.Float32frombits(p.bits.Load()) }

func (p *progress) set(share float32) { p.bits.Store(math.Float32bits(share)) }

// watch looks at the jobs again and again, until ctx ends: beside the heartbeats, which
// must not wait for them.
func (p *progress) watch(ctx context.Context, every time.Duration, jobs func(context.Context) ([]msg.JobOverview, error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if overviews, err := jobs(ctx); err == nil { // else they are being started: the next look will tell
			p.set(shareOf(overviews))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// shareOf is the share of finished tasks of the jobs that have not ended. Without any there
// is nothing to do: 1, as Flink has it of all applications.
func shareOf(jobs []msg.JobOverview) float32 {
	finished, total := 0, 0
	for _, job := range jobs {
		if !job.Status.GloballyTerminal() {
			finished += job.Tasks[msg.ExecutionFinished]
			total += job.TotalTasks
		}
	}
	if total == 0 {
		return 1
	}
	return float32(finished) / float32(total)
}
