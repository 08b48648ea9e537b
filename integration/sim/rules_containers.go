package sim

import (
	"fmt"
	"slices"
	"time"

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
	registered := make(map[records.ContainerID]*master)
	w.said = append(w.said, func(over *wire, m msg.Message) error {
		k := over.worker
		if _, is := m.(msg.TaskExecutorRegistered); is {
			registered[k.container] = k.master
		}
		return nil
	})
	useless := make(lasting[records.ContainerID])
	w.turns = append(w.turns, func() error {
		if w.w.since() < w.w.calm {
			clear(useless)
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
				case registered[c.ID] == m:
					most = unused
				}
				counts := c.Owner == m.attempt && !c.Master && c.State != records.ContainerComplete && !serves
				if lasts := useless.note(c.ID, counts, w.w.since()); lasts > most {
					return fmt.Errorf("%s of %s has served nobody for %v", c.ID, m.address(), lasts)
				}
			}
		}
		return nil
	})
}

// oneWorkerBeside looks for a second worker in the container of a master: the memory there is for one. The next
// one starts when the last one has ended, also if that is frozen.
func oneWorkerBeside(w *watch) {
	w.said = append(w.said, func(over *wire, _ msg.Message) error {
		k := over.worker
		if !k.uber {
			return nil
		}
		for _, other := range k.master.besides() {
			if other != k && other.process.Alive() && k.process.Alive() {
				return fmt.Errorf("%s and %s run in the container of %s", other.id, k.id, k.master.address())
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

// endedWorkersEnd looks for workers that run although YARN has told their master that their containers have
// ended: YARN has lost only the NodeManager. The master tells them to end. A later master may take a worker over
// whose end YARN has reported before: the NodeManager ends it.
func endedWorkersEnd(w *watch) {
	ended := make(lasting[*worker])
	lived := make(map[*worker]*master) // the last master that it had before its container ended
	w.turns = append(w.turns, func() error {
		for _, k := range w.w.runningWorkers() {
			c, known := w.w.yarn.rm.Container(k.container)
			complete := known && c.State == records.ContainerComplete
			if !complete {
				lived[k] = k.master
			}
			counts := complete && lived[k] == k.master && !w.w.unheard(k)
			if lasts := ended.note(k, counts, w.w.since()); lasts > settled {
				return fmt.Errorf("worker %s runs for %v after YARN has reported its end", k.id, lasts)
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
	differs := make(lasting[*master])
	w.turns = append(w.turns, func() error {
		for _, m := range w.w.runningMasters() {
			asked, attempt := w.w.yarn.asked(m)
			if asked > 0 {
				w.w.facts[Waited] += int(lookEvery / time.Second)
			}
			counts := w.w.since() >= w.w.calm+settled &&
				attempt.Live && !attempt.Finishing && m.demand != nil && m.demand.runs && !m.process.Frozen()
			wrong := counts && (!attempt.Registered || asked != m.demand.missing())
			switch lasts := differs.note(m, wrong, w.w.since()); {
			case lasts <= untold:
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
