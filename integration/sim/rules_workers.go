package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// ceilingHolds compares the slots of each master's workers, those that it has ordered included, with the most that the
// options allow.
func ceilingHolds(w *watch) {
	most := w.w.schedule.mostSlots()
	if w.w.schedule.Uber {
		most += slotsPerWorker // the worker beside a master is told to end only after the orders that replace it
	}
	w.orders = append(w.orders, func(m *master, _ resourcemanager.Orders) error {
		if n := m.demand.slots(); n > most {
			return fmt.Errorf("%s has and orders workers with %d slots, where %d are allowed", m.address(), n, most)
		}
		return nil
	})
}

// floorHolds compares the workers of each master with the least that the options allow, from its start until it ends its
// application.
func floorHolds(w *watch) {
	least := w.w.floor()
	below := make(lasting[*master])
	w.turns = append(w.turns, func() error {
		for _, m := range w.w.runningMasters() {
			counts := w.w.orderly(m) && m.demand.workers() < least
			if lasts := below.note(m, counts, w.w.since()); lasts > untold {
				return fmt.Errorf("%s has and orders %d workers for %v, where %d are the least", m.address(), m.demand.workers(), lasts, least)
			}
		}
		return nil
	})
}

// sparesAreKept models which slots are free. While a job holds slots, as many are free, or to come, as
// slotmanager.redundant-taskmanager-num workers have, and no idle worker is released that has some of them.
func sparesAreKept(w *watch) {
	spares := w.w.schedule.Redundant * slotsPerWorker
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
			coming := (m.demand.workers() - fleets.known(m)) * slotsPerWorker
			counts := held > 0 && free+coming < spares && m.demand.workers() < w.w.ceiling()
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
	least, spares := w.w.floor(), w.w.schedule.Redundant*slotsPerWorker
	fleets := newFleets(w)
	idle := make(lasting[*worker])
	active := make(map[*master]time.Duration) // when a job last held a slot
	w.said = append(w.said, func(k *worker, _ msg.Message) error {
		idle.note(k, len(fleets.table(k).granted) == 0, w.w.since())
		return nil
	})
	w.turns = append(w.turns, func() error {
		for _, k := range w.w.runningWorkers() {
			begin, known := idle[k]
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
			if fleets.known(k.master) <= least || spares > 0 && held > 0 && free < spares+slotsPerWorker {
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

// floor and ceiling bound the workers of a master.
func (w *World) floor() int   { return (w.schedule.Floor + slotsPerWorker - 1) / slotsPerWorker }
func (w *World) ceiling() int { return w.schedule.mostSlots() / slotsPerWorker }

// orderly reports whether a master gets along with YARN, and has time to order what it needs.
func (w *World) orderly(m *master) bool {
	if w.since() < w.calm+settled || m.demand == nil || !m.demand.runs || m.demand.ends || m.process.Frozen() {
		return false
	}
	_, attempt := w.yarn.look(m)
	return attempt.Live && attempt.Registered && !attempt.Finishing
}

// unclear reports whether free slots may be no spares, because jobs may have set nodes aside, or jobs may need
// none, because they end and wait for a process that hangs or a task that ignores its cancellation.
func (w *World) unclear(m *master) bool {
	return slices.ContainsFunc(w.yarn.nodes, func(n *node) bool { return !n.broken.IsZero() }) ||
		slices.ContainsFunc(w.runningWorkers(), func(k *worker) bool { return k.master == m && k.process.Frozen() }) ||
		slices.ContainsFunc(w.runningHosts(), func(h *host) bool { return h.worker.master == m && (h.process.Frozen() || h.stuck()) })
}

// fleets are the registered workers of each master, and the slots that it has granted.
type fleets struct {
	w      *watch
	tables map[*worker]*grants
	here   map[*worker]bool // registered
}

func newFleets(w *watch) *fleets {
	f := &fleets{w: w, tables: make(map[*worker]*grants), here: make(map[*worker]bool)}
	w.said = append(w.said, func(k *worker, m msg.Message) error {
		f.table(k).hear(m)
		if _, is := m.(msg.TaskExecutorRegistered); is {
			f.here[k] = true
		}
		return nil
	})
	return f
}

func (f *fleets) table(k *worker) *grants { return grantsOf(f.tables, k) }

// of counts the slots of a master's workers that are free, and those that jobs hold.
func (f *fleets) of(m *master) (free, held int) {
	f.each(m, func(k *worker) {
		granted := len(f.table(k).granted)
		free += k.slots - granted
		held += granted
	})
	return free, held
}

// known counts the registered workers of a master.
func (f *fleets) known(m *master) (n int) {
	f.each(m, func(*worker) { n++ })
	return n
}

func (f *fleets) each(m *master, do func(k *worker)) {
	for _, k := range f.w.w.containers {
		if k.master == m && f.here[k] && m.demand.living[k.id] > 0 {
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
