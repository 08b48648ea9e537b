package run

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// shortage is the wait of a job for slots or, once it has them, for the workers that prepare it. The zero value
// is a job that does not wait.
type shortage struct {
	progress.Wait
	what  string    // forSlots, forWorkers or forOthers; "" if nothing is known
	why   string    // the master's last explanation
	asked time.Time // when the master was asked last; zero: never
}

const (
	forSlots   = "job waits for slots"
	forWorkers = "job waits for its workers"
	forOthers  = "job waits"
)

// slotsInterval is the time between two questions about what a job waits for.
const slotsInterval = time.Second

// supply asks which slots jobs have and need. Its time limit is that of look.
func (a attempt) supply(ctx context.Context) (msg.SlotSupply, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return a.SlotSupply(ctx)
}

// explainWait tells the user, while no task of a job runs, which slots the job has, which jobs hold others, and
// what Bobbin has asked of YARN. If the job has its slots, it waits for its workers. told is true if it did.
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
			s.explain(now, supply, a, state.Left)
		}
	}
	if s.what == "" || now.Sub(s.Since) < longWait {
		return false
	}
	r.Waiting(&s.Wait, s.what, s.why)
	return true
}

// explain notes what the master says. The wait for workers begins when the slots are there. left is what all tasks that are left wait
// for; "": they do not wait for others.
func (s *shortage) explain(now time.Time, supply msg.SlotSupply, a attempt, left string) {
	before := s.what
	switch demand, known := supply.Of(a.job.id); {
	case !known:
		s.what = ""
	case demand.Waits():
		s.what = forSlots
		why := supply.Explain(demand, progress.TimeOfDay)
		if left != "" {
			why += "; " + left
		}
		s.why = fmt.Sprintf("%s. The job fails if no slot comes %s", why, a.job.slotWait)
	case left != "":
		s.what, s.why = forOthers, left
	default:
		s.what = forWorkers
		s.why = fmt.Sprintf("it has its %d slots; workers fetch its program and its cached files, and start task hosts (see %s.log)", demand.Held, launch.WorkerLog)
	}
	if before != "" && s.what != before {
		s.Wait = progress.Wait{Since: now}
	}
}
