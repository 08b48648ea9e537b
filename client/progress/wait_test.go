package progress

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAWaitIsToldEachMinute would catch hours without a line in a log, a line for each request, and a line that
// repeats what was true at the start of the wait.
func TestAWaitIsToldEachMinute(t *testing.T) {
	p, out, c := printer(false)
	wait := Wait{Since: c.now}
	began := c.now.Local().Format(time.TimeOnly)
	for second := range 150 {
		if second == 90 {
			p.Line("something else")
		}
		p.Waiting(&wait, "job waits for slots", fmt.Sprintf("%d are there", second))
		c.now = c.now.Add(time.Second)
	}
	want := fmt.Sprintf(`job waits for slots since %[1]s: 0 are there
job waits for slots since %[1]s: 60 are there
something else
job waits for slots since %[1]s: 120 are there
`, began)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestAWaitMovesOnATerminal would catch a screen that fills during a wait, and one that does not show that the
// command runs.
func TestAWaitMovesOnATerminal(t *testing.T) {
	p, out, c := printer(true)
	wait := Wait{Since: c.now}
	began := c.now.Local().Format(time.TimeOnly)
	for _, lasts := range []time.Duration{5 * time.Second, 65 * time.Second} {
		c.now = wait.Since.Add(lasts)
		p.Waiting(&wait, "job waits", lasts.String()+" of them")
	}
	p.Line("it runs")
	want := fmt.Sprintf("\rjob waits since %[1]s (5s): 5s of them\rjob waits since %[1]s (1m5s): 1m5s of them\nit runs\n", began)
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
