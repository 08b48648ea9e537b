package jobmaster

import (
	"fmt"
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// counters adds up what tasks have counted. It holds sums, not the report of each task: one sum for what never
// counts again, one for regions that have finished, and one for each region that may still restart and count again.
type counters struct {
	most    int                     // bytes that all counters may take
	bytes   int                     // bytes that all counters take
	names   map[string]*counterName // each name once, shared by all sums
	kept    map[string]int64
	settled map[string]int64
	regions map[int]map[string]int64
}

// counterName is a name and the number of sums that use it.
type counterName struct {
	text string
	sums int
}

// newCounters makes the counters of a job with this number of tasks.
func newCounters(tasks int) counters {
	return counters{
		most:  msg.JobCounterRoom(tasks),
		names: make(map[string]*counterName), kept: make(map[string]int64), settled: make(map[string]int64),
		regions: make(map[int]map[string]int64),
	}
}

// fit tells whether a task's counters fit beside those that the job has.
func (c *counters) fit(region int, reported map[string]int64) error {
	bytes := c.bytes
	for name := range reported {
		if c.names[name] == nil {
			bytes += msg.CounterBytes + len(name)
		}
		if _, has := c.regions[region][name]; !has {
			bytes += msg.RegionCounterBytes
		}
	}
	if bytes > c.most {
		return fmt.Errorf("task reports %d counters, and with them the counters of the job need more than %d KiB (a counter needs room again in each region that has not finished); %s",
			len(reported), c.most>>10, msg.FewerCounters)
	}
	return nil
}

// add adds the counters of a finished task. The caller has checked with fit.
func (c *counters) add(region int, reported map[string]int64) {
	if len(reported) == 0 {
		return
	}
	sum := c.regions[region]
	if sum == nil {
		sum = make(map[string]int64, len(reported))
		c.regions[region] = sum
	}
	//bobbin:anyorder each name has its own sum, and the bytes are added up
	for name, n := range reported {
		if _, has := sum[name]; !has {
			name = c.use(name)
			c.bytes += msg.RegionCounterBytes
		}
		sum[name] += n
	}
}

// use counts one more sum for a name, and gives the shared copy of the name.
func (c *counters) use(name string) string {
	known := c.names[name]
	if known == nil {
		known = &counterName{text: name}
		c.names[name] = known
		c.bytes += msg.CounterBytes + len(name)
	}
	known.sums++
	return known.text
}

// settle says that a region has finished, and never restarts alone.
func (c *counters) settle(region int) { c.move(region, c.settled) }

// keep says that the tasks which have finished in a region never run again.
func (c *counters) keep(region int) { c.move(region, c.kept) }

// move moves the counters of a region into another sum.
func (c *counters) move(region int, to map[string]int64) {
	//bobbin:anyorder each name has its own sum
	for name, n := range c.regions[region] {
		if _, has := to[name]; !has {
			name = c.use(name)
		}
		to[name] += n
	}
	c.restart(region)
}

// restart drops the counters of a region.
func (c *counters) restart(region int) {
	c.bytes -= msg.RegionCounterBytes * len(c.regions[region])
	c.drop(c.regions[region])
	delete(c.regions, region)
}

// drop gives up the names of a sum, unless another sum uses them.
func (c *counters) drop(sum map[string]int64) {
	//bobbin:anyorder each name is given up by itself, and the bytes are added up
	for name := range sum {
		if known := c.names[name]; known.sums > 1 {
			known.sums--
		} else {
			delete(c.names, name)
			c.bytes -= msg.CounterBytes + len(name)
		}
	}
}

// reset drops the counters of all regions that restart together, also of those that have finished.
func (c *counters) reset() {
	//bobbin:anyorder each region is dropped by itself
	for region := range c.regions {
		c.restart(region)
	}
	c.drop(c.settled)
	clear(c.settled)
}

// sum gives the counters of the whole job.
func (c *counters) sum() map[string]int64 {
	sum := maps.Clone(c.settled)
	for name, n := range c.kept {
		sum[name] += n
	}
	for _, region := range c.regions {
		for name, n := range region {
			sum[name] += n
		}
	}
	return sum
}
