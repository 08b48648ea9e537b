package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

const (
	leastDelay = 100 * time.Microsecond // of one way between processes
	mostDelay  = 5 * time.Millisecond
)

// wire is one end of a stream between a worker and a role of its master.
type wire struct {
	*end[rolerpc.Frame]
	worker *worker
	master *master         // of the role
	target string          // the role that the worker has asked for
	number int             // of the stream, in the order in which workers open them
	past   []rolerpc.Frame // what was sent last, at most mostPast
}

var _ rolerpc.Wire = (*wire)(nil)

// mostPast bounds the messages that a stream repeats.
const mostPast = 8

func (w *wire) Send(f rolerpc.Frame) error {
	f, err := w.pipe.w.copied(f)
	if err != nil {
		return err
	}
	if !w.send(f) {
		return rolerpc.ErrPeerGone
	}
	if w.past = append(w.past, f); len(w.past) > mostPast {
		w.past = w.past[1:]
	}
	if !w.outdated() {
		w.worker.w.watch.hear(w, f.Message)
	}
	switch f.Message.(type) {
	case msg.TaskExecutorRegistered:
		w.master.demand.adopt(w.worker)
		w.worker.w.watch.admit(w)
	case msg.RegisteredAtJobMaster:
		w.worker.w.watch.admit(w)
	}
	return nil
}

// outdated reports whether the worker has found a later master meanwhile, and has left this stream.
func (w *wire) outdated() bool {
	return w.worker.master != nil && w.master.attempt.Attempt < w.worker.master.attempt.Attempt
}

// staleToken is that of an earlier grant.
const staleToken = "an earlier grant"

// repeat sends the last messages again, as if they were from or for the leader of an earlier grant. A
// Disconnect is for all grants.
func (w *wire) repeat() {
	for _, f := range w.past {
		if _, farewell := f.Message.(msg.Disconnect); farewell || w.closed || w.shut {
			continue
		}
		w.worker.w.facts[Outdated]++
		w.put(rolerpc.Frame{Token: staleToken, Message: f.Message})
	}
}

// streamLink is the connection of a stream, for faults.
type streamLink struct {
	*pipe[rolerpc.Frame]
	near, far *wire
	opened    time.Time
}

// repeat sends the last messages of both ends again, if the worker knows its leader by now.
func (s streamLink) repeat() {
	if s.w.engine.Now().Sub(s.opened) > time.Second {
		s.near.repeat()
		s.far.repeat()
	}
}

func (w *wire) CloseSend() error {
	w.closeSend()
	return nil
}

func (w *wire) Receive(kinds msg.Kinds) (rolerpc.Frame, error) {
	f, ok := w.receive()
	if ok && f.Token != staleToken {
		w.worker.w.watch.take(w, f.Message)
	}
	switch {
	case !ok:
		return f, rolerpc.ErrPeerGone
	case !kinds.Allow(f.Message):
		return f, fmt.Errorf("receive message %s: %w", msg.Kind(f.Message), msg.ErrKind)
	}
	return f, nil
}

func (w *wire) Shut() { w.hangUp() }

// codecShare is how many frames there are for one that goes through the real codec. The others are
// shared by both ends, as in the minicluster.
const codecShare = 8

// copied passes some frames through the codec, and returns the others unchanged.
func (w *World) copied(f rolerpc.Frame) (rolerpc.Frame, error) {
	if w.codec.IntN(codecShare) > 0 {
		return f, nil
	}
	return rolerpc.Copy(f)
}

// dialer opens streams of a worker's TaskExecutor to ApplicationMasters.
type dialer struct{ *worker }

var errRefused = errors.New("connection refused")

// Open implements taskexecutor.Connector.
func (d dialer) Open(ctx context.Context, address, target string, h rolerpc.Handler) (*rolerpc.Stream, error) {
	w, m := d.w, d.w.masterAt(address)
	if m == nil || m.mux == nil {
		return nil, fmt.Errorf("open stream to %s: %w", target, errRefused)
	}
	local, remote := connect[rolerpc.Frame](w, string(d.id)+" "+target, d.process, m.process, leastDelay, mostDelay)
	w.facts[Streams]++
	near := &wire{end: local, worker: d.worker, master: m, target: target, number: w.facts[Streams]}
	far := &wire{end: remote, worker: d.worker, master: m, target: target, number: near.number}
	w.links[d.process] = append(w.links[d.process], streamLink{local.pipe, near, far, w.engine.Now()})
	var answered bool
	var refusal error
	answer := func(err error) {
		w.engine.At(far.later(), d.process, func() { answered, refusal = true, err })
	}
	w.atEnd(m.process, func() {
		if !w.silent[m.process] {
			answer(errRefused)
		}
	})
	w.engine.At(near.later(), m.process, func() {
		m.process.Go(func() {
			stream := rolerpc.NewStream(m.ctx, rolerpc.Peer{Identity: pki.Identity{Role: pki.RoleTaskExecutor, Resource: d.id}}, target, far, w.logger)
			handler, err := m.mux.Accept(stream)
			if answer(err); err == nil {
				stream.Run(handler)
			}
		})
	})
	sched.Until(ctx, func() bool { return answered || ctx.Err() != nil })
	if answered && refusal == nil && target == resourcemanager.Target {
		d.worker.master = m // it has a new one
	}
	switch {
	case !answered:
		near.hangUp()
		return nil, fmt.Errorf("open stream to %s: %w", target, context.Cause(ctx))
	case refusal != nil:
		return nil, fmt.Errorf("open stream to %s: %w", target, refusal)
	}
	w.holdBack(near)
	stream := rolerpc.NewStream(ctx, rolerpc.Peer{Identity: pki.Identity{Role: pki.RoleApplicationMaster}}, target, near, w.logger)
	sched.Go(ctx, func() { stream.Run(h) })
	return stream, nil
}

// hold is a fault that waits for the next registration of a worker at one of these roles.
type hold struct {
	jobMaster bool // or the ResourceManager
	time      time.Duration
}

// holdBack stalls a new stream if a fault waits for it.
func (w *World) holdBack(near *wire) {
	i := slices.IndexFunc(w.holds, func(h hold) bool { return h.jobMaster == (near.target != resourcemanager.Target) })
	if i < 0 {
		return
	}
	h := w.holds[i]
	w.holds = slices.Delete(w.holds, i, i+1)
	w.facts[HeldBack]++
	w.disturb(near.worker.process, h.time)
	w.calm = max(w.calm, w.since()+h.time)
	near.pipe.stall(w.after(h.time))
}
