package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// How long a container may be of no use to the master that has it.
const (
	unstarted    = 90 * time.Second // before its worker starts: longer than three starts that get no answer
	unregistered = 6 * time.Minute  // before it registers: longer than resourcemanager.taskmanager-registration.timeout
	unused       = 2 * time.Minute  // afterwards: longer than heartbeat.timeout
)

// containersAreUsed looks at the containers of the masters when the faults are over: in each of them a
// worker lives. A master gives back those that it does not use.
func containersAreUsed(w *watch) {
	registered := make(map[records.ContainerID]bool)
	w.said = append(w.said, func(k *worker, m msg.Message) error {
		if _, is := m.(msg.TaskExecutorRegistered); is {
			registered[k.container] = true
		}
		return nil
	})
	since := make(map[records.ContainerID]time.Duration)
	w.turns = append(w.turns, func() error {
		if w.w.since() < w.w.calm {
			clear(since)
			return nil
		}
		for _, m := range w.w.runningMasters() {
			app, attempt := w.w.yarn.look(m)
			if !attempt.Live || !attempt.Registered || attempt.Finishing {
				continue
			}
			for _, c := range app.Containers {
				started, serves := w.w.workerIn(c.ID)
				most := unregistered
				switch {
				case !started:
					most = unstarted
				case registered[c.ID]:
					most = unused
				}
				switch begin, known := since[c.ID]; {
				case c.Owner != m.attempt || c.Master || c.State == records.ContainerComplete || serves:
					delete(since, c.ID)
				case !known:
					since[c.ID] = w.w.since()
				case w.w.since()-begin > most:
					return fmt.Errorf("%s of %s has served nobody for %v", c.ID, m.address(), w.w.since()-begin)
				}
			}
		}
		return nil
	})
}

// workerIn reports whether a worker has started in a container, and whether it lives.
func (w *World) workerIn(id records.ContainerID) (started, lives bool) {
	i := slices.IndexFunc(w.containers, func(k *worker) bool { return k.container == id })
	if i < 0 {
		return false, false
	}
	p := w.containers[i].process
	return true, p.Alive() && !p.Frozen()
}

// idleWorkersEnd models which workers have slots that their ResourceManager has granted. In calm time the others
// end.
func idleWorkersEnd(w *watch) {
	held := make(map[*worker]map[int]bool)
	since := make(map[*worker]time.Duration) // when they became idle
	w.said = append(w.said, func(k *worker, m msg.Message) error {
		switch m := m.(type) {
		case msg.RegisterTaskExecutor:
			held[k] = make(map[int]bool)
			for i := range allocations(m.Slots) {
				held[k][i] = true
			}
		case msg.RequestSlots:
			for _, granted := range m.Slots {
				held[k][granted.Index] = true
			}
		case msg.SlotRequestsAnswered:
			for _, refused := range m.Refused {
				delete(held[k], refused.Index)
			}
		case msg.SlotsFreed:
			for _, freed := range m.Slots {
				delete(held[k], freed.Index)
			}
		default:
			return nil
		}
		if len(held[k]) > 0 {
			delete(since, k)
		} else if _, idle := since[k]; !idle {
			since[k] = w.w.since()
		}
		return nil
	})
	w.turns = append(w.turns, func() error {
		for _, k := range w.w.runningWorkers() {
			begin, idle := since[k]
			if !idle || k.process.Frozen() || k.master == nil || !k.master.process.Alive() || k.master.process.Frozen() {
				continue
			}
			if _, attempt := w.w.yarn.look(k.master); !attempt.Live || attempt.Finishing {
				continue
			}
			if lasts := w.w.since() - max(begin, w.w.calm); lasts > w.w.config.Duration(config.WorkerIdleTimeout)+unused {
				return fmt.Errorf("worker %s is idle for %v", k.id, lasts)
			}
		}
		return nil
	})
}

// endedWorkersEnd looks for workers that run although YARN has told their master that their containers have
// ended: YARN has lost only the NodeManager. The master tells them to end.
func endedWorkersEnd(w *watch) {
	since := make(map[*worker]time.Duration)
	w.turns = append(w.turns, func() error {
		for _, k := range w.w.runningWorkers() {
			c, known := w.w.yarn.rm.Container(k.container)
			switch begin, ended := since[k]; {
			case !known || c.State != records.ContainerComplete || k.w.unheard(k):
				delete(since, k)
			case !ended:
				since[k] = w.w.since()
			case w.w.since()-begin > settled:
				return fmt.Errorf("worker %s runs for %v after YARN has reported its end", k.id, w.w.since()-begin)
			}
		}
		return nil
	})
}

// unheard reports whether a worker need not hear of what YARN has told its master.
func (w *World) unheard(k *worker) bool {
	m := k.master
	if m == nil || !m.process.Alive() || m.process.Frozen() || k.process.Frozen() || w.yarn.replaced(m) {
		return true
	}
	for _, over := range []time.Time{w.yarn.away, w.yarn.unsure, m.node.apart, w.disturbed[m.process], w.disturbed[k.process]} {
		if w.engine.Now().Before(over.Add(delivery)) {
			return true
		}
	}
	return false
}

const (
	// settled is how long after the last fault YARN and masters have told each other what they missed.
	settled = 20 * time.Second
	// untold is how long YARN may not know what a master wants.
	untold = 20 * time.Second
)

// yarnKnowsTheDemand compares the outstanding asks of each master with what its ResourceManager has ordered. A
// master that YARN counts on registers.
func yarnKnowsTheDemand(w *watch) {
	since := make(map[*master]time.Duration)
	w.turns = append(w.turns, func() error {
		for _, m := range w.w.runningMasters() {
			asked, attempt := w.w.yarn.asked(m)
			if asked > 0 {
				w.w.facts[Waited] += int(lookEvery / time.Second)
			}
			if w.w.since() < w.w.calm+settled {
				delete(since, m)
				continue
			}
			counts := attempt.Live && !attempt.Finishing && m.demand != nil && m.demand.runs && !m.process.Frozen()
			switch begin, differs := since[m]; {
			case !counts || attempt.Registered && asked == m.demand.missing():
				delete(since, m)
			case !differs:
				since[m] = w.w.since()
			case w.w.since()-begin <= untold:
			case !attempt.Registered:
				return fmt.Errorf("%s does not register with YARN", m.address())
			default:
				return fmt.Errorf("%s asks YARN for %d containers, and wants %d", m.address(), asked, m.demand.missing())
			}
		}
		return nil
	})
}

// asked is the number of containers that YARN is to grant to a master, and what YARN knows of its attempt.
func (y *yarn) asked(m *master) (count int, attempt books.AttemptView) {
	_, attempt = y.look(m)
	for _, ask := range attempt.Asks {
		count += ask.Count
	}
	return count, attempt
}
