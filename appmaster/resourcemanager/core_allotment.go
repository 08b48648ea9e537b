package resourcemanager

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// turnTime is how long a job waits for new workers, without any, until another job that waits may have
// some. It is longer than YARN needs if it has room.
const turnTime = 10 * time.Second

// turn says which of the jobs that cannot run may have new workers. YARN serves one size of workers after the other,
// whatever job they are for. If workers for several jobs were ordered at a time, and YARN had no room for all,
// each of these jobs could get a part of its slots.
type turn struct {
	job   ids.JobID // "": no job waits
	until time.Time // then another job is next; zero: only one waits
}

// pass gives the turn to another of the jobs that wait, if it is time: not while workers are starting, which would be
// released. The jobs are in the order in which they came.
func (t *turn) pass(now time.Time, waiting []ids.JobID, starting bool) {
	at := slices.Index(waiting, t.job)
	switch {
	case len(waiting) == 0:
		*t = turn{}
	case len(waiting) == 1:
		*t = turn{job: waiting[0]}
	case at < 0:
		*t = turn{waiting[0], now.Add(turnTime)}
	case t.until.IsZero() || starting:
		t.until = now.Add(turnTime)
	case !now.Before(t.until):
		*t = turn{waiting[(at+1)%len(waiting)], now.Add(turnTime)}
	}
}

// due tells whether the time of the turn has passed.
func (t *turn) due(now time.Time) bool { return !t.until.IsZero() && !now.Before(t.until) }

// extend says that a worker has registered.
func (t *turn) extend(now time.Time) {
	if !t.until.IsZero() {
		t.until = now.Add(turnTime)
	}
}

// allot divides the ceiling and the new workers among the jobs, if there are workers of several kinds. It returns
// nil if nothing has changed, and if there is one kind: its SlotManager serves the jobs in their order.
func (c *core) allot(changed bool) *allotment {
	due := func(k *kind) bool { return k.due(c.now) }
	if len(c.kinds) == 1 || !changed && !c.turn.due(c.now) && !slices.ContainsFunc(c.kinds, due) {
		return nil
	}
	a := &allotment{ceiling: c.config.Ceiling}
	for _, k := range c.kinds {
		stock := k.slots.Stock(c.now)
		a.one, a.stock = append(a.one, k.spec.totals()), append(a.stock, stock)
		a.given, a.taken = append(a.given, stock.Held), append(a.taken, stock.Held)
	}
	claims := c.claims()
	a.divide(claims)
	for i := range claims {
		c.jobs[claims[i].job].tooLarge = a.tooLarge(&claims[i], c.kinds)
	}
	c.share(a, claims)
	return a
}

// claims lists what the jobs need and have, in the order in which they came.
func (c *core) claims() []claim {
	jobs := slices.SortedFunc(maps.Keys(c.jobs), func(x, y ids.JobID) int { return cmp.Compare(c.jobs[x].arrived, c.jobs[y].arrived) })
	claims, at := make([]claim, len(jobs)), make(map[ids.JobID]int, len(jobs))
	for i, job := range jobs {
		claims[i], at[job] = claim{job: job, needs: make([]need, len(c.kinds))}, i
	}
	for i, k := range c.kinds {
		for _, d := range k.slots.Demands() {
			claims[at[d.Job]].needs[i] = need{declared: d.Declared, held: d.Held, part: c.jobs[d.Job].parts[k], later: c.jobs[d.Job].later[k]}
		}
	}
	return claims
}

// share tells the SlotManagers what each job may have and order: everything, unless slots of several kinds are
// missing.
func (c *core) share(a *allotment, claims []claim) {
	missing := make([]bool, len(c.kinds))
	for i := range claims {
		for k, n := range claims[i].needs {
			missing[k] = missing[k] || n.declared > n.held
		}
	}
	kinds := 0
	for _, is := range missing {
		if is {
			kinds++
		}
	}
	if kinds < 2 {
		c.turn = turn{}
		for i := range claims {
			c.jobs[claims[i].job].waitsTurn = false
			for _, k := range c.kinds {
				k.slots.SetShare(claims[i].job, slotmanager.Everything)
			}
		}
		return
	}
	waits := c.hold(a, claims)
	starting := slices.ContainsFunc(c.kinds, func(k *kind) bool { return k.slots.Expected() > 0 && !k.failing(c.now) })
	c.turn.pass(c.now, waits, starting)
	for i := range claims {
		cl := &claims[i]
		part := cl.parts(1)
		c.jobs[cl.job].waitsTurn = cl.job != c.turn.job && slices.Contains(waits, cl.job)
		for k, n := range cl.needs {
			share := slotmanager.Share{Hold: cl.hold[k], Order: cl.hold[k]}
			if cl.incomplete() && slices.Contains(waits, cl.job) {
				share.Order = n.held
				if cl.job == c.turn.job {
					share.Order += part[k]
				}
			}
			c.kinds[k].slots.SetShare(cl.job, share)
		}
	}
}

// hold decides which slots each job may have now, and lists the jobs that wait for workers to run. The first of
// them, and those that hold slots already, get slots as they come. Another one gets a whole part at a time, so it never
// holds slots without running.
func (c *core) hold(a *allotment, claims []claim) (waits []ids.JobID) {
	free := make([]int, len(c.kinds))
	for k := range free {
		free[k] = a.stock[k].Free
	}
	first := true
	for i := range claims {
		cl := &claims[i]
		part, incomplete := cl.parts(1), cl.incomplete()
		whole := true
		for k := range part {
			whole = whole && part[k] <= free[k]
		}
		cl.hold = make([]int, len(part))
		for k, n := range cl.needs {
			further := 0
			switch {
			case !incomplete, first && cl.granted:
				further = n.reserved
			case cl.granted && (whole || cl.holds()):
				further = part[k]
				if c.blocked.Empty() { // the SlotManagers may serve this job before the earlier ones
					further = min(further, free[k])
				}
			}
			cl.hold[k] = n.held + further
			free[k] -= min(free[k], further)
		}
		if incomplete {
			first = false
			if cl.granted && !whole {
				waits = append(waits, cl.job)
			}
		}
	}
	return waits
}
