package run

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// mostCounters is how many counters of a job people are shown.
const mostCounters = 20

// sayEnded tells people how a job ended; of one that is FINISHED the counters too, by their
// names, unless they are printed as JSON.
func (r *runner) sayEnded(name string, ended msg.JobEnded) {
	r.Line("job %s is %s after %s", name, ended.Status, ended.Duration.Round(time.Millisecond))
	if ended.Status != msg.JobFinished || r.scripts {
		return
	}
	counters := slices.Sorted(maps.Keys(ended.Counters))
	for _, counter := range counters[:min(len(counters), mostCounters)] {
		r.Line("  %s: %d", counter, ended.Counters[counter])
	}
	if more := len(counters) - mostCounters; more > 0 {
		r.Line("  and %d more: -o json has all", more)
	}
}
