package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// hdfs is the file system of the cluster: a namespace, and what goes wrong on the way to it.
type hdfs struct {
	w     *World
	space *dfsmodel.Namespace
	chaos *rand.Rand
	// away is until when calls get no answer. Then they are executed.
	away time.Time
	// unsure is until when some calls fail, before or after their effect.
	unsure time.Time
}

func newHDFS(w *World) *hdfs {
	return &hdfs{w: w, space: dfsmodel.NewNamespace(epoch), chaos: w.stream("hdfs")}
}

// open is the access of a process. Its leases end some time after the process.
func (h *hdfs) open(p *engine.Process) *dfsmodel.FileSystem {
	h.w.atEnd(p, func() { h.space.Crash(h.w.engine.Now(), p.Name) })
	return dfsmodel.New(dfsmodel.Options{Namespace: h.space, Caller: caller{h, p, h.w.stream("hdfs " + p.Name)}, Client: p.Name, User: "alice"})
}

// caller is the way of one process to HDFS.
type caller struct {
	*hdfs
	process *engine.Process
	jitter  *rand.Rand
}

// say writes a call into the transcript.
func (c caller) say(op dfsmodel.Operation, err error, fate string) {
	if c.w.traced {
		c.w.logger.WithFields(logrus.Fields{"process": op.Client, "call": op, "fate": fate}).WithError(err).Debug("HDFS")
	}
}

// A process learns that a call has failed when its client has tried for long.
const leastRetries, mostRetries = 10 * time.Second, time.Minute

// failedShare is how many calls there are for one that fails while HDFS is unsure.
const failedShare = 6

// Call implements dfsmodel.Caller.
func (c caller) Call(ctx context.Context, op dfsmodel.Operation, effect func(now time.Time) error) error {
	w := c.w
	var result error
	answered := false
	answer := func(err error) { // arrives at the process
		w.engine.After(between(c.jitter, leastDelay, mostDelay), c.process, func() { result, answered = err, true })
	}
	arrival := w.engine.Now().Add(between(c.jitter, leastDelay, mostDelay))
	if arrival.Before(c.away) {
		w.facts.Calls["held "+string(op.Kind)]++
		arrival = c.away
	}
	w.engine.At(arrival, nil, func() {
		now := w.engine.Now()
		if now.Before(c.unsure) && c.chaos.IntN(failedShare) == 0 {
			executed := c.chaos.IntN(2) == 0
			if executed {
				w.facts.Calls["unanswered "+string(op.Kind)]++
				c.say(op, c.change(op, now, effect), "its answer is lost")
			} else {
				w.facts.Calls["lost "+string(op.Kind)]++
				c.say(op, nil, "it is lost")
			}
			w.engine.After(between(c.chaos, leastRetries, mostRetries), nil, func() { answer(dfsmodel.Unanswered(op, executed)) })
			return
		}
		err := c.change(op, now, effect)
		c.say(op, err, "")
		answer(err)
	})
	sched.Until(ctx, func() bool { return answered || ctx.Err() != nil })
	if !answered {
		return dfsmodel.Abandoned(ctx, op)
	}
	return result
}

// change executes a call, and shows what it has changed to the rules.
func (c caller) change(op dfsmodel.Operation, now time.Time, effect func(now time.Time) error) error {
	err := effect(now)
	if err == nil && op.Changes() {
		c.w.watch.changed(op)
	}
	return err
}
