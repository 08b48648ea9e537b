package jobmaster

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// counters adds up what tasks have counted. It holds sums, not the report of each task: for each counter of a vertex one sum
// for what never counts again, one for regions that have finished, and one for each region that may still restart and
// count again.
type counters struct {
	most    int                     // bytes that all counters may take
	bytes   int                     // bytes that all counters take
	names   map[string]*counterName // each name once, shared by all sums
	kept    map[counter]int64
	settled map[counter]int64
	regions map[int]map[counter]int64
}

// counter is a counter of a vertex. It is as small as a text, because each sum has one.
type counter struct {
	vertex int32
	name   *counterName
}

// counterName is a name and the number of sums that use it.
type counterName struct {
	text    string
	sums    int32
	lasting int32 // of these, in kept and settled
}

// newCounters makes the counters of a job with this number of tasks.
func newCounters(tasks int) counters {
	return counters{
		most:  msg.JobCounterRoom(tasks),
		names: make(map[string]*counterName), kept: make(map[counter]int64), settled: make(map[counter]int64),
		regions: make(map[int]map[counter]int64),
	}
}

// fit tells whether the counters of a task of a vertex fit beside those that the job has.
func (c *counters) fit(region, vertex int, reported map[string]int64) error {
	bytes := c.bytes
	for name := range reported {
		known := c.names[name]
		if known == nil {
			bytes += msg.CounterBytes + len(name)
		}
		if _, has := c.regions[region][counter{int32(vertex), known}]; !has { // no sum has a nil name
			bytes += msg.RegionCounterBytes
		}
	}
	if bytes > c.most {
		return fmt.Errorf("task reports %d counters, and with them the counters of the job need more than %d KiB (a counter needs room again in each region that has not finished, and in each vertex); %s",
			len(reported), c.most>>10, msg.FewerCounters)
	}
	return nil
}

// add adds the counters of a finished task of a vertex. The caller has checked with fit.
func (c *counters) add(region, vertex int, reported map[string]int64) {
	if len(reported) == 0 {
		return
	}
	sum := c.regions[region]
	if sum == nil {
		sum = make(map[counter]int64, len(reported))
		c.regions[region] = sum
	}
	//bobbin:anyorder each name has its own sum, and the bytes are added up
	for name, n := range reported {
		key := counter{int32(vertex), c.names[name]}
		if key.name == nil {
			key.name = &counterName{text: name}
			c.names[name] = key.name
			c.bytes += msg.CounterBytes + len(name)
		}
		if _, has := sum[key]; !has {
			key.name.sums++
			c.bytes += msg.RegionCounterBytes
		}
		sum[key] += n
	}
}

// left is how many bytes of their room the counters leave.
func (c *counters) left() int { return c.most - c.bytes }

// settle says that a region has finished, and never restarts alone.
func (c *counters) settle(region int) { c.move(region, c.settled) }

// keep says that the tasks which have finished in a region never run again.
func (c *counters) keep(region int) { c.move(region, c.kept) }

// move moves the counters of a region into another sum.
func (c *counters) move(region int, to map[counter]int64) {
	//bobbin:anyorder each counter has its own sum, and the bytes are added up
	for key, n := range c.regions[region] {
		if _, has := to[key]; !has {
			key.name.sums++
			c.lasts(key.name, +1)
		}
		to[key] += n
	}
	c.restart(region)
}

// lasts changes the number of sums in kept and settled that use a name. The memory of the first one is part of the name's:
// see msg.CounterBytes.
func (c *counters) lasts(name *counterName, n int32) {
	before := max(name.lasting-1, 0)
	name.lasting += n
	c.bytes += msg.RegionCounterBytes * int(max(name.lasting-1, 0)-before)
}

// restart drops the counters of a region.
func (c *counters) restart(region int) {
	c.bytes -= msg.RegionCounterBytes * len(c.regions[region])
	c.drop(c.regions[region])
	delete(c.regions, region)
}

// drop gives up the names of a sum, unless another sum uses them.
func (c *counters) drop(sum map[counter]int64) {
	//bobbin:anyorder each name is given up by itself, and the bytes are added up
	for key := range sum {
		if key.name.sums--; key.name.sums == 0 {
			delete(c.names, key.name.text)
			c.bytes -= msg.CounterBytes + len(key.name.text)
		}
	}
}

// reset drops the counters of all regions that restart together, also of those that have finished.
func (c *counters) reset() {
	//bobbin:anyorder each region is dropped by itself
	for region := range c.regions {
		c.restart(region)
	}
	//bobbin:anyorder the bytes are added up
	for key := range c.settled {
		c.lasts(key.name, -1)
	}
	c.drop(c.settled)
	clear(c.settled)
}

// sums gives the counters of each vertex that has any.
func (c *counters) sums() map[int]map[string]int64 {
	all := make(map[int]map[string]int64)
	addByVertex(all, c.kept)
	addByVertex(all, c.settled)
	//bobbin:anyorder each counter has its own sum
	for _, region := range c.regions {
		addByVertex(all, region)
	}
	return all
}

// sumsOf gives the counters of one vertex; nil if it has none.
func (c *counters) sumsOf(vertex int) (sum map[string]int64) {
	add := func(all map[counter]int64) {
		//bobbin:anyorder each counter has its own sum
		for key, n := range all {
			if int(key.vertex) != vertex {
				continue
			}
			if sum == nil {
				sum = make(map[string]int64)
			}
			sum[key.name.text] += n
		}
	}
	add(c.kept)
	add(c.settled)
	//bobbin:anyorder each counter has its own sum
	for _, region := range c.regions {
		add(region)
	}
	return sum
}

// of gives the counters of a region, and of others together with it, by vertex.
func (c *counters) of(region int, others ...int) map[int]map[string]int64 {
	all := make(map[int]map[string]int64)
	addByVertex(all, c.regions[region])
	for _, other := range others {
		addByVertex(all, c.regions[other])
	}
	return all
}

func addByVertex(all map[int]map[string]int64, sum map[counter]int64) {
	//bobbin:anyorder each counter has its own sum
	for key, n := range sum {
		counted := all[int(key.vertex)]
		if counted == nil {
			counted = make(map[string]int64)
			all[int(key.vertex)] = counted
		}
		counted[key.name.text] += n
	}
}
