package run

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// shortage is the wait of a job for slots. The zero value is a job that does not wait.
type shortage struct {
	progress.Wait
	why   string    // the master's last explanation; "" if the job has its slots, or nothing is known
	asked time.Time // when the master was asked last; zero: never
}

// slotsInterval is the time between two questions about what a job waits for.
const slotsInterval = time.Second

// supply asks which slots jobs have and need. Its time limit is that of look.
func (a attempt) supply(ctx context.Context) (msg.SlotSupply, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return a.SlotSupply(ctx)
}

// explainWait tells the user, while a job waits for slots, which slots the job has, which jobs hold others, and
// what Bobbin has asked of YARN. told is true if it did.
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
