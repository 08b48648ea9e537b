package sim

import (
	"context"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// demand is what the ResourceManager of a master orders from its provider of workers on YARN. It counts
// orders and starts, and passes all calls on. Workers beside the master and those of earlier masters are only in living.
type demand struct {
	resourcemanager.WorkerProvider
	m      *master
	totals map[resourcemanager.WorkerResourceSpec]int            // of workers to start in all
	starts map[resourcemanager.WorkerResourceSpec]int            // so far
	living map[ids.ResourceID]resourcemanager.WorkerResourceSpec // workers that have started, and that the ResourceManager may count
	// released are the workers given back. The message that has registered one may be sent after that.
	released map[ids.ResourceID]bool
	runs     bool // the provider: it waits for the first tokens
	ends     bool // the application
}

func newDemand(p resourcemanager.WorkerProvider, m *master) *demand {
	return &demand{
		WorkerProvider: p, m: m,
		totals: make(map[resourcemanager.WorkerResourceSpec]int), starts: make(map[resourcemanager.WorkerResourceSpec]int),
		living:   make(map[ids.ResourceID]resourcemanager.WorkerResourceSpec),
		released: make(map[ids.ResourceID]bool),
	}
}

// Order implements resourcemanager.WorkerProvider.
func (d *demand) Order(ctx context.Context, o resourcemanager.Orders) {
	for _, w := range o.Workers {
		d.totals[w.Spec] = w.Total
	}
	for _, r := range o.Release {
		delete(d.living, r.Worker)
		d.released[r.Worker] = true
		if attempt := launch.AttemptOfContainer(r.Worker); attempt > 0 && attempt < int(d.m.attempt.Attempt) {
			d.m.w.facts[GivenBack]++
		}
	}
	d.m.w.watch.order(d.m, o)
	d.WorkerProvider.Order(ctx, o)
}

// adopt counts a worker that the ResourceManager has registered, if an earlier attempt has started it.
func (d *demand) adopt(k *worker) {
	if k.container.Attempt == d.m.attempt {
		return
	}
	if _, known := d.living[k.id]; !known {
		d.m.w.facts[Adopted]++
	}
	if !d.released[k.id] {
		d.living[k.id] = k.spec()
	}
}

// Deregister implements resourcemanager.WorkerProvider.
func (d *demand) Deregister(ctx context.Context, status msg.ApplicationStatus, diagnostics string) error {
	d.ends = true
	return d.WorkerProvider.Deregister(ctx, status, diagnostics)
}

// Run implements resourcemanager.WorkerProvider.
func (d *demand) Run(ctx context.Context, report resourcemanager.Report) error {
	d.runs = true
	return d.WorkerProvider.Run(ctx, func(ctx context.Context, events ...resourcemanager.WorkerEvent) error {
		for _, e := range events {
			switch e := e.(type) {
			case resourcemanager.WorkerStarting:
				d.starts[e.Spec]++
				d.living[e.Worker] = e.Spec
			case resourcemanager.WorkerFailed:
				delete(d.living, e.Worker)
			case resourcemanager.WorkerCompleted:
				delete(d.living, e.Worker)
			case resourcemanager.PreviousWorkers, resourcemanager.NodesChanged, resourcemanager.WorkersRefused, resourcemanager.RefusalEnded, resourcemanager.OrdersTaken, resourcemanager.RoomChanged, resourcemanager.WorkerLaunched:
			}
		}
		return report(ctx, events...)
	})
}

// missing is the number of workers that must still start.
func (d *demand) missing() (workers int) {
	for spec := range d.totals {
		workers += d.missingOf(spec)
	}
	return workers
}

func (d *demand) missingOf(spec resourcemanager.WorkerResourceSpec) int {
	return max(d.totals[spec]-d.starts[spec], 0)
}

// sum adds up the workers that live or must still start.
func (d *demand) sum() (sum config.WorkerTotals) {
	for spec := range d.totals {
		sum = sum.Plus(d.missingOf(spec), totalsOf(spec))
	}
	for _, spec := range d.living {
		sum = sum.Plus(1, totalsOf(spec))
	}
	return sum
}

// totalsOf is what a worker counts against the limits of all workers.
func totalsOf(spec resourcemanager.WorkerResourceSpec) config.WorkerTotals {
	return config.WorkerTotals{Slots: spec.Slots, Cores: float64(spec.VCores), Memory: config.Bytes(spec.MemoryMB) * config.Mebibyte}
}

// defaults counts the workers with default slots that live or must still start.
func (d *demand) defaults() (workers int) {
	for spec := range d.totals {
		if spec.Profile.IsDefault() {
			workers += d.missingOf(spec)
		}
	}
	for _, spec := range d.living {
		if spec.Profile.IsDefault() {
			workers++
		}
	}
	return workers
}
