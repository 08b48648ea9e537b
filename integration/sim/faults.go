package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
)

// fault is something that goes wrong at a time. It names its victim by a number among those that are
// there at this time, so that it means something without the other faults, too.
type fault struct {
	At     time.Duration // since the start
	Kind   faultKind
	Victim int
	Time   time.Duration // how long it takes; 0: for ever
}

func (f fault) String() string {
	if f.Time == 0 {
		return fmt.Sprintf("%v %s %d", f.At, f.Kind, f.Victim)
	}
	return fmt.Sprintf("%v %s %d for %v", f.At, f.Kind, f.Victim, f.Time)
}

// faultKind is what goes wrong.
type faultKind string

// The kinds of faults.
const (
	killHost     faultKind = "kill host"
	killWorker   faultKind = "kill worker"
	loseWorker   faultKind = "lose worker" // its machine loses power: nobody is told
	freezeHost   faultKind = "freeze host"
	freezeWorker faultKind = "freeze worker" // the TaskExecutor, not its hosts
	freezeMaster faultKind = "freeze master"
	cutStreams   faultKind = "cut streams"   // all of one worker
	stallStreams faultKind = "stall streams" // likewise
)

// kinds are all kinds of faults, each with the longest time that it takes.
var kinds = []struct { //nolint:gochecknoglobals // a constant table
	kind faultKind
	most time.Duration
}{
	{killHost, 0},
	{killWorker, 0},
	{loseWorker, 0},
	{freezeHost, 2 * time.Minute},
	{freezeWorker, 2 * time.Minute},
	{freezeMaster, 2 * time.Minute},
	{cutStreams, 0},
	{stallStreams, 2 * time.Minute},
}

// faultTime is the time in which faults happen.
const faultTime = 2 * time.Minute

// drawFaults draws the faults of a run, in the order of their times.
func drawFaults(r *rand.Rand) []fault {
	faults := make([]fault, r.IntN(8))
	for i := range faults {
		kind := kinds[r.IntN(len(kinds))]
		f := fault{At: between(r, 0, faultTime), Kind: kind.kind, Victim: r.IntN(16)}
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
	slices.SortFunc(faults, func(a, b fault) int { return cmp.Compare(a.At, b.At) })
	return faults
}

// plan makes the events of faults.
func (w *World) plan(faults []fault) {
	for _, f := range faults {
		w.engine.At(epoch.Add(f.At), nil, func() { w.strike(f) })
	}
}

// strike lets a fault happen. Without a victim nothing happens.
func (w *World) strike(f fault) {
	w.logger.WithField("fault", f).Info("fault")
	switch f.Kind {
	case killHost, freezeHost:
		if h, some := pick(w.runningHosts(), f.Victim); some {
			w.hit(f, h.process)
		}
	case killWorker, freezeWorker:
		if k, some := pick(w.runningWorkers(), f.Victim); some {
			w.hit(f, k.process)
		}
	case loseWorker:
		if k, some := pick(w.runningWorkers(), f.Victim); some {
			w.silent[k.process] = true
			for _, h := range k.hosts {
				w.silent[h.process] = true
			}
			k.process.Kill()
		}
	case freezeMaster:
		if m, some := pick(w.masters, f.Victim); some {
			w.hit(f, m.process)
		}
	case cutStreams, stallStreams:
		if k, some := pick(w.runningWorkers(), f.Victim); some {
			for _, l := range w.links[k.process] {
				if f.Kind == cutStreams {
					l.cut()
				} else {
					l.stall(w.engine.Now().Add(f.Time))
				}
			}
		}
	}
}

// hit kills or freezes a process.
func (w *World) hit(f fault, p *engine.Process) {
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
