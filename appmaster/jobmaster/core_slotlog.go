package jobmaster

import "time"

// slotLogInterval is how often a job describes its slots for the log, as Flink's DeclarativeSlotPoolBridge
// does.
const slotLogInterval = time.Minute

// logSlots describes the slots of the job when it is time.
func (c *core) logSlots() {
	if !c.config.LogSlots || !c.active() || c.now.Before(c.nextSlotLog) {
		return
	}
	c.nextSlotLog = c.now.Add(slotLogInterval)
	_, starved := c.pool.StarvedSince()
	total := c.pool.Total()
	c.emit(slotsDescribed{
		Free: c.pool.Free(), Allocated: total.Held - c.pool.Free(), Required: total.Required, Least: total.Least,
		Waiting: c.pool.Waiting(), Failing: len(c.failing), Starved: starved,
	})
}
