package sim

import (
	"context"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// hdfs is the file system of the cluster: a namespace, and what goes wrong on the way to it.
type hdfs struct {
	w      *World
	space  *dfsmodel.Namespace
	chaos  *rand.Rand
	tokens *tokens
	// away is until when calls get no answer. Then they are executed.
	away time.Time
	// unsure is until when some calls fail, before or after their effect, and failed when a process is told of
	// the last one of these.
	unsure, failed time.Time
}

func newHDFS(w *World) *hdfs {
	return &hdfs{w: w, space: dfsmodel.NewNamespace(epoch), chaos: w.stream("hdfs"), tokens: newTokens(w)}
}

// disturbed is until when something went wrong.
func (h *hdfs) disturbed() time.Time {
	return latest(h.away, h.failed)
}

// exists reports whether there is a file.
func (h *hdfs) exists(path string) bool {
	_, _, err := h.space.Read(h.w.engine.Now(), path)
	return err == nil
}

// open is the access of a process with a ticket of the user.
func (h *hdfs) open(p *engine.Process) *dfsmodel.FileSystem { return h.openAs(p, login{}) }

// openAs is the access of a process. Its leases end some time after the process.
func (h *hdfs) openAs(p *engine.Process, l login) *dfsmodel.FileSystem {
	h.w.atEnd(p, func() { h.space.Crash(h.w.engine.Now(), p.Name) })
	jitter := h.w.stream("hdfs " + p.Name)
	return dfsmodel.New(dfsmodel.Options{
		Namespace: h.space, Caller: caller{h, p, jitter, l}, Client: p.Name, User: "alice", Shuffle: jitter.Shuffle,
	})
}

// caller is the way of one process to HDFS.
type caller struct {
	*hdfs
	process *engine.Process
	jitter  *rand.Rand
	login   login
}

// say writes a call into the transcript.
func (c caller) say(op dfsmodel.Operation, err error, what fate) {
	if c.w.traced {
		c.w.logger.WithFields(logrus.Fields{"process": op.Client, "call": op, "fate": string(what)}).WithError(err).Debug("HDFS")
	}
}

// A process learns that a call has failed when its client has tried for long.
const leastRetries, mostRetries = 10 * time.Second, time.Minute

// Call implements dfsmodel.Caller.
func (c caller) Call(ctx context.Context, op dfsmodel.Operation, effect func(now time.Time) error) error {
	if err := c.getTicket(ctx, op); err != nil {
		return err
	}
	w := c.w
	var result error
	ended := false
	answer := func(err error) { // arrives at the process
		w.engine.After(between(c.jitter, leastDelay, mostDelay), c.process, func() { result, ended = err, true })
	}
	w.engine.After(between(c.jitter, leastDelay, mostDelay), nil, func() { c.arrive(op, effect, answer) })
	sched.Until(ctx, func() bool { return ended || ctx.Err() != nil })
	if !ended {
		return dfsmodel.Abandoned(ctx, op)
	}
	return result
}

// arrive shows a call that arrives to the faults that wait for it, and has it executed.
func (c caller) arrive(op dfsmodel.Operation, effect func(now time.Time) error, answer func(error)) {
	special, done := c.w.arrives(c.process.Name, op)
	c.await(special, op, func(now time.Time) error {
		defer done()
		return effect(now)
	}, answer)
}

// await has a call executed as soon as HDFS is there.
func (c caller) await(what fate, op dfsmodel.Operation, effect func(now time.Time) error, answer func(error)) {
	if c.w.engine.Now().Before(c.away) {
		c.w.meets(held, string(op.Kind))
		c.w.engine.At(c.away, nil, func() { c.await(what, op, effect, answer) })
		return
	}
	c.execute(what, op, effect, answer)
}

// execute executes a call, unless it is lost.
func (c caller) execute(what fate, op dfsmodel.Operation, effect func(now time.Time) error, answer func(error)) {
	now := c.w.engine.Now()
	if what == "" && now.Before(c.unsure) {
		what = chance(c.chaos)
	}
	giveUp := func() {
		c.w.meets(what, string(op.Kind))
		told := now.Add(between(c.chaos, leastRetries, mostRetries))
		c.hdfs.failed = latest(c.failed, told)
		c.w.engine.At(told, nil, func() { answer(dfsmodel.Unanswered(op, what == unanswered)) })
	}
	switch what {
	case lost:
		c.say(op, nil, what)
		giveUp()
	case unanswered:
		c.say(op, c.change(op, now, effect), what)
		giveUp()
	default:
		err := c.change(op, now, effect)
		c.say(op, err, answered)
		answer(err)
	}
}

// change executes a call, unless its login fails, and shows what it has changed to the rules.
func (c caller) change(op dfsmodel.Operation, now time.Time, effect func(now time.Time) error) error {
	if err := c.checkToken(op, now); err != nil {
		return err
	}
	_, missing := c.space.Stat(now, op.Path)
	err := effect(now)
	// It may make a folder that is there, or remove what is not there.
	idle := op.Kind == dfsmodel.Mkdirs && missing == nil || op.Kind == dfsmodel.Delete && missing != nil
	if err == nil && op.Changes() && !idle {
		c.w.committing(op)
		c.w.watch.changed(op)
	}
	return err
}

// committing notes which attempt begins to commit an output. A later attempt takes over its marker.
func (w *World) committing(op dfsmodel.Operation) {
	dir, name := path.Split(op.Target)
	if dir = path.Clean(dir); op.Kind != dfsmodel.Rename || !strings.HasPrefix(name, "_committing-") || w.commits[dir] > 0 {
		return
	}
	if h := w.hostNamed(op.Client); h != nil {
		w.commits[dir] = h.worker.master.attempt.Attempt
	}
}
