package run

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// shortage is a job that waits for slots. The zero one has not begun.
type shortage struct {
	progress.Wait
	why   string    // when the master said so last; "": it has what it needs, or that is not known
	asked time.Time // when the master was asked last; zero: it was not
}

// slotsInterval is the time between two questions what a job waits for.
const slotsInterval = time.Second

// supply asks what jobs have of slots, as look asks how far one is.
func (a attempt) supply(ctx context.Context) (msg.SlotSupply, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return a.SlotSupply(ctx)
}

// explainWait tells why nothing happens, while that is so: what the job has of slots, who has
// others, and what is asked of YARN.
func (r *runner) explainWait(ctx context.Context, a attempt, s *shortage, state client.JobState) (told bool) {
	now := time.Now()
	switch {
	case state.Status != msg.JobRunning || !state.Waits:
		*s = shortage{}
		return false
	case s.Since.IsZero():
		s.Since = now
	}
	if now.Sub(s.Since) < longWait {
		return false
	}
	if now.Sub(s.asked) >= slotsInterval {
		s.asked = now
		if supply, err := a.supply(ctx); err == nil {
			s.why = ""
			if demand, known := supply.Of(a.job.id); known && demand.Waits() {
				s.why = supply.Explain(demand, progress.TimeOfDay)
			}
		}
	}
	if s.why == "" {
		return false
	}
	r.Waiting(&s.Wait, "job waits for slots", fmt.Sprintf("%s. The job fails if no slot comes %s", s.why, a.job.slotWait))
	return true
}
