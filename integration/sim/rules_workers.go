package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// ceilingHolds compares each master's workers, those that it has ordered included, with the most that the options allow.
func ceilingHolds(w *watch) {
	most := config.MaxWorkers(w.w.config)
	if w.w.schedule.Uber {
		most = most.Plus(1, defaultWorker) // the worker beside a master is told to end only after the orders that replace it
	}
	w.orders = append(w.orders, func(m *master, _ resourcemanager.Orders) error {
		sum := m.demand.sum()
		if by, exceeded := most.Exceeded(sum); exceeded {
			return fmt.Errorf("%s has and orders workers with %v, more than %v", m.address(), sum, by)
		}
		return nil
	})
}

// floorHolds compares the workers of each master with the least that the options allow, from its start until it ends its
// application. If jobs need workers with slots of other sizes, these may have the room under the ceiling.
func floorHolds(w *watch) {
	least := w.w.floor()
	below := make(lasting[*master])
	w.turns = append(w.turns, func() error {
		for _, m := range w.w.runningMasters() {
			counts := w.w.orderly(m) && m.demand.defaults() < least
			lasts := below.note(m, counts, w.w.since())
			if lasts <= untold {
				continue
			}
			if _, crowded := config.MaxWorkers(w.w.config).Exceeded(w.w.groupWorkers().Plus(least, defaultWorker)); !crowded {
				return fmt.Errorf("%s has and orders %d workers for %v, where %d are the least", m.address(), m.demand.defaults(), lasts, least)
			}
		}
		return nil
	})
}

// sparesAreKept models which slots are free. While a job holds slots, as many are free, or to come, as
// slotmanager.redundant-taskmanager-num workers have, and no idle worker is released that has some of them.
func sparesAreKept(w *watch) {
	spares := w.w.spares()
	if spares == 0 {
		return
	}
	fleets := newFleets(w)
	few := make(lasting[*master])
	w.orders = append(w.orders, func(m *master, o resourcemanager.Orders) error {
		for _, r := range o.Release {
			free, held := fleets.of(m)
			if held > 0 && free < spares && w.w.orderly(m) && !w.w.unclear(m) && strings.Contains(r.Cause, config.WorkerIdleTimeout.Name()) {
				return fmt.Errorf("%s releases idle worker %s, and then has %d slots free as spares", m.address(), r.Worker, free)
			}
		}
		return nil
	})
	w.turns = append(w.turns, func() error {
		for _, m := range w.w.runningMasters() {
			if !w.w.orderly(m) || w.w.unclear(m) {
				delete(few, m)
				continue
			}
			free, held := fleets.of(m)
			coming := (m.demand.defaults() - fleets.defaults(m)) * slotsPerWorker
			_, full := config.MaxWorkers(w.w.config).Exceeded(m.demand.sum().Plus(1, defaultWorker))
			counts := held > 0 && free+coming < spares && !full
			if lasts := few.note(m, counts, w.w.since()); lasts > untold {
				return fmt.Errorf("%s has %d slots free and %d to come for %v, where %d are to be spare", m.address(), free, coming, lasts, spares)
			}
		}
		return nil
	})
}

// idleWorkersEnd models which workers have slots that their ResourceManager has granted. In calm time the others
// end, but for the floor of workers and for spares.
func idleWorkersEnd(w *watch) {
	least, spares := w.w.floor(), w.w.spares()
	fleets := newFleets(w)
	type service struct { // a later master counts anew
		of *worker
		at *master
	}
	idle := make(lasting[service])
	active := make(map[*master]time.Duration) // when a job last held a slot
	w.said = append(w.said, func(over *wire, _ msg.Message) error {
		k := over.worker
		idle.note(service{k, k.master}, len(fleets.table(k).granted) == 0 && len(k.disks.served) == 0, w.w.since())
		return nil
	})
	w.turns = append(w.turns, func() error {
		for _, k := range w.w.runningWorkers() {
			begin, known := idle[service{k, k.master}]
			if !known || k.process.Frozen() || k.master == nil || !k.master.process.Alive() || k.master.process.Frozen() {
				continue
			}
			if _, attempt := w.w.yarn.look(k.master); !attempt.Live || attempt.Finishing {
				continue
			}
			free, held := fleets.of(k.master)
			if held > 0 {
				active[k.master] = w.w.since()
			}
			if k.profile.IsDefault() && fleets.defaults(k.master) <= least || spares > 0 && held > 0 && free < spares+slotsPerWorker {
				continue
			}
			if lasts := w.w.since() - max(begin, w.w.calm, spareUntil(active, k.master, spares)); lasts > w.w.config.Duration(config.WorkerIdleTimeout)+unused {
				return fmt.Errorf("worker %s is idle for %v", k.id, lasts)
			}
		}
		return nil
	})
}

// spareUntil is until when the workers of a master may have been spares.
func spareUntil(active map[*master]time.Duration, m *master, spares int) time.Duration {
	if spares == 0 {
		return 0
	}
	return active[m]
}

// slotsPerWorker is taskmanager.numberOfTaskSlots.
const slotsPerWorker = 2

// defaultWorker is a worker with default slots.
var defaultWorker = config.WorkerTotals{Slots: slotsPerWorker, Cores: slotsPerWorker, Memory: workerMB * config.Mebibyte} //nolint:gochecknoglobals // a constant

// floor is how many workers with default slots each master keeps.
func (w *World) floor() int { return (w.schedule.Floor + slotsPerWorker - 1) / slotsPerWorker }

// groupWorkers sums the workers that all jobs need at a time for slot sharing groups with resources.
func (w *World) groupWorkers() (sum config.WorkerTotals) {
	one, err := memory.WorkerOf(w.config)
	if err != nil {
		return sum // no worker starts
	}
	for _, j := range w.jobs {
		for _, of := range launch.WorkersOf(w.config, launch.WorkerSize{Memory: one, VCores: config.WorkerVCores(w.config)}, &j.graph) {
			if !of.Profile.IsDefault() {
				each := config.WorkerTotals{Slots: of.Each.Memory.Slots, Cores: float64(of.Each.VCores), Memory: of.Each.Memory.Process}
				sum = sum.Plus((of.Slots+each.Slots-1)/each.Slots, each)
			}
		}
	}
	return sum
}

// spares is how many slots are to be free while jobs run. Spare workers have default slots, which jobs with
// slot sharing groups do not need.
func (w *World) spares() int {
	if w.schedule.Groups {
		return 0
	}
	return w.schedule.Redundant * slotsPerWorker
}

// orderly reports whether a master gets along with YARN, and has time to order what it needs.
func (w *World) orderly(m *master) bool {
	if w.since() < w.calm+settled || m.demand == nil || !m.leads || !m.demand.runs || m.demand.ends || m.process.Frozen() {
		return false
	}
	_, attempt := w.yarn.look(m)
	return attempt.Live && attempt.Registered && !attempt.Finishing
}

// unclear reports whether free slots may be no spares, because jobs may have set nodes aside or avoid those of slow tasks, or jobs may need
// none, because they end and wait for a process that hangs or a task that ignores its cancellation. A master that lacks NM
// tokens may find no node for spares.
func (w *World) unclear(m *master) bool {
	return w.schedule.Speculation > 0 || m.broken != nil || m.tokensLost || slices.ContainsFunc(w.yarn.nodes, func(n *node) bool { return !n.broken.IsZero() }) ||
		slices.ContainsFunc(w.runningWorkers(), func(k *worker) bool { return k.master == m && k.process.Frozen() }) ||
		slices.ContainsFunc(w.runningHosts(), func(h *host) bool { return h.worker.master == m && (h.process.Frozen() || h.stuck()) })
}

// fleets are the registered workers of each master, and the slots that are granted.
type fleets struct {
	w      *watch
	tables map[*worker]*grants
	here   map[*worker]bool // registered
	// holders are the masters whose jobs hold the slots. A job that a later master has taken over holds its slots from the
	// time when its JobMaster accepts them.
	holders map[ids.AllocationID]*master
}

func newFleets(w *watch) *fleets {
	f := &fleets{w: w, tables: make(map[*worker]*grants), here: make(map[*worker]bool), holders: make(map[ids.AllocationID]*master)}
	w.said = append(w.said, func(over *wire, m msg.Message) error {
		k := over.worker
		f.table(k).hear(m)
		switch m := m.(type) {
		case msg.TaskExecutorRegistered:
			f.here[k] = true
		case msg.RequestSlots:
			for _, slot := range m.Slots {
				f.holders[slot.Allocation] = k.master
			}
		case msg.SlotOffersAnswered:
			for _, accepted := range m.Accepted {
				f.holders[accepted] = k.master
			}
		}
		return nil
	})
	return f
}

func (f *fleets) table(k *worker) *grants { return grantsOf(f.tables, k) }

// of counts the slots of a master's workers that are free, and those that jobs hold.
func (f *fleets) of(m *master) (free, held int) {
	f.each(m, func(k *worker) {
		granted := f.table(k).granted
		free += k.slots - len(granted)
		for _, allocation := range granted {
			if f.holders[allocation] == m {
				held++
			}
		}
	})
	return free, held
}

// defaults counts the registered workers of a master that have default slots.
func (f *fleets) defaults(m *master) (n int) {
	f.each(m, func(k *worker) {
		if k.profile.IsDefault() {
			n++
		}
	})
	return n
}

func (f *fleets) each(m *master, do func(k *worker)) {
	for _, k := range f.w.w.containers {
		if _, lives := m.demand.living[k.id]; lives && k.master == m && f.here[k] {
			do(k)
		}
	}
}

// newerStreamsStay looks at the answers of roles to registrations. A worker opens a stream to a role only after it has
// given up the last one, so a role must not admit it over an older stream than the one that it has.
func newerStreamsStay(w *watch) {
	type link struct {
		worker *worker
		target string
	}
	present := make(map[link]*wire)
	w.admits = append(w.admits, func(over *wire) error {
		l := link{over.worker, over.target}
		if newer := present[l]; newer != nil && newer.number > over.number && !newer.closed && !newer.shut {
			return fmt.Errorf("%s admits worker %s over stream %d in place of stream %d", over.target, over.worker.id, over.number, newer.number)
		}
		present[l] = over
		return nil
	})
}
