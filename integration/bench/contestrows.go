package main

import (
	"fmt"
	"strings"
	"time"
)

// The goals of sorts, joins and groups.
const (
	contestGoal  = 3   // times the bytes for a second of processor time of Flink's best
	smallestGoal = 0.3 // times Flink's smallest worker
	growthGoal   = 1.1 // times the processor time for a byte of the smallest input
)

func contestHead() []string {
	return []string{
		"job", "to reach", "reached", "time of the job", "speed", "processor time", "bytes for a second of processor time", "peak memory, PSS",
		"written to disks", "smallest worker",
	}
}

// rows writes a row for each contestant. base is a run of the same job with a smaller input; nil: there is none.
func (c *contest) rows(t *table, base *contest) {
	for i, by := range c.contestants {
		if len(by.runs) == 0 {
			continue
		}
		cells := []string{
			c.label + ": " + by.name, "", "",
			spreadOver(by.runs, took, seconds),
			spreadOver(by.runs, c.speed, perSecond),
			spreadOver(by.runs, func(h heavy) time.Duration { return h.cpu }, seconds),
			spreadOver(by.runs, c.efficiency, perCPUSecond),
			spreadOver(by.runs, func(h heavy) int64 { return h.peak.PSS }, megabytes),
			spreadOver(by.runs, func(h heavy) int64 { return h.written }, megabytes),
			workerSize(by.smallest),
		}
		if i > 0 {
			t.row(cells...)
			continue
		}
		goals := c.goals(base)
		t.reach(goals.met(), goals.join(goal.wanted), goals.join(goal.got), cells)
	}
}

// goal is a figure of Bobbin as a ratio.
type goal struct {
	limit, ratio float64
	most         bool // the limit is an upper one
	of           string
}

func (g goal) met() bool {
	if g.most {
		return g.ratio <= g.limit
	}
	return g.ratio >= g.limit
}

func (g goal) wanted() string { return fmt.Sprintf("%v × %s", g.limit, g.of) }

func (g goal) got() string { return ratioOf(g.ratio) }

type goals []goal

func (gs goals) met() bool {
	for _, g := range gs {
		if !g.met() {
			return false
		}
	}
	return true
}

func (gs goals) join(text func(goal) string) string {
	var all []string
	for _, g := range gs {
		all = append(all, text(g))
	}
	return strings.Join(all, ", ")
}

// goals are those for which there are figures.
func (c *contest) goals(base *contest) (all goals) {
	if best := c.flinksBest(); best > 0 {
		all = append(all, goal{limit: contestGoal, ratio: c.ours() / best, of: "Flink's best"})
	}
	if size := c.flinksSmallest(); size > 0 {
		all = append(all, goal{limit: smallestGoal, ratio: float64(c.contestants[0].smallest) / float64(size), most: true, of: "Flink's worker"})
	}
	if base != nil {
		all = append(all, goal{limit: growthGoal, ratio: base.ours() / c.ours(), most: true, of: "the processor time for a byte of " + base.label})
	}
	return all
}
