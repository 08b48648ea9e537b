package sim

import (
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
)

// FaultKind is what goes wrong.
type FaultKind string

// The kinds of Faults.
const (
	KillHost     FaultKind = "kill host"
	HangHost     FaultKind = "hang host" // for ever
	FreezeHost   FaultKind = "freeze host"
	KillWorker   FaultKind = "kill worker"
	HangWorker   FaultKind = "hang worker"   // for ever: the TaskExecutor, not its hosts
	FreezeWorker FaultKind = "freeze worker" // likewise
	TakeBack     FaultKind = "take back"     // YARN takes the container of a worker
	KillMaster   FaultKind = "kill master"
	FreezeMaster FaultKind = "freeze master"
	// MakeZombie freezes a master, and cuts its NodeManager off from the ResourceManager for longer: so the master wakes
	// beside its successor.
	MakeZombie   FaultKind = "make zombie"
	KillProgram  FaultKind = "kill program"  // of an application
	CancelJob    FaultKind = "cancel job"    // by its user; a job of a program runs on
	KillClient   FaultKind = "kill client"   // of an application
	CutStreams   FaultKind = "cut streams"   // all of one worker
	StallStreams FaultKind = "stall streams" // likewise
	// HoldRegistration holds the next registration of a worker back: at the ResourceManager, or with an odd Victim at
	// a JobMaster.
	HoldRegistration FaultKind = "hold registration"
	OldLeader        FaultKind = "old leader"       // messages of a worker's streams come again, as from or for an earlier leader
	CutData          FaultKind = "cut data"         // the connections of a task host to others
	CutPartitions    FaultKind = "cut partitions"   // the connections by which a worker serves finished partitions
	DamagePartition  FaultKind = "damage partition" // a finished one
	BreakDisk        FaultKind = "break disk"       // of a worker: what is there is lost, and nothing can be written
	StopHDFS         FaultKind = "stop HDFS"        // calls wait
	ShakeHDFS        FaultKind = "shake HDFS"       // some calls fail, before or after their effect
	StopKDC          FaultKind = "stop KDC"         // no process gets a new ticket
	StopYARN         FaultKind = "stop YARN"        // the ResourceManager is away, and recovers afterwards
	ForgetYARN       FaultKind = "forget YARN"      // the ResourceManager starts again without its state
	RollKey          FaultKind = "roll key"         // the ResourceManager signs the tokens of masters with another key; once in a run
	ShakeYARN        FaultKind = "shake YARN"       // some calls are lost, before or after their effect
	FillNodes        FaultKind = "fill nodes"       // other tenants of the cluster take all room
	StopNode         FaultKind = "stop node"        // a NodeManager and its containers end, and it starts again
	LoseNode         FaultKind = "lose node"        // likewise, and no peer is told: its machine loses power
	HangNode         FaultKind = "hang node"        // a NodeManager answers no calls
	BreakNode        FaultKind = "break node"       // task hosts do not start there
	SlowNode         FaultKind = "slow node"        // its processes answer, and the tasks there get nothing done
	CutManager       FaultKind = "cut manager"      // a NodeManager and the ResourceManager do not reach each other
	CutNode          FaultKind = "cut node"         // likewise, and the masters on the node do not reach the ResourceManager
	// LoseCall and LoseAnswer lose the call that they wait for, before or after its effect.
	LoseCall   FaultKind = "lose call"
	LoseAnswer FaultKind = "lose answer"
)

// kind describes a FaultKind.
type kind struct {
	kind   FaultKind
	most   time.Duration // the longest time; 0: it has no time
	call   bool          // it needs a call
	strike func(w *World, f Fault)
}

// kinds are all kinds of Faults.
var kinds = []kind{ //nolint:gochecknoglobals // a constant table
	{KillHost, 0, false, on((*World).runningHosts, func(h *host, _ time.Duration) { h.process.Kill() })},
	{HangHost, 0, false, on((*World).runningHosts, func(h *host, _ time.Duration) { h.w.hang(h.process) })},
	{FreezeHost, 2 * time.Minute, false, on((*World).runningHosts, func(h *host, d time.Duration) { h.w.freeze(h.process, d) })},
	{CutData, 0, false, on((*World).runningHosts, func(h *host, _ time.Duration) { h.w.plane.cut(h.process) })},
	{KillWorker, 0, false, on((*World).runningWorkers, func(k *worker, _ time.Duration) { k.kill() })},
	{HangWorker, 0, false, on((*World).runningWorkers, func(k *worker, _ time.Duration) { k.w.hang(k.process) })},
	{FreezeWorker, 2 * time.Minute, false, on((*World).runningWorkers, func(k *worker, d time.Duration) { k.w.freeze(k.process, d) })},
	{CutPartitions, 0, false, on((*World).runningWorkers, func(k *worker, _ time.Duration) { k.disks.cut() })},
	{DamagePartition, 0, false, on((*World).partitions, func(p place, _ time.Duration) { p.at.damage(p.partition) })},
	{BreakDisk, 2 * time.Minute, false, func(w *World, f Fault) {
		on((*World).runningWorkers, func(k *worker, d time.Duration) { k.disks.fail(f.Victim/2%disksPerWorker, d) })(w, f)
	}},
	{TakeBack, 0, false, on((*World).runningWorkers, func(k *worker, _ time.Duration) { k.w.yarn.takeBack(k.container) })},
	{CutStreams, 0, false, on((*World).runningWorkers, func(k *worker, _ time.Duration) {
		k.w.disturb(k.process, 0)
		k.eachLink(link.cut)
	})},
	{StallStreams, 2 * time.Minute, false, on((*World).runningWorkers, func(k *worker, d time.Duration) {
		k.w.disturb(k.process, d)
		k.eachLink(func(l link) { l.stall(k.w.after(d)) })
	})},
	{HoldRegistration, 2 * time.Minute, false, func(w *World, f Fault) { w.holds = append(w.holds, hold{f.Victim%2 == 1, f.Time}) }},
	{OldLeader, 0, false, on((*World).runningWorkers, func(k *worker, _ time.Duration) { k.eachLink(link.repeat) })},
	{KillMaster, 0, false, on((*World).runningMasters, func(m *master, _ time.Duration) { m.kill() })},
	{FreezeMaster, 6 * time.Minute, false, on((*World).runningMasters, func(m *master, d time.Duration) { m.w.freeze(m.process, d) })}, // longer than YARN waits
	{MakeZombie, 8 * time.Minute, false, on((*World).runningMasters, func(m *master, d time.Duration) {
		m.w.prolong(&m.node.cut, d+time.Minute)
		m.w.freeze(m.process, d)
	})},
	{KillProgram, 0, false, on((*World).runningPrograms, func(p *planner, _ time.Duration) {
		p.w.excuse(p.master.attempt.Application, "its program is killed")
		p.process.Kill()
	})},
	{CancelJob, 0, false, on((*World).cancellable, func(s submitted, _ time.Duration) { s.cancel() })},
	{KillClient, 0, false, on((*World).runningClients, func(c *client, _ time.Duration) {
		c.killed = true
		c.process.Kill()
	})},
	{StopHDFS, 2 * time.Minute, false, func(w *World, f Fault) { w.prolong(&w.hdfs.away, f.Time) }},
	{ShakeHDFS, 2 * time.Minute, false, func(w *World, f Fault) { w.prolong(&w.hdfs.unsure, f.Time) }},
	// Tokens may end meanwhile. The tasks then fail at HDFS and restart, once a second and in the simulation up
	// to 1000 times, until the master has new tokens: longestPause after the KDC is back, at the latest.
	{StopKDC, 5 * time.Minute, false, func(w *World, f Fault) { w.prolong(&w.hdfs.tokens.away, f.Time) }},
	{StopYARN, 2 * time.Minute, false, func(w *World, f Fault) { w.yarn.stop(f.Time) }},
	{ForgetYARN, 0, false, func(w *World, _ Fault) { w.yarn.forget() }},
	{RollKey, 0, false, func(w *World, _ Fault) { w.yarn.roll() }},
	{ShakeYARN, 2 * time.Minute, false, func(w *World, f Fault) { w.prolong(&w.yarn.unsure, f.Time) }},
	{FillNodes, 3 * time.Minute, false, func(w *World, f Fault) { w.prolong(&w.yarn.full, f.Time) }},
	{StopNode, 3 * time.Minute, false, on((*World).nodes, (*node).stop)},
	{LoseNode, 3 * time.Minute, false, on((*World).nodes, (*node).lose)},
	{HangNode, 3 * time.Minute, false, on((*World).nodes, func(n *node, d time.Duration) { n.w.prolong(&n.silent, d) })},
	{BreakNode, 3 * time.Minute, false, on((*World).nodes, func(n *node, d time.Duration) { n.w.prolong(&n.broken, d) })},
	{SlowNode, 5 * time.Minute, false, on((*World).nodes, func(n *node, d time.Duration) { n.w.prolong(&n.slow, d) })},
	{CutManager, 6 * time.Minute, false, on((*World).nodes, func(n *node, d time.Duration) { n.w.prolong(&n.cut, d) })}, // longer than YARN waits
	{CutNode, 6 * time.Minute, false, on((*World).nodes, func(n *node, d time.Duration) {
		n.w.prolong(&n.cut, d)
		n.w.prolong(&n.apart, d)
	})},
	{LoseCall, 0, true, nil},
	{LoseAnswer, 0, true, nil},
}

// strike lets a fault happen. Without a victim nothing happens.
func (w *World) strike(f Fault) {
	w.logger.WithField("fault", f).Info("fault")
	if f.Kind != FillNodes { // which disturbs no process
		w.calm = max(w.calm, w.since()+f.Time)
	}
	k, _ := f.describe() // plan has looked
	k.strike(w, f)
}

// describe returns what its kind is.
func (f Fault) describe() (k kind, known bool) {
	for _, k := range kinds {
		if k.kind == f.Kind {
			return k, true
		}
	}
	return k, false
}

// after is the end of a time that begins now.
func (w *World) after(d time.Duration) time.Time { return w.engine.Now().Add(d) }

// prolong makes a state last for a time from now on. One that already lasts longer stays.
func (w *World) prolong(until *time.Time, d time.Duration) {
	*until = latest(*until, w.after(d))
}

// latest returns the later one of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// freeze stops a process for a time.
func (w *World) freeze(p *engine.Process, d time.Duration) {
	w.disturb(p, d)
	w.frozen[p] = latest(w.frozen[p], w.after(d))
	p.Freeze()
	w.hdfs.space.Freeze(w.engine.Now(), p.Name) // it renews no leases
	w.engine.After(d, nil, func() {
		if w.engine.Now().Before(w.frozen[p]) || !p.Alive() {
			return
		}
		if p.Thaw(); !p.Frozen() {
			w.hdfs.space.Wake(w.engine.Now(), p.Name)
		}
	})
}

// hang stops a process for ever.
func (w *World) hang(p *engine.Process) {
	p.Hang()
	w.hdfs.space.Freeze(w.engine.Now(), p.Name)
}

// disturb notes that a fault keeps a process, or its streams, from working for a time.
func (w *World) disturb(p *engine.Process, d time.Duration) {
	w.disturbed[p] = latest(w.disturbed[p], w.after(d))
}

// on returns the strike of a fault that hits one of several.
func on[T any](all func(*World) []T, hit func(T, time.Duration)) func(*World, Fault) {
	return func(w *World, f Fault) {
		if there := all(w); len(there) > 0 {
			hit(there[f.Victim%len(there)], f.Time)
		}
	}
}

// alive returns those whose process has not ended, in their order.
func alive[T any](all []T, process func(T) *engine.Process) []T {
	var running []T
	for _, one := range all {
		if process(one).Alive() {
			running = append(running, one)
		}
	}
	return running
}

func (w *World) runningMasters() []*master {
	return alive(w.masters, func(m *master) *engine.Process { return m.process })
}

// runningClients are the clients whose end changes nothing: without its client, a session runs for ever.
func (w *World) runningClients() []*client {
	if w.schedule.Mode == Session {
		return nil
	}
	return alive(w.clients, func(c *client) *engine.Process { return c.process })
}

func (w *World) runningPrograms() []*planner {
	return alive(w.planners, func(p *planner) *engine.Process { return p.process })
}

// runningWorkers are the workers whose TaskExecutors live.
func (w *World) runningWorkers() []*worker {
	return alive(w.containers, func(k *worker) *engine.Process { return k.process })
}

func (w *World) runningHosts() []*host {
	var all []*host
	for _, k := range w.containers {
		all = append(all, k.hosts...)
	}
	return alive(all, func(h *host) *engine.Process { return h.process })
}

// place is a finished partition and the disks that have it.
type place struct {
	at        *disks
	partition served
}

func (w *World) partitions() (all []place) {
	for _, k := range w.runningWorkers() {
		for _, p := range k.disks.list() {
			all = append(all, place{k.disks, p})
		}
	}
	return all
}

func (w *World) nodes() []*node { return w.yarn.nodes }
