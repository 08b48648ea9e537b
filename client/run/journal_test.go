package run

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestCountersAreToldWithTheEndOfTheirJob would catch counters in another order at each run, too many of them,
// counters of an unfinished job, and counters that are printed twice.
func TestCountersAreToldWithTheEndOfTheirJob(t *testing.T) {
	two := map[string]int64{"words": 123, "distinct": -4}
	full := make(map[string]int64)
	var lines strings.Builder
	for i := range mostCounters {
		full[fmt.Sprintf("c%02d", i)] = int64(i)
		fmt.Fprintf(&lines, "  c%02d: %d\n", i, i)
	}
	over := maps.Clone(full)
	over["d1"], over["d2"] = 1, 2
	for name, c := range map[string]struct {
		status   msg.JobStatus
		counters map[string]int64
		asJSON   bool
		want     string
	}{
		"none":                        {msg.JobFinished, nil, false, ""},
		"two":                         {msg.JobFinished, two, false, "  distinct: -4\n  words: 123\n"},
		"as many as are shown":        {msg.JobFinished, full, false, lines.String()},
		"more than these":             {msg.JobFinished, over, false, lines.String() + "  and 2 more: -o json has all\n"},
		"for scripts":                 {msg.JobFinished, two, true, ""},
		"of a job that was cancelled": {msg.JobCanceled, two, false, ""},
		"of a job that has failed":    {msg.JobFailed, two, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			NewJournal(&out, time.Now(), c.asJSON).ended("wordcount", msg.JobEnded{Status: c.status, Duration: 1234567 * time.Microsecond, Counters: c.counters})
			if diff := cmp.Diff(fmt.Sprintf("job wordcount is %s after 1.235s\n%s", c.status, c.want), out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}
