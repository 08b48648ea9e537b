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
	have  int       // slots that are there
	asked time.Time // when that was so; zero: it is not known
}

// slotsInterval is the time between two questions how many slots there are by now.
const slotsInterval = time.Second

// explainWait tells why nothing happens, while that is so: the cluster has no room for the
// job's slots.
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
		if have, err := a.Slots(ctx); err == nil {
			s.have, s.asked = have, now
		}
	}
	if s.asked.IsZero() || s.have >= state.Slots {
		return false
	}
	r.say.Waiting(&s.Wait, "job waits for slots",
		fmt.Sprintf("%d of %d are there. YARN may have no room for more workers now; the job fails if it has none for %s (%s)",
			s.have, state.Slots, r.cfg.Duration(config.SlotRequestTimeout), config.SlotRequestTimeout))
	return true
}
