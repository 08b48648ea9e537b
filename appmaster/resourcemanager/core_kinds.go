package resourcemanager

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// maxKinds bounds the kinds of workers that a cluster has from its start to its end. Each costs a
// priority of YARN, and counts that must stay right although orders and reports cross.
const maxKinds = 256

// kind is the workers for the slots of one resource profile. A worker has slots of one profile only.
// The first kind is that of default slots.
type kind struct {
	spec    WorkerResourceSpec
	slot    memory.Slot // of each slot
	slots   *slotmanager.Manager
	ordered bool             // its order is in Orders.Workers from now on
	total   int              // the last WorkerOrder.Total
	starts  int              // WorkerStarting events so far
	missing int              // workers that may be ordered beside the expected and registered ones
	plan    slotmanager.Plan // the last one
	noted   bool             // a container has come since: see grants
	asked   time.Time        // since when workers are missing that may be ordered; zero: none is
	room    msg.Room         // for them, as the provider knows it

	failures failureRate // of its starts
	strayed  time.Time   // when the provider last started a worker that can serve no waiting job
	// told are the jobs whose JobMasters know that they cannot get enough slots of this kind.
	told map[ids.JobID]bool
}

// due tells whether the SlotManager of a kind has something to do.
func (k *kind) due(now time.Time) bool {
	at, timed := k.slots.Next()
	return k.slots.Dirty() || timed && !now.Before(at)
}

// addKind adds a kind of workers.
func (c *core) addKind(spec WorkerResourceSpec, slot memory.Slot) *kind {
	most := c.config.Ceiling.Most(spec.totals())
	k := &kind{spec: spec, slot: slot, failures: newFailureRate(c.config)}
	settings := slotmanager.Config{
		SlotsPerWorker: spec.Slots,
		Most:           most.Workers,
		MostBy:         fmt.Sprintf("%v (each TaskExecutor has %v)", most, spec.totals()),
		Spread:         c.config.Spread,
		IdleTimeout:    c.config.IdleTimeout,
		Blocklist:      blocks{c},
	}
	if most.Workers == 0 {
		settings.Most = slotmanager.NoWorkers
	}
	if spec.Profile.IsDefault() {
		settings.Least = c.config.Floor.Fewest(spec.totals()).Workers
		settings.Redundant = c.config.Redundant
	}
	k.slots = slotmanager.New(settings, &c.allocations)
	c.kinds = append(c.kinds, k)
	return k
}

// kindFor finds or makes the kind of workers for a profile. It gives nil if the cluster has too many.
func (c *core) kindFor(profile msg.ResourceProfile) *kind {
	if k := c.kindWith(profile); k != nil {
		return k
	}
	if len(c.kinds) >= maxKinds {
		return nil
	}
	spec, slot := c.config.size(profile)
	return c.addKind(spec, slot)
}

// kindWith finds the kind of workers for a profile, or gives nil.
func (c *core) kindWith(profile msg.ResourceProfile) *kind {
	at := slices.IndexFunc(c.kinds, func(k *kind) bool { return k.spec.Profile == profile })
	if at < 0 {
		return nil
	}
	return c.kinds[at]
}

// specFor describes the workers for a profile, without making a kind of them.
func (c *core) specFor(profile msg.ResourceProfile) WorkerResourceSpec {
	if k := c.kindWith(profile); k != nil {
		return k.spec
	}
	spec, _ := c.config.size(profile)
	return spec
}

// kindOf finds the kind that was ordered by this spec, or gives nil.
func (c *core) kindOf(spec WorkerResourceSpec) *kind {
	for _, k := range c.kinds {
		if k.spec == spec {
			return k
		}
	}
	return nil
}

// size gives the worker for slots of a profile. The client sizes it in the same way before it submits a job.
func (c Config) size(p msg.ResourceProfile) (WorkerResourceSpec, memory.Slot) {
	w := launch.WorkerSize{Memory: c.Sizes.Default, VCores: c.Worker.VCores, External: c.Worker.External}.Fit(p, c.Sizes)
	return WorkerResourceSpec{
		MemoryMB: w.Memory.ContainerMB(), Slots: w.Memory.Slots, VCores: w.VCores,
		Memory: w.Memory, External: w.External, Profile: p,
	}, w.Memory.Slot()
}
