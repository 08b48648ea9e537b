package sim

import (
	"context"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
)

// demand is what the ResourceManager of a master orders from its provider of workers. It counts
// orders and starts, and passes all calls on.
type demand struct {
	resourcemanager.WorkerProvider
	totals map[resourcemanager.WorkerResourceSpec]int // of workers to start in all
	starts int                                        // so far
	runs   bool                                       // the provider: it waits for the first tokens
}

func newDemand(p resourcemanager.WorkerProvider) *demand {
	return &demand{WorkerProvider: p, totals: make(map[resourcemanager.WorkerResourceSpec]int)}
}

// Order implements resourcemanager.WorkerProvider.
func (d *demand) Order(ctx context.Context, o resourcemanager.Orders) {
	for _, w := range o.Workers {
		d.totals[w.Spec] = w.Total
	}
	d.WorkerProvider.Order(ctx, o)
}

// Run implements resourcemanager.WorkerProvider.
func (d *demand) Run(ctx context.Context, report resourcemanager.Report) error {
	d.runs = true
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
