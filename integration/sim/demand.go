package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
)

// demand is what the ResourceManager of a master orders from its provider of workers. It passes all calls on.
type demand struct {
	resourcemanager.WorkerProvider
	totals map[resourcemanager.WorkerResourceSpec]int // of workers to start in all
	starts int                                        // so far
}

func newDemand(p resourcemanager.WorkerProvider) *demand {
	return &demand{WorkerProvider: p, totals: make(map[resourcemanager.WorkerResourceSpec]int)}
}

// Order implements resourcemanager.WorkerProvider.
func (d *demand) Order(ctx context.Context, o resourcemanager.Orders) {
	d.totals[o.Spec] = o.Total
	d.WorkerProvider.Order(ctx, o)
}

// Run implements resourcemanager.WorkerProvider.
func (d *demand) Run(ctx context.Context, report resourcemanager.Report) error {
	return d.WorkerProvider.Run(ctx, func(ctx context.Context, events ...resourcemanager.WorkerEvent) error {
		for _, e := range events {
			if _, is := e.(resourcemanager.WorkerStarting); is {
				d.starts++
			}
		}
		return report(ctx, events...)
	})
}

// missing is the number of workers that must still start.
func (d *demand) missing() int {
	sum := -d.starts
	for _, total := range d.totals {
		sum += total
	}
	return max(sum, 0)
}

const (
	// settled is how long after the last fault YARN and masters have told each other what they missed.
	settled = time.Minute
	// untold is how long YARN may not know what a master wants.
	untold = 30 * time.Second
)

// yarnKnowsTheDemand compares the outstanding asks of each master with what its ResourceManager has ordered.
func yarnKnowsTheDemand(w *watch) {
	since := make(map[*master]time.Duration)
	w.turns = append(w.turns, func() error {
		for _, m := range w.w.runningMasters() {
			asked, knows := w.w.yarn.asked(m)
			if asked > 0 {
				w.w.facts.Waited += lookEvery
			}
			if w.w.since() < w.w.calm+settled {
				delete(since, m)
				continue
			}
			switch begin, differs := since[m]; {
			case !knows || m.demand == nil || m.process.Frozen() || asked == m.demand.missing():
				delete(since, m)
			case !differs:
				since[m] = w.w.since()
			case w.w.since()-begin > untold:
				return fmt.Errorf("%s asks YARN for %d containers, and wants %d", m.address(), asked, m.demand.missing())
			}
		}
		return nil
	})
}

// asked is the number of containers that YARN is to grant to a master, if it counts on the master.
func (y *yarn) asked(m *master) (count int, knows bool) {
	_, attempt := y.look(m)
	for _, ask := range attempt.Asks {
		count += ask.Count
	}
	return count, attempt.Live && attempt.Registered && !attempt.Finishing
}
