package jobmaster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
)

// TestCoreProperties runs random jobs on a naive model of workers that come, end and fail, with
// messages on their way that cross the core's orders. It would catch: a task sent to a host that is
// gone or takes no tasks, or while its last attempt runs; a lost split, or one that two successful
// attempts read; a job that ends twice or never; a slot that is kept, requested again after its
// region has finished, or accepted from a node that is set aside; a task that does not restart with
// all others, though the failover strategy is full; a step that a replay does not repeat. The master may be killed at
// any time, and a successor goes on with the commit records that are stored. So it would also catch: leave to commit
// without a record, or for parts that no finished attempt has written; an output that is committed with two sets of
// winners; tasks that run again although their region has a record, or may have one; counters that a recovery loses.
// Edges may be blocking, and a successor takes over what workers hold: see core_property_partitions_test.go.
func TestCoreProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		m.step(started{})
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			m.act()
		}
		m.settle()
		m.checkEnd()
		m.checkReplay()
	})
}

// model is the environment of a core.
type model struct {
	t       *rapid.T
	config  Config
	core    *core
	now     time.Time
	wake    time.Time
	alarm   time.Time // the core's alarm after the last wake
	events  []timedEvent
	effects []string // of all steps

	workers   []*modelWorker // workers of which the core may still get messages
	tasks     map[ids.ExecutionAttemptID]*modelTask
	attempts  map[[2]int]ids.ExecutionAttemptID // last deployed attempt of each subtask
	required  int
	least     int
	room      int      // slots that the cluster has; 0: enough
	short     bool     // the ResourceManager has still to tell the job that no part of it fits into the room
	blocked   []string // nodes from which the ResourceManager gives the job no slots
	names     int
	ended     *ended
	endedBy   int // number of events at that time
	cancelled bool

	records map[int]ha.Commit // what regions commit, as it is stored
	writing []storeCommit     // being stored
	done    []int             // regions of which this master has it stored that they have committed
	commits map[int][]string  // winners with which the output of a vertex may have been committed
	epochs  int               // masters

	released  map[ids.PartitionID]bool          // by the core
	servers   []*modelWorker                    // all workers, also those that are gone
	pinned    map[[2]int]ids.ExecutionAttemptID // tasks that a record has
	survivors []*modelWorker                    // workers of the last masters that have not connected yet
	cut       []*modelWorker                    // those of them that this master has lost
}

type timedEvent struct {
	at    time.Time
	event event
}

type modelWorker struct {
	peer      actor.Peer
	node      string
	alive     bool
	connected bool // as the core was told
	host      ids.HostID
	known     ids.HostID // host as the core was told
	slots     []ids.AllocationID
	outbox    []msg.Message // on its way to the core
	// unavailable says that the worker cannot run a host any more, or is full. With the first slot it
	// gives all slots back.
	unavailable bool
	answered    bool                     // its last offer
	held        map[ids.PartitionID]bool // partitions that it serves
}

type modelTask struct {
	worker    *modelWorker
	host      ids.HostID
	slot      ids.AllocationID
	asking    bool // has a request for a split on its way
	exhausted bool // was told that no split is left
	cancel    bool
	over      bool // it has reported a final state, or its host is gone
	told      bool // the core knows about over
	finished  bool // it has reported FINISHED
	complete  bool // others have received all its records
	prepared  bool // it has asked for leave to commit
	granted   bool // it has leave
	winners   []string
	splits    []string
	inputs    []modelInput
	reads     []uint64 // the Inputs of its deployment
}

func newModel(t *rapid.T) *model {
	c, err := Configured(config.Config{}, randomGraph(t))
	if err != nil {
		t.Fatal(err)
	}
	c.Job, c.JobMaster, c.Epoch = "j1", "m1", 1
	c.Restart.FixedDelay.Attempts = rapid.IntRange(0, 6).Draw(t, "restarts")
	c.FailoverStrategy = rapid.SampledFrom([]string{failover.RestartRegion, failover.RestartAll}).Draw(t, "failover strategy")
	if rapid.Bool().Draw(t, "speculates") {
		c.Speculation.Enabled, c.Speculation.Attempts = true, rapid.IntRange(1, 3).Draw(t, "attempts at a time")
		c.Speculation.BlockTime = time.Duration(rapid.IntRange(1, 4).Draw(t, "block time")) * time.Second
		c.Speculation.Slow.LowerBound, c.Speculation.Slow.Ratio = time.Duration(rapid.IntRange(0, 3).Draw(t, "lower bound"))*time.Second, 0.3
	}
	core, err := newCore(c)
	if err != nil {
		t.Fatal(err)
	}
	room := 0
	if len(c.Graph.CoLocations) == 0 { // otherwise the exchanges may have to be pipelined, and a commit then keeps slots that others need
		room = rapid.IntRange(0, 3).Draw(t, "room")
	}
	return &model{
		t: t, config: c, core: core, now: testEpoch, room: room,
		tasks:    make(map[ids.ExecutionAttemptID]*modelTask),
		attempts: make(map[[2]int]ids.ExecutionAttemptID),
		records:  make(map[int]ha.Commit), commits: make(map[int][]string), epochs: 1,
		released: make(map[ids.PartitionID]bool),
	}
}

func randomGraph(t *rapid.T) *jobgraph.JobGraph {
	g := &jobgraph.JobGraph{ProtocolVersion: jobgraph.ProtocolVersion, Job: "random", Name: "random"}
	vertices := rapid.IntRange(1, 4).Draw(t, "vertices")
	for v := range vertices {
		vertex := jobgraph.Vertex{Name: fmt.Sprint("v", v), Parallelism: rapid.IntRange(1, 3).Draw(t, "parallelism")}
		from := rapid.IntRange(-1, v-1).Draw(t, "from")
		if from < 0 {
			vertex.Source = true
			for i := range rapid.IntRange(0, 6).Draw(t, "splits") {
				host := fmt.Sprint("n", rapid.IntRange(0, 2).Draw(t, "host"))
				vertex.Splits = append(vertex.Splits, jobgraph.Split{Base: fmt.Sprint(v, "/", i), Hosts: []string{host}})
			}
		} else {
			edge := jobgraph.Edge{From: jobgraph.VertexID(from), To: jobgraph.VertexID(v), Pattern: jobgraph.AllToAll}
			edge.Output = len(g.Outputs(edge.From))
			if rapid.Bool().Draw(t, "pointwise") {
				edge.Pattern = jobgraph.Pointwise
				vertex.Parallelism = g.Vertices[from].Parallelism
			}
			edge.Kind = randomKind(t)
			g.Edges = append(g.Edges, edge)
			if other := rapid.IntRange(-1, v-1).Draw(t, "also from"); other >= 0 {
				also := jobgraph.Edge{From: jobgraph.VertexID(other), To: edge.To, Input: 1, Pattern: jobgraph.AllToAll, Kind: randomKind(t)}
				also.Output = len(g.Outputs(also.From))
				g.Edges = append(g.Edges, also)
			}
		}
		g.Vertices = append(g.Vertices, vertex)
	}
	for v := range vertices {
		if !rapid.Bool().Draw(t, "commits") {
			continue
		}
		to := jobgraph.VertexID(len(g.Vertices))
		g.Edges = append(g.Edges, jobgraph.Edge{
			From: jobgraph.VertexID(v), Output: len(g.Outputs(jobgraph.VertexID(v))), To: to, Pattern: jobgraph.AllToAll, Kind: randomKind(t),
		})
		g.Vertices = append(g.Vertices, jobgraph.Vertex{Name: fmt.Sprint("commit", v), Parallelism: 1, Commit: true})
	}
	randomGroups(t, g)
	if g.SettleKinds() != nil { // vertices that are co-located had to run one after the other
		g.CoLocations = nil
		if err := g.SettleKinds(); err != nil {
			t.Fatal(err)
		}
	}
	g.Digest = g.ComputeDigest()
	return g
}

func randomKind(t *rapid.T) jobgraph.Kind {
	return rapid.SampledFrom([]jobgraph.Kind{jobgraph.Pipelined, jobgraph.Blocking}).Draw(t, "kind")
}

// randomGroups divides the vertices among slot sharing groups, and co-locates some of them.
func randomGroups(t *rapid.T, g *jobgraph.JobGraph) {
	groups := rapid.IntRange(1, 2).Draw(t, "groups")
	for i := range g.Vertices {
		v := &g.Vertices[i]
		group := jobgraph.Group{Name: fmt.Sprint("g", rapid.IntRange(1, groups).Draw(t, "group"))}
		if v.Group = slices.Index(g.Groups, group); v.Group < 0 {
			v.Group = len(g.Groups)
			g.Groups = append(g.Groups, group)
		}
		for a := range i {
			// The planner co-locates no commits. With blocking edges, their regions could wait for each other.
			if other := &g.Vertices[a]; !v.Commit && !other.Commit && other.Group == v.Group && other.Parallelism == v.Parallelism && rapid.Bool().Draw(t, "co-located") {
				g.CoLocations = append(g.CoLocations, jobgraph.CoLocation{A: jobgraph.VertexID(a), B: jobgraph.VertexID(i)})
			}
		}
	}
}

// act performs one random action.
func (m *model) act() {
	switch rapid.IntRange(0, 36).Draw(m.t, "action") {
	case 18, 19:
		m.comeBack()
	case 34:
		m.allReturned()
	case 35:
		m.tellShort()
	case 0, 20:
		m.connect(true)
	case 1, 2, 3, 4, 21, 22, 23, 24, 25:
		if w := m.pick(); w != nil {
			m.deliver(w)
		}
	case 5, 6, 26, 27, 28, 29, 30, 31, 32:
		if w := m.pick(); w != nil {
			m.work(w, true)
		}
	case 7:
		if w := m.pick(); w != nil && w.host != "" && m.oneIn(5) {
			m.endHost(w, msg.HostFailed)
		}
	case 36:
		if w := m.pick(); w != nil && w.host != "" && m.oneIn(5) {
			m.endHost(w, msg.HostFull)
		}
	case 8:
		if w := m.pick(); w != nil && m.oneIn(5) {
			m.killWorker(w)
		}
	case 9:
		m.advance(time.Duration(rapid.IntRange(1, 3000).Draw(m.t, "ms")) * time.Millisecond)
	case 10:
		m.step(resourceManagerSaid{msg.JobMasterRegistered{}})
	case 11:
		if w := m.pick(); w != nil && w.host != "" && m.oneIn(5) {
			m.endHost(w, msg.HostStopped)
		}
	case 12:
		if m.oneIn(25) {
			m.cancelled = true
			m.step(cancelAsked{})
		}
	case 13:
		if m.oneIn(10) {
			m.notEnough()
		}
	case 14:
		if w := m.pick(); w != nil && w.alive && w.connected && w.registered() {
			m.registerLate(w)
		}
	case 15, 16:
		m.store(true)
	case 33:
		if w := m.pick(); w != nil && m.oneIn(5) {
			m.cutOff(w)
		}
	case 17:
		if m.oneIn(6) && m.ended == nil {
			m.killMaster()
		}
	}
}

// store ends a call to the store. The record is there, unless the call fails for good.
func (m *model) store(mayFail bool) {
	if len(m.writing) == 0 || m.ended != nil {
		return
	}
	i := rapid.IntRange(0, len(m.writing)-1).Draw(m.t, "record")
	w := m.writing[i]
	m.writing = slices.Delete(m.writing, i, i+1)
	stored := commitStored{Region: w.Region}
	if mayFail && m.oneIn(20) {
		stored.Err = errors.New("disk quota exceeded")
	} else {
		m.keep(w)
	}
	m.step(stored)
}

// keep puts a record into the store.
func (m *model) keep(w storeCommit) {
	data, err := commitrecord.Encode(w.Record)
	if err != nil {
		m.t.Fatal(err)
	}
	m.records[w.Region] = ha.Commit{Record: data}
}

// killMaster kills the ApplicationMaster. Each record that it was about to store is there, or not. Its successor goes
// on with the job. It has no workers yet; their task hosts have ended all tasks by the time they come.
func (m *model) killMaster() {
	m.checkReplay()
	for _, w := range m.writing {
		if rapid.Bool().Draw(m.t, "was stored") {
			m.keep(w)
		}
	}
	for _, r := range m.done {
		if rapid.Bool().Draw(m.t, "committed was stored") {
			m.records[r] = ha.Commit{Record: m.records[r].Record, Finished: true}
		}
	}
	recovered, err := commitrecord.DecodeAll(maps.Clone(m.records))
	if err != nil {
		m.t.Fatal(err)
	}
	m.epochs++
	m.config.TakenOver = m.now
	m.survive()
	m.config.Epoch, m.config.JobMaster, m.config.Recovered = ids.Epoch(m.epochs), ids.JobMasterID(fmt.Sprint("m", m.epochs)), recovered
	if m.core, err = newCore(m.config); err != nil {
		m.t.Fatal(err)
	}
	m.wake, m.alarm, m.events, m.effects = time.Time{}, time.Time{}, nil, nil
	m.workers, m.writing, m.done, m.required, m.least, m.short, m.blocked = nil, nil, nil, 0, 0, false, nil
	for _, task := range m.tasks {
		task.over, task.told = true, true
	}
	m.step(started{})
	if m.cancelled {
		m.step(cancelAsked{})
	}
}

func (m *model) oneIn(n int) bool { return rapid.IntRange(1, n).Draw(m.t, "chance") == n }

func (m *model) pick() *modelWorker {
	if len(m.workers) == 0 {
		return nil
	}
	return m.workers[rapid.IntRange(0, len(m.workers)-1).Draw(m.t, "worker")]
}

func (m *model) name(prefix string) string {
	m.names++
	return fmt.Sprint(prefix, m.names)
}

// connect registers a worker with at most as many granted slots as the job lacks. The worker may be
// unable to run a host.
func (m *model) connect(mayFail bool) {
	lacking := m.required
	if m.room > 0 {
		lacking = min(lacking, m.room)
	}
	for _, w := range m.workers {
		if w.alive {
			lacking -= len(w.slots)
		}
	}
	if lacking <= 0 || m.ended != nil {
		return
	}
	nodes := slices.DeleteFunc([]string{"n0", "n1", "n2"}, func(n string) bool {
		return slices.Contains(m.blocked, n) && !(mayFail && m.oneIn(5)) // the grant came before the block
	})
	if len(nodes) == 0 {
		m.step(resourceManagerSaid{msg.AllNodesBlocked{}})
		return
	}
	w := &modelWorker{alive: true, connected: true, node: rapid.SampledFrom(nodes).Draw(m.t, "node")}
	w.peer = actor.Peer{Connection: actor.ConnectionID(m.names + 1), Resource: ids.ResourceID(m.name("w"))}
	w.outbox = append(w.outbox, w.registration())
	var offers msg.OfferSlots
	for range rapid.IntRange(1, lacking).Draw(m.t, "slots") {
		a := ids.AllocationID(m.name("a"))
		w.slots = append(w.slots, a)
		offers.Offers = append(offers.Offers, msg.SlotOffer{Allocation: a})
	}
	m.workers, m.servers = append(m.workers, w), append(m.servers, w)
	if mayFail && m.oneIn(8) {
		w.unavailable = true
		lost := msg.HostLost{Reason: msg.HostUnavailable, Failure: msg.Failure{Message: "no space"}}
		before := rapid.IntRange(1, len(offers.Offers)).Draw(m.t, "offered before")
		w.outbox = append(w.outbox, msg.OfferSlots{Offers: offers.Offers[:before]}, lost)
		if before < len(offers.Offers) { // slots were granted meanwhile
			w.outbox = append(w.outbox, msg.OfferSlots{Offers: offers.Offers[before:]})
		}
		return
	}
	w.outbox = append(w.outbox, offers)
	m.startHost(w)
}

// notEnough makes the ResourceManager say that it has too few slots. It may have said so before it
// knew the current blocks of the job; then the core must ignore it.
func (m *model) notEnough() {
	said := msg.NotEnoughResources{Job: "j1", Reason: "none is left", NodesBlocked: rapid.Bool().Draw(m.t, "said of some nodes")}
	blocked, before := m.blocked, len(m.effects)
	m.step(resourceManagerSaid{said})
	if said.NodesBlocked != (len(blocked) > 0) && len(m.effects) > before {
		m.t.Fatalf("%+v, which does not go with the blocked nodes %v, has effects: %v", said, blocked, m.effects[before:])
	}
}

// tellShort makes the ResourceManager say that no part of the job fits into the cluster.
func (m *model) tellShort() {
	if m.short && m.ended == nil {
		m.short = false
		m.step(resourceManagerSaid{msg.NotEnoughResources{Job: "j1", Reason: "the cluster is full", NodesBlocked: len(m.blocked) > 0}})
	}
}

// registered tells whether the registration of a worker has arrived.
func (w *modelWorker) registered() bool {
	if len(w.outbox) == 0 {
		return true
	}
	_, coming := w.outbox[0].(msg.RegisterAtJobMaster)
	return !coming
}

// registerLate delivers a registration over a connection that the worker gave up before its present one. The
// JobMaster must not answer it, and must not lose the worker.
func (m *model) registerLate(w *modelWorker) {
	m.step(taskExecutorSaid{
		From:    actor.Peer{Resource: w.peer.Resource}, // connections have numbers from 1
		Message: msg.RegisterAtJobMaster{Resource: w.peer.Resource, Host: w.node},
	})
}

func (m *model) startHost(w *modelWorker) {
	w.host = ids.HostID(m.name("h"))
	w.outbox = append(w.outbox, msg.HostReady{Host: w.host, DataAddress: "here:1"})
}

// deliver sends a worker's next message to the core, or the end of its connection after it died.
func (m *model) deliver(w *modelWorker) {
	switch {
	case len(w.outbox) > 0:
		message := w.outbox[0]
		w.outbox = w.outbox[1:]
		switch message := message.(type) {
		case msg.HostReady:
			w.known = message.Host
		case msg.HostLost:
			w.known = ""
			m.tell(func(t *modelTask) bool { return t.host == message.Host })
		case msg.Disconnect:
			w.connected = false
			m.gone(w)
		case msg.TaskStatesChanged:
			for _, change := range message.Changes {
				if task := m.tasks[change.Execution]; change.State.Final() && task != nil {
					task.told = true
				}
			}
		}
		w.answered = false
		m.step(taskExecutorSaid{From: w.peer, Message: message})
		if offer, offered := message.(msg.OfferSlots); offered && !w.answered {
			for _, o := range offer.Offers { // they time out
				m.giveBack(w, o.Allocation)
			}
		}
	case !w.alive:
		w.connected = false
		m.step(taskExecutorDisconnected{From: w.peer, Cause: "peer is gone"})
		if rapid.Bool().Draw(m.t, "explained") {
			m.gone(w)
			m.step(resourceManagerSaid{msg.TaskExecutorTerminated{Resource: w.peer.Resource, Cause: "killed"}})
		} else {
			m.gone(w)
			m.advance(lossGrace)
		}
	}
}

// giveBack makes a worker free slots. A worker that cannot run a host frees its other slots too,
// and disconnects unless it serves partitions.
func (m *model) giveBack(w *modelWorker, allocations ...ids.AllocationID) {
	before := len(w.slots)
	w.slots = slices.DeleteFunc(w.slots, func(a ids.AllocationID) bool { return slices.Contains(allocations, a) })
	if w.unavailable && len(w.slots) < before {
		w.slots = nil
		if len(w.held) == 0 {
			w.outbox = append(w.outbox, msg.Disconnect{Cause: "no slot left"})
		}
	}
}

// gone notes that the core is about to learn that a worker is lost.
func (m *model) gone(w *modelWorker) {
	m.tell(func(t *modelTask) bool { return t.worker == w })
	m.workers = slices.DeleteFunc(m.workers, func(other *modelWorker) bool { return other == w })
}

func (m *model) tell(about func(*modelTask) bool) {
	for _, task := range m.tasks {
		if about(task) {
			task.told = true
		}
	}
}

// work advances a task of a worker by one step.
func (m *model) work(w *modelWorker, mayFail bool) {
	var mine []ids.ExecutionAttemptID
	for id, task := range m.tasks {
		if task.worker == w && !task.over && m.canWork(id, task) {
			mine = append(mine, id)
		}
	}
	if len(mine) == 0 || !w.alive {
		return
	}
	slices.SortFunc(mine, func(a, b ids.ExecutionAttemptID) int {
		return slices.Compare([]int{a.Vertex, a.Subtask, a.Attempt}, []int{b.Vertex, b.Subtask, b.Attempt})
	})
	id := mine[rapid.IntRange(0, len(mine)-1).Draw(m.t, "task")]
	task := m.tasks[id]
	end := func(change msg.TaskStateChange) {
		task.over = true
		change.Execution = id
		w.outbox = append(w.outbox, changed(change))
	}
	switch {
	case task.cancel:
		change := msg.TaskStateChange{State: msg.ExecutionCanceled}
		if mayFail && m.oneIn(4) { // it may have failed before it heard that it is cancelled
			if change.Failure = m.read(task, mayFail); change.Failure != nil {
				change.State = msg.ExecutionFailed
			}
		}
		end(change)
	case mayFail && m.oneIn(25):
		failure := msg.NewFailure("boom", "")
		if rapid.Bool().Draw(m.t, "blames") {
			n := rapid.IntRange(1, m.names).Draw(m.t, "peer")
			failure.PeerLost = ids.HostID(fmt.Sprint("h", n))
			if rapid.Bool().Draw(m.t, "a server") {
				failure.PeerLost = ids.PartitionHost(ids.ResourceID(fmt.Sprint("w", n)))
			}
		}
		end(msg.TaskStateChange{State: msg.ExecutionFailed, Failure: failure})
	case m.config.Graph.Vertices[id.Vertex].Commit && !task.granted:
		if mayFail && m.oneIn(30) { // a mistake, which the core must not take for a commit
			end(msg.TaskStateChange{State: msg.ExecutionFinished})
			return
		}
		if failure := m.read(task, mayFail); failure != nil {
			end(msg.TaskStateChange{State: msg.ExecutionFailed, Failure: failure})
			return
		}
		task.prepared = true
		m.tasks[id].winners = m.parts(id.Vertex)
		w.outbox = append(w.outbox, msg.CommitPrepared{Execution: id, Winners: task.winners})
	case m.config.Graph.Vertices[id.Vertex].Source && !task.exhausted:
		task.asking = true
		w.outbox = append(w.outbox, msg.RequestSplit{Execution: id})
	case !m.sent(task):
	default:
		if failure := m.read(task, mayFail); failure != nil {
			end(msg.TaskStateChange{State: msg.ExecutionFailed, Failure: failure})
			return
		}
		w.outbox = append(w.outbox, changed(msg.TaskStateChange{Execution: id, State: msg.ExecutionRunning}))
		finished := msg.TaskStateChange{State: msg.ExecutionFinished, Partitions: m.writes(id)}
		if !m.config.Graph.Vertices[id.Vertex].Commit { // these run no user's code
			finished.Counters = map[string]int64{"tasks": 1}
		}
		if mayFail && m.oneIn(50) {
			finished.Counters = manyCounters(msg.MaxJobCounters / msg.CounterBytes) // more than fit
		} else {
			m.finish(w, id, task)
		}
		end(finished)
	}
}

// canWork tells whether a task does not wait for the core or for other tasks.
func (m *model) canWork(id ids.ExecutionAttemptID, task *modelTask) bool {
	switch {
	case task.cancel:
		return true
	case m.config.Graph.Vertices[id.Vertex].Commit && !task.granted:
		return !task.prepared && m.parts(id.Vertex) != nil
	}
	return !task.asking
}

// parts names the attempts that have written what a vertex commits; nil: some have not finished.
func (m *model) parts(vertex int) []string {
	writer := int(m.config.Graph.Inputs(jobgraph.VertexID(vertex))[0].From)
	var names []string
	for s := range m.config.Graph.Vertices[writer].Parallelism {
		id := m.counts(writer, s)
		if task := m.tasks[id]; task == nil || !task.finished {
			return nil
		}
		names = append(names, id.String())
	}
	return names
}

// mayCommit notes that a task may commit these winners from now on.
func (m *model) mayCommit(id ids.ExecutionAttemptID, winners []string) {
	v := id.Vertex
	record, err := commitrecord.Decode(m.records[m.core.graph.Vertex(v)[0].Region].Record)
	if err != nil || !slices.Equal(record.Winners[v], winners) {
		m.t.Fatalf("%s may commit %v; stored is %v, %v", id, winners, record.Winners, err)
	}
	if before, known := m.commits[v]; known && !slices.Equal(before, winners) {
		m.t.Fatalf("%s may commit %v, and an earlier task %v", id, winners, before)
	}
	m.commits[v] = winners
	for _, winner := range winners {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(m.tasks)), func(id ids.ExecutionAttemptID) bool {
			return id.String() == winner && m.tasks[id].finished
		}) {
			m.t.Fatalf("%s may commit %v, and %s has not finished", id, winners, winner)
		}
	}
	m.tasks[id].granted = true
}

// endHost ends a host though tasks may be on their way to it. Its worker reports this, and starts another
// one unless it is full.
func (m *model) endHost(w *modelWorker, reason msg.HostLostReason) {
	if !w.alive {
		return
	}
	for _, task := range m.tasks {
		if task.host == w.host {
			task.over = true
		}
	}
	w.outbox = append(w.outbox, msg.HostLost{Host: w.host, Reason: reason, Failure: msg.Failure{Message: "exit status 137"}})
	if reason == msg.HostFull {
		w.host, w.unavailable = "", true
		return
	}
	m.startHost(w)
}

func (m *model) killWorker(w *modelWorker) {
	w.alive = false
	// Some or all messages on their way may still arrive.
	w.outbox = w.outbox[:rapid.IntRange(0, len(w.outbox)).Draw(m.t, "arrives")]
	for _, task := range m.tasks {
		if task.worker == w {
			task.over = true
		}
	}
}

func (m *model) advance(d time.Duration) {
	until := m.now.Add(d)
	for !m.wake.IsZero() && !m.wake.After(until) && m.ended == nil {
		m.now, m.wake, m.alarm = m.wake, time.Time{}, time.Time{}
		for _, w := range m.workers { // otherwise living workers would be lost because of silence
			if w.alive && w.connected && len(w.outbox) == 0 {
				m.step(taskExecutorSaid{From: w.peer, Message: msg.Heartbeat{}})
			}
		}
		m.step(woken{})
	}
	m.now = until
}

// settle lets all peers cooperate until the job has ended. A few losses strike it on its way.
func (m *model) settle() {
	m.step(resourceManagerSaid{msg.JobMasterRegistered{}})
	strikes := rapid.SliceOfN(rapid.IntRange(1, 60), 0, 6).Draw(m.t, "strikes")
	for round := range 10_000 {
		if m.ended != nil {
			return
		}
		if slices.Contains(strikes, round) {
			m.strike()
		}
		m.comeBack()
		m.connect(false)
		m.store(false)
		busy := len(m.writing) > 0
		for _, w := range slices.Clone(m.workers) {
			if len(w.outbox) > 0 || !w.alive {
				m.deliver(w)
				busy = true
			} else {
				m.work(w, false)
				busy = busy || len(w.outbox) > 0
			}
		}
		if !busy { // otherwise the job would never begin before it hears that a larger part has no room
			m.tellShort()
		}
		if !busy || round%100 == 99 { // also while workers come: the core waits for a worker that left
			m.advance(time.Second)
		}
	}
	m.t.Fatalf("job does not end: %v", describeDetails(m.core.details()))
}

// strike loses something.
func (m *model) strike() {
	w := m.pick()
	switch rapid.IntRange(0, 6).Draw(m.t, "strike") {
	case 0:
		m.killMaster()
		m.step(resourceManagerSaid{msg.JobMasterRegistered{}})
	case 1:
		if w != nil && w.host != "" { // unlike HostFailed, these use up no restart
			m.endHost(w, rapid.SampledFrom([]msg.HostLostReason{msg.HostStopped, msg.HostFull}).Draw(m.t, "reason"))
		}
	case 2:
		if w != nil {
			m.damage(w)
		}
	case 3:
		if w != nil {
			m.cutOff(w)
		}
	default:
		if w != nil {
			m.killWorker(w)
		}
	}
}

func (m *model) step(event event) {
	m.events = append(m.events, timedEvent{m.now, event})
	for _, effect := range m.core.Step(m.now, event) {
		m.effects = append(m.effects, describe(effect)...)
		if m.ended != nil {
			m.t.Fatalf("effect after the end: %#v", effect)
		}
		m.take(effect)
	}
	if at := m.core.Alarm(); !at.Equal(m.alarm) {
		m.alarm, m.wake = at, at
	}
}

func (m *model) take(effect effect) {
	switch e := effect.(type) {
	case storeCommit:
		if _, again := m.records[e.Region]; again || slices.ContainsFunc(m.writing, func(w storeCommit) bool { return w.Region == e.Region }) {
			m.t.Fatalf("two records of region %d are stored", e.Region)
		}
		m.pin(e)
		if m.writing = append(m.writing, e); len(m.writing) > maxStoring {
			m.t.Fatalf("%d records are stored at the same time", len(m.writing))
		}
	case storeCommitted:
		if commit, recorded := m.records[e.Region]; !recorded || commit.Finished || slices.Contains(m.done, e.Region) {
			m.t.Fatalf("region %d commits, recorded: %t, for the second time: %t", e.Region, recorded, recorded)
		}
		m.done = append(m.done, e.Region)
	case ended:
		m.ended, m.endedBy = &e, len(m.events)
	case closeTaskExecutor:
		for _, w := range m.workers {
			if w.peer.Connection == e.To {
				w.connected, w.outbox = false, nil
			}
		}
	case tellResourceManager:
		switch message := e.Message.(type) {
		case msg.DeclareRequirements:
			if m.required != 0 && message.Needs[0].Slots > m.required && !m.config.Speculation.Enabled && m.config.FailoverStrategy == failover.RestartRegion && !m.core.graph.Blocking() {
				m.t.Fatalf("%d slots are declared after %d", message.Needs[0].Slots, m.required)
			}
			m.required = message.Needs[0].Slots
			m.least = message.Needs[0].Least
			m.short = m.room > 0 && m.least > m.room
		case msg.BlockNodes:
			m.blocked = nil
			for _, n := range message.Nodes {
				m.blocked = append(m.blocked, n.Node)
			}
			m.short = m.room > 0 && m.least > m.room
		}
	case sendTaskExecutor:
		w := m.at(e.To)
		switch message := e.Message.(type) {
		case msg.DeployTasks:
			m.deploy(w, message)
		case msg.CancelTasks:
			for _, id := range message.Executions {
				m.tasks[id].cancel = true
			}
		case msg.ReleasePartitions:
			m.release(w, message.Partitions)
		case msg.CommitGranted:
			m.mayCommit(message.Execution, m.tasks[message.Execution].winners)
		case msg.SplitAssigned:
			task := m.tasks[message.Execution]
			task.asking = false
			if message.Split == nil {
				task.exhausted = true
			} else {
				task.splits = append(task.splits, message.Split.Base)
				task.reads = []uint64{task.reads[0] + message.Lineage}
			}
		case msg.FreeSlots:
			m.giveBack(w, message.Allocations...)
		case msg.SlotOffersAnswered:
			w.answered = true
			if len(message.Accepted) > 0 && w.unavailable && slices.Contains(m.blocked, w.node) {
				m.t.Fatalf("slots %v are taken from node %s, which is set aside", message.Accepted, w.node)
			}
			m.giveBack(w, message.Rejected...)
		}
	}
}

func (m *model) at(connection actor.ConnectionID) *modelWorker {
	for _, w := range m.workers {
		if w.peer.Connection == connection {
			if !w.connected {
				m.t.Fatalf("message over lost connection %d", connection)
			}
			return w
		}
	}
	m.t.Fatalf("message over unknown connection %d", connection)
	return nil
}

func (m *model) deploy(w *modelWorker, d msg.DeployTasks) {
	if d.Host != w.known {
		m.t.Fatalf("tasks for host %s, the core was told of %q last", d.Host, w.known)
	}
	for _, deployed := range d.Tasks {
		id := deployed.Execution
		subtask := [2]int{id.Vertex, id.Subtask}
		if last, before := m.attempts[subtask]; before && last.Epoch == id.Epoch && id.Attempt <= last.Attempt {
			m.t.Fatalf("%s is deployed after %s", id, last)
		}
		m.checkBeside(id)
		m.checkRecorded(deployed)
		if !slices.Contains(w.slots, deployed.Allocation) {
			m.t.Fatalf("%s is deployed into slot %s, which its worker does not hold", id, deployed.Allocation)
		}
		for other, task := range m.tasks {
			if task.slot != deployed.Allocation || task.told {
				continue
			}
			if other.Vertex == id.Vertex {
				m.t.Fatalf("%s is deployed into slot %s, where %s has not ended", id, task.slot, other)
			}
			if g := m.config.Graph; g.Vertices[other.Vertex].Group != g.Vertices[id.Vertex].Group {
				m.t.Fatalf("%s is deployed into slot %s, where %s of another slot sharing group has not ended", id, task.slot, other)
			}
		}
		m.attempts[subtask] = id
		// A host that died meanwhile never starts it.
		m.tasks[id] = &modelTask{worker: w, host: d.Host, slot: deployed.Allocation, reads: deployed.Inputs, over: !w.alive || w.host != d.Host}
		if deployed.Winners != nil {
			m.mayCommit(id, deployed.Winners)
		}
	}
	m.checkCoLocations(d)
	parallelism := make([]int, len(m.config.Graph.Vertices))
	for v, vertex := range m.config.Graph.Vertices {
		parallelism[v] = vertex.Parallelism
	}
	table, err := placement.Decode(d.Producers, parallelism)
	if err != nil {
		m.t.Fatal(err)
	}
	m.place(d, table)
	for v, n := range parallelism {
		for s := range n {
			id, host, found := table.Find(v, s)
			task := m.tasks[id]
			if found && task != nil && task.host != host.ID { // nil: its own message follows in this step
				m.t.Fatalf("%s is said to be in %s but is in %s", id, host.ID, task.host)
			}
		}
	}
}

// checkBeside checks that a task may run beside the attempts of its subtask that have not ended. One that is cancelled because another
// one has finished may still run.
func (m *model) checkBeside(id ids.ExecutionAttemptID) {
	beside, most := 0, 1
	if v := m.config.Graph.Vertices[id.Vertex]; m.config.Speculation.Enabled && !v.Commit {
		most = m.config.Speculation.Attempts
	}
	for other, task := range m.tasks {
		if other.Vertex != id.Vertex || other.Subtask != id.Subtask || task.told || most > 1 && task.cancel {
			continue
		}
		if beside++; beside >= most {
			m.t.Fatalf("%s is deployed though %s has not ended", id, other)
		}
	}
}

// checkRecorded checks that only commit tasks of a region with a record run, and no task while there may be one.
func (m *model) checkRecorded(d msg.TaskDeployment) {
	v := d.Execution.Vertex
	region := m.core.graph.Vertex(v)[d.Execution.Subtask].Region
	if slices.ContainsFunc(m.writing, func(w storeCommit) bool { return w.Region == region }) {
		m.t.Fatalf("%s is deployed while the record of its region is being stored", d.Execution)
	}
	m.checkCovered(d, region)
	commit, recorded := m.records[region]
	if commit.Finished || slices.Contains(m.done, region) {
		m.t.Fatalf("%s is deployed, and its region has committed", d.Execution)
	}
	if commits := m.config.Graph.Vertices[v].Commit; recorded && !commits || (recorded && commits) != (d.Winners != nil) {
		m.t.Fatalf("%s is deployed with winners %v; its region has a record: %t", d.Execution, d.Winners, recorded)
	}
}

// checkCoLocations checks that co-located subtasks come together, and in one slot.
func (m *model) checkCoLocations(d msg.DeployTasks) {
	slots := make(map[[2]int]ids.AllocationID)
	for _, task := range d.Tasks {
		slots[[2]int{task.Execution.Vertex, task.Execution.Subtask}] = task.Allocation
	}
	for _, pair := range m.config.Graph.CoLocations {
		if m.config.Graph.Vertices[pair.A].Commit || m.config.Graph.Vertices[pair.B].Commit {
			continue // only the commit may run again
		}
		for s := range m.config.Graph.Vertices[pair.A].Parallelism {
			if a, b := slots[[2]int{int(pair.A), s}], slots[[2]int{int(pair.B), s}]; a != b {
				m.t.Fatalf("subtask %d of co-located vertices %d and %d is deployed into slots %q and %q", s, pair.A, pair.B, a, b)
			}
		}
	}
}

// heardOf tells whether the core has handled the offers of a worker.
func (m *model) heardOf(w *modelWorker) bool {
	return slices.ContainsFunc(m.events[:m.endedBy], func(e timedEvent) bool {
		said, is := e.event.(taskExecutorSaid)
		if !is || said.From != w.peer {
			return false
		}
		_, offered := said.Message.(msg.OfferSlots)
		return offered
	})
}

func (m *model) checkEnd() {
	if !m.ended.Details.Status.GloballyTerminal() {
		m.t.Fatalf("job ended as %s", m.ended.Details.Status)
	}
	for _, w := range m.workers {
		if w.alive && len(w.slots) > 0 && m.heardOf(w) {
			m.t.Errorf("worker %s keeps slots %v after the end", w.peer.Resource, w.slots)
		}
	}
	if m.ended.Details.Status == msg.JobCanceled && !m.cancelled {
		m.t.Errorf("job was cancelled by nobody")
	}
	if m.ended.Details.Status != msg.JobFinished {
		return
	}
	var got, want []string
	attempts := make(map[int]bool) // of tasks that any failure restarts
	for subtask, id := range m.attempts {
		if _, recorded := m.records[m.core.graph.Vertex(subtask[0])[subtask[1]].Region]; !recorded {
			attempts[id.Attempt] = true
		}
		got = append(got, m.tasks[m.counts(subtask[0], subtask[1])].splits...)
	}
	m.checkContents()
	if m.config.FailoverStrategy == failover.RestartAll && len(attempts) > 1 && !m.core.graph.Blocking() && !m.config.Speculation.Enabled {
		m.t.Errorf("all tasks restart together, and these attempts count: %v", m.attempts)
	}
	var counting int64
	for _, v := range m.config.Graph.Vertices {
		if !v.Commit {
			counting += int64(v.Parallelism)
		}
	}
	if total := m.ended.Details.Counters["tasks"]; total != counting {
		m.t.Errorf("%d tasks have counted, of %d", total, counting)
	}
	for i, v := range m.ended.Details.Vertices {
		if got := m.core.countedIn(i); !maps.Equal(got, v.Counters) {
			m.t.Errorf("a question about vertex %d finds the counters %v, one about the job %v", i, got, v.Counters)
		}
	}
	for i, v := range m.config.Graph.Vertices {
		if v.Commit && !m.tasks[m.attempts[[2]int{i, 0}]].finished {
			m.t.Errorf("the output of vertex %d is not committed", i)
		}
		for _, s := range v.Splits {
			want = append(want, s.Base)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		m.t.Errorf("the attempts that count read splits %v, want each once: %v", got, want)
	}
}

// checkReplay sends the same events to another core.
func (m *model) checkReplay() {
	core, err := newCore(m.config)
	if err != nil {
		m.t.Fatal(err)
	}
	var effects []string
	for _, e := range m.events {
		for _, effect := range core.Step(e.at, e.event) {
			effects = append(effects, describe(effect)...)
		}
	}
	if diff := cmp.Diff(m.effects, effects); diff != "" {
		m.t.Fatalf("replay gives other effects (-first +replay):\n%s", diff)
	}
}
