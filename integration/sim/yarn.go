package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

const (
	// nodeBeat is the time between two heartbeats of a NodeManager.
	nodeBeat = time.Second
	// masterExpiry is how long YARN waits for a silent ApplicationMaster, and nodeExpiry for a NodeManager.
	masterExpiry = 3 * time.Minute
	nodeExpiry   = 2 * time.Minute
	// stopGrace is how long a container may run after its NodeManager was told to end it.
	stopGrace = 250 * time.Millisecond
	// A NodeManager takes so long to start a container: it may have to fetch files from HDFS.
	leastStart, mostStart = 400 * time.Millisecond, 8 * time.Second
)

// yarn is the model of YARN: the books of its ResourceManager and of its NodeManagers, and the messages
// between them.
type yarn struct {
	w      *World
	rm     *books.ResourceManager
	nodes  []*node
	starts int // of ResourceManagers without state
	jitter *rand.Rand
	chaos  *rand.Rand
	pace   *rand.Rand    // of the starts of containers
	tick   *engine.Event // of the ResourceManager's alarm; nil: none
	rings  time.Time
	// away is until when the ResourceManager answers nobody, and unsure until when calls to YARN are lost
	// at times.
	away, unsure time.Time
	// full is until when other tenants of the cluster take all room.
	full time.Time
}

// node is a machine with a NodeManager.
type node struct {
	*yarn
	nm   *books.NodeManager
	runs map[records.ContainerID]container
	// ending has the containers that were told to end before they were started.
	ending map[records.ContainerID]bool
	// Until these times: the NodeManager does not run, it answers no call, task hosts do not start, the NodeManager and the
	// ResourceManager do not reach each other, masters do not reach the ResourceManager, and tasks get nothing done.
	down, silent, broken, cut, apart, slow time.Time
}

// container is a process that a NodeManager runs.
type container interface {
	// kill ends it. Only events call it.
	kill()
	// silence keeps its end from its peers.
	silence()
}

func newYARN(w *World) *yarn {
	y := &yarn{w: w, jitter: w.stream("YARN"), chaos: w.stream("lost calls to YARN"), pace: w.stream("starts of containers")}
	size := records.Resource{MemoryMB: 1024, VCores: 1}
	y.rm = books.NewResourceManager(books.Settings{
		Minimum: size, Maximum: nodeSize, MaxAttempts: w.schedule.mostAttempts(),
		MasterExpiry: masterExpiry, NodeExpiry: nodeExpiry, StoreDelay: 100 * time.Millisecond,
	}, y.keys(), epoch)
	for i := range 3 {
		id := records.NodeID{Host: fmt.Sprint("node", i+1), Port: 8041}
		n := &node{yarn: y, nm: books.NewNodeManager(id, nodeSize), runs: make(map[records.ContainerID]container), ending: make(map[records.ContainerID]bool)}
		y.nodes = append(y.nodes, n)
		n.step(books.Start{})
		n.beat()
	}
	return y
}

// nodeSize is what each node has: room for all jobs at once.
var nodeSize = records.Resource{MemoryMB: 16384, VCores: 16} //nolint:gochecknoglobals // a constant

// keys makes the keys of a new ResourceManager.
func (y *yarn) keys() books.Keys {
	r, first := y.w.stream(fmt.Sprint("keys of ResourceManager ", y.starts)), int32(10*y.starts)
	y.starts++
	return books.Keys{AMRM: key(r, first+1), NM: key(r, first+2), Container: key(r, first+3), Client: key(r, first+4), Delegation: key(r, first+5)}
}

func key(r *rand.Rand, id int32) books.Key {
	secret := make([]byte, 20)
	_, _ = reader{r}.Read(secret)
	return books.Key{ID: id, Secret: secret}
}

// rolledKey is the id of the key of roll.
const rolledKey = 6

// roll gives the ResourceManager another key for the tokens of masters. It accepts the last key, too, for a
// day in a real cluster, which no run takes: so a key rolls once.
func (y *yarn) roll() {
	if y.rm.AMRMKeyID() != rolledKey {
		y.step(books.KeyRolled{Key: key(y.w.stream("rolled key"), rolledKey)})
	}
}

// later does something after the time that a message takes.
func (y *yarn) later(f func()) {
	y.w.engine.After(between(y.jitter, leastDelay, mostDelay), nil, f)
}

// step lets the ResourceManager handle an event, and returns its answer if the event is a call.
func (y *yarn) step(e books.Event) (answer books.Answer) {
	for _, effect := range y.rm.Step(y.w.engine.Now(), e) {
		if order, is := effect.(books.ToNode); is {
			y.later(func() { y.node(order.To()).obey(order) })
		} else if a, is := effect.(books.Answer); is {
			answer = a
		}
	}
	if at := y.rm.Alarm(); !at.Equal(y.rings) {
		if y.tick != nil {
			y.w.engine.Cancel(y.tick)
		}
		if y.tick, y.rings = nil, at; !at.IsZero() {
			y.tick = y.w.engine.At(at, nil, func() {
				y.tick, y.rings = nil, time.Time{}
				y.step(books.Tick{})
			})
		}
	}
	return answer
}

func (y *yarn) node(id records.NodeID) *node {
	for _, n := range y.nodes {
		if n.nm.ID() == id {
			return n
		}
	}
	return nil
}

// stop takes the ResourceManager away for a time. Then another one recovers its state.
func (y *yarn) stop(d time.Duration) {
	y.w.prolong(&y.away, d)
	y.w.engine.After(d, nil, func() {
		if !y.w.engine.Now().Before(y.away) {
			y.step(books.Restarted{})
		}
	})
}

// forget starts another ResourceManager, which knows nothing of the first one. All applications are lost.
func (y *yarn) forget() {
	for _, app := range y.rm.Applications() {
		y.w.excuse(app.ID, "YARN has lost its state")
	}
	y.step(books.StateLost{Keys: y.keys()})
}

// takeBack takes a container from its application.
func (y *yarn) takeBack(id records.ContainerID) {
	y.step(books.ContainerTaken{ID: id, Exit: records.ExitPreempted, Reason: "taken back"})
}

// stop ends the NodeManager with its containers. It starts again after a time.
func (n *node) stop(d time.Duration) {
	n.w.prolong(&n.down, d)
	n.step(books.Stop{})
	n.w.engine.After(d, nil, func() {
		if !n.nm.Up() && !n.w.engine.Now().Before(n.down) {
			n.step(books.Start{})
		}
	})
}

// lose ends the machine of the node. Its peers notice late. It starts again after a time.
func (n *node) lose(d time.Duration) {
	for _, c := range n.runs {
		c.silence()
	}
	n.stop(d)
}

// obey handles an order of the ResourceManager, which comes with the answer to a heartbeat.
func (n *node) obey(order books.NodeEvent) {
	if !n.w.engine.Now().Before(n.cut) {
		n.step(order)
	}
}

// step lets the NodeManager handle an event, and returns its answer if the event is a call.
func (n *node) step(e books.NodeEvent) (answer books.Answer) {
	for _, effect := range n.nm.Step(n.w.engine.Now(), e) {
		switch effect := effect.(type) {
		case books.Answer:
			answer = effect
		case books.Run:
			n.w.engine.After(n.startTime(), nil, func() { n.run(effect) })
		case books.End:
			n.w.engine.After(stopGrace, nil, func() { n.end(effect.ID) })
		case books.NodeReport:
			n.report(effect)
		case books.Registration:
			n.report(effect)
		case books.Signal:
		}
	}
	return answer
}

// startTime draws how long the start of a container takes.
func (n *node) startTime() time.Duration {
	return max(0, n.w.hdfs.away.Sub(n.w.engine.Now())) + between(n.pace, leastStart, mostStart)
}

// report sends a message to the ResourceManager, which does not get it while it is away or out of reach.
func (n *node) report(m books.ToResourceManager) {
	n.later(func() {
		now := n.w.engine.Now()
		if beat, is := m.(books.NodeReport); is && now.Before(n.full) {
			beat.Beat = false // so the node gets no containers
			m = beat
		}
		if !now.Before(n.away) && !now.Before(n.cut) {
			n.yarn.step(m)
		}
	})
}

// beat sends a heartbeat, again and again.
func (n *node) beat() {
	n.w.engine.After(nodeBeat, nil, func() {
		if n.nm.Up() {
			n.step(books.Beat{})
		}
		n.beat()
	})
}

// run starts the process of a container: an ApplicationMaster, or a worker.
func (n *node) run(r books.Run) {
	id := r.Container.ID
	if !n.nm.Up() || n.ending[id] {
		delete(n.ending, id)
		n.exited(id, records.ExitKilledByAppMaster, "killed before its start")
		return
	}
	exited := func(exit records.ExitStatus, diagnostics string) { n.exited(id, exit, diagnostics) }
	if strings.Contains(strings.Join(r.Launch.Commands, " "), masterCommand) {
		n.runs[id] = n.w.startMaster(n, id, r.Launch, exited)
	} else {
		n.runs[id] = n.w.startWorker(n, r.Container, r.Launch, exited)
	}
}

// masterCommand is in the command of an ApplicationMaster's container.
const masterCommand = "appmaster"

func (n *node) exited(id records.ContainerID, exit records.ExitStatus, diagnostics string) {
	delete(n.runs, id)
	n.step(books.Exited{ID: id, Exit: exit, Diagnostics: diagnostics})
}

// end ends the process of a container.
func (n *node) end(id records.ContainerID) {
	if c := n.runs[id]; c != nil {
		c.kill()
	} else {
		n.ending[id] = true // it has not been started yet
	}
}

// look returns what the ResourceManager knows of the application and the attempt of a master.
func (y *yarn) look(m *master) (app books.ApplicationView, attempt books.AttemptView) {
	app, _ = y.application(m.attempt.Application)
	for _, attempt := range app.Attempts {
		if attempt.ID == m.attempt {
			return app, attempt
		}
	}
	return books.ApplicationView{}, attempt
}

// application returns what the ResourceManager knows of an application.
func (y *yarn) application(id records.ApplicationID) (app books.ApplicationView, known bool) {
	for _, app := range y.rm.Applications() {
		if app.ID == id {
			return app, true
		}
	}
	return app, false
}

// runs reports whether YARN has an application that has not ended.
func (y *yarn) runs(id records.ApplicationID) bool {
	app, known := y.application(id)
	return known && !app.State.Terminal()
}
