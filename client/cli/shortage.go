package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// shortage is a job that waits for slots. The zero one has not begun.
type shortage struct {
	progress.Wait
	why   string    // "": it has what it needs
	asked time.Time // when that was so; zero: it is not known
}

// slotsInterval is the time between two questions what a job waits for.
const slotsInterval = time.Second

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
		if supply, err := a.SlotSupply(ctx); err == nil {
			s.why, s.asked = "", now
			if demand, known := supply.Of(a.job); known && demand.Waits() {
				s.why = supply.Explain(demand, timeOfDay)
			}
		}
	}
	if s.why == "" {
		return false
	}
	r.say.Waiting(&s.Wait, "job waits for slots",
		fmt.Sprintf("%s. It fails if none comes for %s (%s)", s.why, r.cfg.Duration(config.SlotRequestTimeout), config.SlotRequestTimeout))
	return true
}

// timeOfDay is a time as people read it on this machine.
func timeOfDay(t time.Time) string { return t.Local().Format(time.TimeOnly) }
