package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// FaultKind is what goes wrong.
type FaultKind string

// The kinds of Faults.
const (
	KillHost     FaultKind = "kill host"
	KillWorker   FaultKind = "kill worker"
	LoseWorker   FaultKind = "lose worker" // its machine loses power: nobody is told
	HangHost     FaultKind = "hang host"   // for ever
	HangWorker   FaultKind = "hang worker" // likewise: the TaskExecutor, not its hosts
	FreezeHost   FaultKind = "freeze host"
	FreezeWorker FaultKind = "freeze worker" // the TaskExecutor, not its hosts
	KillMaster   FaultKind = "kill master"
	FreezeMaster FaultKind = "freeze master"
	CutStreams   FaultKind = "cut streams"   // all of one worker
	StallStreams FaultKind = "stall streams" // likewise
	StopHDFS     FaultKind = "stop HDFS"     // calls wait
	ShakeHDFS    FaultKind = "shake HDFS"    // some calls fail, before or after their effect
	StopYARN     FaultKind = "stop YARN"     // the ResourceManager is away, and recovers afterwards
	ShakeYARN    FaultKind = "shake YARN"    // some calls are lost, before or after their effect
	TakeBack     FaultKind = "take back"     // YARN takes the container of a worker
	StopNode     FaultKind = "stop node"     // a NodeManager and its containers end, and it starts again
)

// kinds are all kinds of Faults, each with the longest time that it takes.
var kinds = []struct { //nolint:gochecknoglobals // a constant table
	kind FaultKind
	most time.Duration
}{
	{KillHost, 0},
	{KillWorker, 0},
	{LoseWorker, 0},
	{HangHost, 0},
	{HangWorker, 0},
	{TakeBack, 0},
	{FreezeHost, 2 * time.Minute},
	{FreezeWorker, 2 * time.Minute},
	{KillMaster, 0},
	{FreezeMaster, 6 * time.Minute}, // longer than YARN waits for it
	{CutStreams, 0},
	{StallStreams, 2 * time.Minute},
	{StopHDFS, 2 * time.Minute},
	{ShakeHDFS, 2 * time.Minute},
	{StopYARN, 2 * time.Minute},
	{ShakeYARN, 2 * time.Minute},
	{StopNode, 3 * time.Minute},
}

// faultTime is the time in which faults happen.
const faultTime = 2 * time.Minute

// drawFaults draws the faults of a run, in the order of their times.
func drawFaults(r *rand.Rand) []Fault {
	faults := make([]Fault, r.IntN(8))
	for i := range faults {
		kind := kinds[r.IntN(len(kinds))]
		f := Fault{At: between(r, 0, faultTime), Kind: kind.kind, Victim: r.IntN(16)}
		if r.IntN(3) > 0 { // most jobs are short
			f.At /= 10
		}
		if kind.most > 0 {
			f.Time = between(r, 10*time.Millisecond, kind.most)
			if r.IntN(2) > 0 {
				f.Time /= 20
			}
		}
		faults[i] = f
	}
	slices.SortFunc(faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return faults
}

// plan makes the events of Faults.
func (w *World) plan(faults []Fault) {
	for _, f := range faults {
		w.calm = max(w.calm, f.At+f.Time)
		w.engine.At(epoch.Add(f.At), nil, func() { w.strike(f) })
	}
}

// strike lets a fault happen. Without a victim nothing happens.
func (w *World) strike(f Fault) {
	w.logger.WithField("fault", f).Info("fault")
	switch f.Kind {
	case KillHost, FreezeHost:
		if h, some := pick(w.runningHosts(), f.Victim); some {
			w.hit(f, h.process)
		}
	case KillWorker, FreezeWorker:
		if k, some := pick(w.runningWorkers(), f.Victim); some {
			w.hit(f, k.process)
		}
	case HangHost:
		if h, some := pick(w.runningHosts(), f.Victim); some {
			h.process.Hang()
		}
	case HangWorker:
		if k, some := pick(w.runningWorkers(), f.Victim); some {
			k.process.Hang()
		}
	case TakeBack:
		if k, some := pick(w.runningWorkers(), f.Victim); some {
			w.yarn.step(books.ContainerTaken{ID: k.container, Exit: records.ExitPreempted, Reason: "taken back"})
		}
	case LoseWorker:
		if k, some := pick(w.runningWorkers(), f.Victim); some {
			w.silent[k.process] = true
			for _, h := range k.hosts {
				w.silent[h.process] = true
			}
			k.process.Kill()
		}
	case KillMaster, FreezeMaster:
		if m, some := pick(w.runningMasters(), f.Victim); some {
			w.hit(f, m.process)
		}
	case StopHDFS:
		w.hdfs.away = w.engine.Now().Add(f.Time)
	case ShakeHDFS:
		w.hdfs.unsure = w.engine.Now().Add(f.Time)
	case StopYARN:
		w.yarn.away = w.engine.Now().Add(f.Time)
		w.engine.After(f.Time, nil, func() { w.yarn.step(books.Restarted{}) })
	case ShakeYARN:
		w.yarn.unsure = w.engine.Now().Add(f.Time)
	case StopNode:
		n, _ := pick(w.yarn.nodes, f.Victim)
		n.step(books.Stop{})
		w.engine.After(f.Time, nil, func() { n.step(books.Start{}) })
	case CutStreams, StallStreams:
		if k, some := pick(w.runningWorkers(), f.Victim); some {
			for _, l := range w.links[k.process] {
				if f.Kind == CutStreams {
					l.cut()
				} else {
					l.stall(w.engine.Now().Add(f.Time))
				}
			}
		}
	}
}

// hit kills or freezes a process.
func (w *World) hit(f Fault, p *engine.Process) {
	if f.Time == 0 {
		p.Kill()
		return
	}
	p.Freeze()
	w.engine.After(f.Time, nil, p.Thaw)
}

func pick[T any](from []T, number int) (one T, some bool) {
	if len(from) == 0 {
		return one, false
	}
	return from[number%len(from)], true
}

// runningWorkers are the workers whose TaskExecutors live, by the order of their starts.
func (w *World) runningWorkers() []*worker {
	var running []*worker
	for _, k := range w.containers {
		if k.process != nil && k.process.Alive() {
			running = append(running, k)
		}
	}
	return running
}

func (w *World) runningMasters() []*master {
	var running []*master
	for _, m := range w.masters {
		if m.process.Alive() {
			running = append(running, m)
		}
	}
	return running
}

func (w *World) runningHosts() []*host {
	var running []*host
	for _, k := range w.containers {
		for _, h := range k.hosts {
			if h.process.Alive() {
				running = append(running, h)
			}
		}
	}
	return running
}
