// Package ordered has a core with loops over maps. Some depend on the order of the map, others do not.
package ordered

import "time"

type worker struct {
	slots, used int
	told        bool
	name        string
	deadline    time.Time
	peer        *worker
}

type core struct {
	workers map[string]*worker
	gone    map[string]bool
	sizes   map[string]int
	total   int
	names   []string
}

// Step calls the functions in the other files.
func (c *core) Step(now time.Time, event string) []string {
	c.counted()
	c.copied(map[string]int{})
	c.forgotten(now)
	c.excused(now)
	c.collected()
	c.listed()
	c.largest()
	c.found()
	c.last()
	c.first()
	c.unsorted()
	c.names = unsortedOf(c.gone)
	c.stable()
	c.usedBeforeSorted()
	c.sortedInTheLoop()
	c.joined()
	c.mixed()
	c.chained()
	c.bounded()
	c.changing()
	c.keptKey()
	c.grown()
	c.dropped()
	c.inAnyOrder()
	c.marked()
	return c.names
}
