package jobmaster

import (
	"fmt"
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// counterBytes estimates what a counter takes beside its name.
const counterBytes = 64

// counters adds up what tasks have counted. It holds sums, not what each task said: one for
// the job, and one for each region that may still restart, and counts anew then.
type counters struct {
	names   map[string]string // each name once, whoever reports it
	bytes   int               // of names, as counted against msg.MaxJobCounters
	settled map[string]int64
	regions map[int]map[string]int64
}

func newCounters() counters {
	return counters{names: make(map[string]string), settled: make(map[string]int64), regions: make(map[int]map[string]int64)}
}

// fit tells whether a job may have a task's counters, beside those that it has.
func (c *counters) fit(reported map[string]int64) error {
	bytes := c.bytes
	for name := range reported {
		if _, known := c.names[name]; !known {
			bytes += counterBytes + len(name)
		}
	}
	if bytes > msg.MaxJobCounters {
		return fmt.Errorf("task reports %d counters, with which its job has more than %d KiB of them: use fewer and shorter names", len(reported), msg.MaxJobCounters>>10)
	}
	return nil
}

// add takes in the counters of a task that has finished, which fit.
func (c *counters) add(region int, reported map[string]int64) {
	if len(reported) == 0 {
		return
	}
	sum := c.regions[region]
	if sum == nil {
		sum = make(map[string]int64, len(reported))
		c.regions[region] = sum
	}
	for name, n := range reported {
		kept, known := c.names[name]
		if !known {
			kept = name
			c.names[name] = name
			c.bytes += counterBytes + len(name)
		}
		sum[kept] += n
	}
}

// settle takes in that a region has finished, and restarts no more.
func (c *counters) settle(region int) {
	for name, n := range c.regions[region] {
		c.settled[name] += n
	}
	delete(c.regions, region)
}

// restart forgets what a region has counted.
func (c *counters) restart(region int) { delete(c.regions, region) }

// sum is what the whole job has counted.
func (c *counters) sum() map[string]int64 {
	sum := maps.Clone(c.settled)
	for _, region := range c.regions {
		for name, n := range region {
			sum[name] += n
		}
	}
	return sum
}
