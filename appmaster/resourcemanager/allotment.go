package resourcemanager

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Jobs that need slots of several sizes could block each other: each would hold slots of one size, and the
// ceiling or YARN's queue would leave no room for the other size. An allotment prevents this. It divides the
// ceiling job by job, in the order in which the jobs came, and says which jobs may have new workers.

// claim is what one job needs and has.
type claim struct {
	job   ids.JobID
	needs []need // of each kind
	// granted says that the job, which cannot run all of its parts, may have the slots for that.
	granted bool
	hold    []int // slots of each kind that the job may have now
}

// need is the slots of one kind that a job needs and has.
type need struct {
	declared int // by all parts of the job together
	part     int // by the largest part, which all other parts can follow in the same slots
	later    int // by a part that waits for its inputs
	held     int
	reserved int // further ones, in the job's part of the ceiling
}

// parts is how many further slots the job needs of each kind to run n parts of the largest size.
func (c *claim) parts(n int) []int {
	slots := make([]int, len(c.needs))
	for k, need := range c.needs {
		slots[k] = max(min(need.declared, n*need.part)-need.held, 0)
	}
	return slots
}

// partsBeside is parts, with as many slots of each kind at least, those that the job has included.
func (c *claim) partsBeside(n int, kept []int) []int {
	slots := c.parts(n)
	for k, need := range c.needs {
		slots[k] = max(slots[k], kept[k]-need.held)
	}
	return slots
}

// incomplete tells whether the job has too few slots for its largest part.
func (c *claim) incomplete() bool {
	return slices.ContainsFunc(c.needs, func(n need) bool { return n.held < min(n.part, n.declared) })
}

// holds tells whether the job has slots.
func (c *claim) holds() bool {
	return slices.ContainsFunc(c.needs, func(n need) bool { return n.held > 0 })
}

// most is the number of parts with which the job has all slots.
func (c *claim) most() (parts int) {
	for _, n := range c.needs {
		if n.part > 0 {
			parts = max(parts, (n.declared+n.part-1)/n.part)
		}
	}
	return parts
}

// allotment is the ceiling and the kinds of workers under it.
type allotment struct {
	ceiling config.WorkerTotals
	one     []config.WorkerTotals // a worker of each kind
	stock   []slotmanager.Stock
	given   []int // slots of each kind that jobs hold, or that are reserved for them
	taken   []int // also those that are kept free for a job
}

// workers is how many workers of a kind give so many slots. Those that jobs use stay in any case.
func (a *allotment) workers(k, slots int) int {
	return max(a.stock[k].Used, (slots+a.one[k].Slots-1)/a.one[k].Slots)
}

// fits tells whether there is room for further slots of each kind.
func (a *allotment) fits(further []int) bool {
	var sum config.WorkerTotals
	for k, one := range a.one {
		sum = sum.Plus(a.workers(k, a.taken[k]+further[k]), one)
	}
	_, exceeded := a.ceiling.Exceeded(sum)
	return !exceeded
}

// divide reserves slots for the jobs, in their order, but first for those that hold slots and cannot run: others may
// wait for these slots. A job gets none if its largest part does not fit. For the first such job they are kept free all the
// same, so that no later job takes them.
func (a *allotment) divide(claims []claim) {
	for i := range claims {
		if c := &claims[i]; c.incomplete() && c.holds() && a.fits(c.parts(1)) {
			c.granted = true
			a.reserve(c, c.parts(1))
		}
	}
	first := true
	for i := range claims {
		c := &claims[i]
		least := 0 // parts
		if c.incomplete() {
			c.granted = c.granted || a.fits(c.parts(1))
			if !c.granted && first {
				for k, slots := range c.parts(1) {
					a.taken[k] += slots
				}
			}
			first = false
			if !c.granted {
				continue
			}
			least = 1
		}
		a.reserve(c, make([]int, len(c.needs)))
		kept := a.keep(c, least)
		n := sort.Search(c.most(), func(n int) bool { return !a.fits(c.partsBeside(n+1, kept)) })
		a.reserve(c, c.partsBeside(max(n, least), kept))
		for k := range c.needs {
			a.fill(c, k)
		}
	}
}

// keep chooses how many slots of each kind a job must have for the parts that wait for their inputs. There is no room for them
// later: the workers of the parts before serve these inputs. A kind that does not fit beside n parts gets none.
func (a *allotment) keep(c *claim, n int) []int {
	kept := make([]int, len(c.needs))
	for k, need := range c.needs {
		kept[k] = min(need.later, need.declared)
		if !a.fits(c.partsBeside(n, kept)) {
			kept[k] = 0
		}
	}
	return kept
}

// reserve reserves these slots for a job, in place of others.
func (a *allotment) reserve(c *claim, slots []int) {
	for k, n := range slots {
		more := n - c.needs[k].reserved
		c.needs[k].reserved += more
		a.taken[k] += more
		a.given[k] += more
	}
}

// fill reserves the slots of one kind that a job lacks, as far as they fit.
func (a *allotment) fill(c *claim, k int) {
	n := &c.needs[k]
	further := make([]int, len(a.one))
	fit := sort.Search(max(n.declared-n.held-n.reserved, 0), func(slots int) bool {
		further[k] = slots + 1
		return !a.fits(further)
	})
	n.reserved += fit
	a.taken[k] += fit
	a.given[k] += fit
}

// room is how many workers of a kind fit beside these numbers of the others.
func (a *allotment) room(k int, beside []int) int {
	left := a.ceiling
	for other, n := range beside {
		if other != k {
			left = left.Plus(-n, a.one[other])
		}
	}
	return max(left.Most(a.one[k]).Workers, 0)
}

// limits gives the workers of each kind that jobs need or use, and those that are there already, as far as they
// fit.
func (a *allotment) limits() []int {
	limits := make([]int, len(a.one))
	for k := range limits {
		limits[k] = a.stock[k].Used
	}
	for _, want := range []func(k int) int{
		func(k int) int { return a.workers(k, a.given[k]) },
		func(k int) int { return a.stock[k].Workers },
	} {
		for k := range limits {
			limits[k] = max(limits[k], min(want(k), a.room(k, limits)))
		}
	}
	return limits
}

// tooLarge says that no part of a job fits under the ceiling, even if the job is alone; otherwise it is "".
func (a *allotment) tooLarge(c *claim, kinds []*kind) string {
	var sum config.WorkerTotals
	var slots []string
	for k, n := range c.needs {
		part := min(n.part, n.declared)
		if part > 0 {
			slots = append(slots, fmt.Sprintf("%d slots with %s", part, kinds[k].spec.Profile))
		}
		sum = sum.Plus((part+a.one[k].Slots-1)/a.one[k].Slots, a.one[k])
	}
	by, exceeded := a.ceiling.Exceeded(sum)
	if !exceeded {
		return ""
	}
	return fmt.Sprintf("it needs at least %s at a time, in TaskExecutors that have %v together, and the limit is %v; raise that option or lower the parallelism",
		strings.Join(slots, " and "), sum, by)
}
