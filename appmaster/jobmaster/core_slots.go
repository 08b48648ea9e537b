package jobmaster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// A job is starved while it has too few slots for any of its unfinished regions. It does not wait for
// ever: the ResourceManager may say that no more slots come, or slot.request.timeout passes. A region
// that does not fit while others run is not starved. It gets their slots afterwards, as Flink's batch
// requests do.

// lacks tells whether no unfinished region that needs slots of a kind can run: the job has too few of these
// slots for each of them, or it is starved. A job that is about to run in waves needs fewer slots soon.
func (c *core) lacks(kind int) bool {
	if c.dividing != "" {
		return false
	}
	d := c.pool.Demand(kind)
	_, starved := c.pool.StarvedSince()
	return d.Held < d.Least || starved && d.Least > 0
}

// lacksAny tells whether the job lacks slots of any kind.
func (c *core) lacksAny() bool {
	for k := range c.pool.Kinds() {
		if c.lacks(k) {
			return true
		}
	}
	return false
}

// notEnough handles the message that the job cannot have all slots of a profile that it declared.
// While some region that needs such slots can run, the job continues: the other regions get their
// slots afterwards. If no such region can run, the job cannot finish. The restart strategy decides
// whether the job tries the nodes that it has set aside. If none is set aside, the job runs in waves or fails at once.
func (c *core) notEnough(m msg.NotEnoughResources) {
	kind := slices.Index(c.layout.profiles, m.Profile)
	switch {
	case m.Answers != 0 && m.Answers < c.declarations:
		// The message crossed a declaration. The ResourceManager repeats it if it still holds.
	case kind < 0:
		c.emit(dropped{Message: m, Why: "the job needs no slots of this profile"})
	case !c.lacks(kind) && c.pool.Demand(kind).Held >= c.least(kind):
		c.short[kind] = true
	case m.NodesBlocked != c.blocksNodes():
		// The message crossed the start or the end of a block. The ResourceManager repeats it if it still holds.
	case m.NodesBlocked:
		c.noOtherNode("no other node gives slots: " + m.Reason)
	case c.divideStarved(m.Reason), !c.lacks(kind):
		c.short[kind] = true
	default:
		slots := fmt.Sprintf("%d slots", c.pool.Demand(kind).Required)
		if !m.Profile.IsDefault() {
			slots += fmt.Sprintf(" of slot sharing group %s, each with %s", c.layout.groupsOf(m.Profile), m.Profile)
		}
		c.failJob(fmt.Sprintf("not enough resources for %s: %s%s", slots, m.Reason, c.adviseWaves()))
	}
}

// slotDeadline is when the regions that wait for slots time out, unless a slot comes; false while
// some region can run in the slots that the job has, or while none waits. The whole time starts again
// when blocks are lifted, and when regions wait again after all have stopped waiting.
func (c *core) slotDeadline() (*patience.Deadline, bool) {
	since, starved := c.pool.StarvedSince()
	if !starved || !c.active() || c.pool.Waiting() == 0 {
		return nil, false
	}
	for _, lifted := range []time.Time{c.blocklist.Lifted(), c.speculation.slow.Lifted()} {
		if lifted.After(since) {
			since = lifted
		}
	}
	if c.waitsSince.After(since) {
		since = c.waitsSince
	}
	return c.slots.From(since, c.config.SlotRequestTimeout), true
}

// heldByGroup lists the slots of each kind that the job has and needs, for users; "" if there is one kind.
func (c *core) heldByGroup() string {
	if c.pool.Kinds() == 1 {
		return ""
	}
	var kinds []string
	for k, profile := range c.layout.profiles {
		d := c.pool.Demand(k)
		kinds = append(kinds, fmt.Sprintf("%d of %d of slot sharing group %s", d.Held, d.Required, c.layout.groupsOf(profile)))
	}
	return " (" + strings.Join(kinds, ", ") + ")"
}

// servedBeside says, for users, how many workers without slots for the waiting regions serve partitions. They take room until the
// partitions are read, which may be why the others get none. "" if there is none.
func (c *core) servedBeside() string {
	servers, n := c.graph.Servers(), 0
	for _, w := range c.workers {
		if servers[w.resource] && !c.lacks(w.kind) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d workers with slots of other sizes stay, because they serve partitions that the job still reads: "+
		"give its slot sharing groups the same resources, or raise slotmanager.number-of-slots.max and slotmanager.max-total-resource.*", n)
}

// slotsTimedOut fails the regions that wait for slots. The restart strategy decides once for all of
// them. If nodes are set aside, the job tries these first, and then to run in waves.
func (c *core) slotsTimedOut() {
	if c.blocksNodes() {
		c.noOtherNode(fmt.Sprintf("no other node gave slots within %s (slot.request.timeout)", c.config.SlotRequestTimeout))
		return
	}
	total := c.pool.Total()
	if total.Held > 0 && c.divideStarved("") {
		return
	}
	text := fmt.Sprintf(
		"the job has %d of %d slots%s, needs at least %d, and got no other within %s (slot.request.timeout): the cluster has no room for the rest, or workers fail (see jobmanager.log); lower the parallelism, free resources, or raise slot.request.timeout to wait longer%s",
		total.Held, total.Required, c.heldByGroup(), total.Least, c.config.SlotRequestTimeout, c.servedBeside()+c.adviseWaves())
	cause := failover.Cause{Kind: failover.SlotsTimedOut, Time: c.now, Failure: *msg.NewFailure(text, "")}
	decision := c.restarts.Decide(c.now, cause, failover.WholeJob)
	c.emit(slotsTimedOut{Root: cause.Entry(), Regions: c.pool.Waiting(), Restart: decision.Restart, Delay: decision.Delay})
	if !decision.Restart {
		c.failAfter(cause, decision)
		return
	}
	c.remember(cause.Entry())
	if c.pool.Kinds() > 1 || c.takenOver() {
		c.giveWay("no part of the job can run with its slots (slot.request.timeout)")
	}
	waiting := c.pool.StopWaiting()
	for _, r := range waiting {
		for e := range c.tasks(r) {
			c.mustTransition(e, msg.ExecutionFailed)
			c.noteFailed(e, cause)
		}
	}
	if c.restartsAll() {
		waiting = waiting[:1] // it stands for all
		c.cancelTasks(c.graph.All())
	}
	for _, r := range waiting {
		c.beginFailover(r)
		c.delay(r, decision.Delay)
	}
}

// yieldAfter is how long a job that was taken over keeps slots with which no part of it can run. YARN usually needs less
// time for new workers.
const yieldAfter = 30 * time.Second

// yieldTime is when a job that was taken over gives way, once. An earlier master has granted its slots, for what was left of
// the job then. Now finished tasks run again, so several jobs may have a part of their slots each, and wait for the rest.
func (c *core) yieldTime() (*patience.Deadline, bool) {
	since, starved := c.pool.StarvedSince()
	yields := c.takenOver() && !c.yielded && starved && c.active() && c.pool.Waiting() > 0 && c.pool.Total().Held > 0
	return c.yields.From(since, yieldAfter), yields
}

// giveWay frees the idle slots of a starved job that needs slots of several kinds, or was taken over. Other jobs may hold a
// part of their slots, too, and each job would keep from the others what they lack. The ResourceManager gives the slots to the
// job that came first, which may be this one. So the jobs do not pass the same slots to each other for ever.
func (c *core) giveWay(cause string) {
	c.freeSlots(c.pool.GiveUpFree(c.now), cause)
}
