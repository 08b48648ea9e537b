package jobmaster

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestTimesInStates would catch a time in a state that is lost or counted twice when the job changes its state, and a time
// before the JobMaster was made that belongs to no state.
func TestTimesInStates(t *testing.T) {
	t.Parallel()
	settings := sinks(t, 1, 1)
	start := testEpoch
	settings.Submitted = start.Add(-3 * time.Second)
	c, err := newCore(settings)
	if err != nil {
		t.Fatal(err)
	}
	c.Step(start, started{})
	if o := c.overview(); o.Status != msg.JobRunning || !o.Entered.Equal(start) || o.Spent[msg.JobInitializing] != 3*time.Second || o.Spent[msg.JobRunning] != 0 {
		t.Errorf("at the start: %+v", o)
	}
	c.Step(start.Add(time.Minute), cancelAsked{})
	if o := c.overview(); o.Status != msg.JobCanceled || o.Spent[msg.JobRunning] != time.Minute || o.Spent[msg.JobInitializing] != 3*time.Second {
		t.Errorf("at the end: %+v", o)
	}
}
