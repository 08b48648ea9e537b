// Package actor is the kit for roles. A role consists of events, effects, a pure core that
// turns events into effects, and a shell that performs the effects. The package runs the
// core in a loop, and has the parts with which the shell reaches other roles.
//
//   - Loop runs a Core: one goroutine takes events from a bounded mailbox, lets the core
//     step, answers questions, and has the Shell perform the other effects.
//   - Core.Alarm is the only way for a core to be woken. Deadlines holds many times under
//     names.
//   - Question and Reply represent answers as plain data.
//   - Outbox holds the messages that wait for a peer. Connections holds the connected
//     peers.
//   - Fence compares the fencing tokens of leaders.
//
// A core never sees the loop, a clock or another goroutine. The kit blocks only in package sched.
package actor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// ErrStopped says that the role's loop has ended and has not taken the event.
var ErrStopped = errors.New("role has stopped")

// mailboxSize bounds the events that wait for a loop. Only edges (REST, inbound streams) may block
// on a full mailbox: a loop posts to another loop only through an outbox of its own.
const mailboxSize = 1024

// Core is the state of a role. Only Step changes it. Step starts nothing, blocks on nothing
// and gets the time from now. So the same list of events always gives the same state and
// the same effects.
type Core[E, F any] interface {
	// Step handles one event and returns the effects to perform, in order.
	Step(now time.Time, event E) []F
	// Alarm returns the time at which the core wants to be woken. The zero time means
	// never. The loop calls Alarm after each step, and a new time replaces the old one. The
	// wake-up event comes at that time or later, after all events that were waiting then.
	// An extra wake-up must do no harm. A core that is woken must move its alarm: one that
	// stays in the past is a mistake, and rings again after a second.
	Alarm() time.Time
}

// Shell performs the effects of a core. The loop's goroutine calls Perform, which must not
// block. Perform hands slow work to a goroutine of Loop.Go, and the result comes back as an
// event.
type Shell[F any] interface {
	Perform(ctx context.Context, effect F)
}

// Loop runs a core. Make it with New and run it once with Run. Post, Tell, Ask, Stop, Fail
// and Done may be called from any goroutine, before Run too.
type Loop[E, F any] struct {
	core    Core[E, F]
	woken   E // the event for an alarm
	mailbox chan E
	observe func(event E, effects []F)
	replies replies

	end   sync.Once
	quit  chan struct{} // closed by end
	cause error         // of the end; set before quit is closed
	done  chan struct{} // closed when the loop takes no more events

	spawn   func(func(ctx context.Context)) // set by Run
	running sched.Group                     // the goroutines of Go
}

// New makes the loop of a core. The core gets the event woken when its alarm rings.
func New[E, F any](core Core[E, F], woken E) *Loop[E, F] {
	return &Loop[E, F]{
		core: core, woken: woken,
		mailbox: make(chan E, mailboxSize),
		quit:    make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// Observe makes the loop call f after each step, in the loop's goroutine, for logs and
// tests. Call Observe before Run.
func (l *Loop[E, F]) Observe(f func(event E, effects []F)) { l.observe = f }

// Run makes the shell and takes events until Stop or Fail is called or ctx ends, whichever
// is first. It returns nil, Fail's error or ctx's cause. It does not take events that are
// still in the mailbox then. The context of start and Perform ends with the loop. Run
// returns after all goroutines of Go have ended.
func (l *Loop[E, F]) Run(ctx context.Context, start func(ctx context.Context) Shell[F]) error {
	running, cancel := context.WithCancelCause(ctx)
	l.spawn = func(f func(context.Context)) { l.running.Go(ctx, func() { f(running) }) }
	err := l.steps(running, start(running))
	close(l.done)
	cancel(ErrStopped)
	l.running.Wait(ctx)
	return err
}

func (l *Loop[E, F]) steps(ctx context.Context, shell Shell[F]) error {
	alarm := newAlarm(ctx)
	defer alarm.timer.Stop()
	ready := func() bool {
		return alarm.behind == 0 || len(l.mailbox) > 0 || alarm.timer.Rings() || sched.Closed(l.quit) || ctx.Err() != nil
	}
	for {
		event, woken, ended := l.next(ctx, alarm, ready)
		if ended {
			return l.cause
		}
		now := sched.Now(ctx)
		effects := l.core.Step(now, event)
		alarm.set(now, sched.Now(ctx), l.core.Alarm(), woken)
		if l.observe != nil {
			l.observe(event, effects)
		}
		for _, effect := range effects {
			if !l.replies.resolve(effect) {
				shell.Perform(ctx, effect)
			}
		}
	}
}

// next waits for the next event, which may be that of the alarm, or for the end of the loop. ready says
// that there is one.
func (l *Loop[E, F]) next(ctx context.Context, alarm *alarm, ready func() bool) (event E, woken, ended bool) {
	for {
		sched.Until(ctx, ready)
		if l.hasEnded(ctx) { // the end comes before waiting events
			return event, false, true
		}
		if alarm.due() {
			return l.woken, true, false
		}
		select {
		case <-alarm.timer.C: // before the mailbox: it counts what waits there
			alarm.ring(len(l.mailbox))
			continue
		default:
		}
		select {
		case event = <-l.mailbox:
			alarm.taken()
			return event, false, false
		case <-alarm.timer.C:
			alarm.ring(len(l.mailbox))
		case <-l.quit:
		case <-ctx.Done():
		}
	}
}

// hasEnded reports whether Stop or Fail was called, or ctx has ended.
func (l *Loop[E, F]) hasEnded(ctx context.Context) bool {
	if ctx.Err() != nil {
		l.Fail(context.Cause(ctx)) // unless there is an earlier cause
	}
	return sched.Closed(l.quit)
}

// Go runs f in a goroutine of the role. Its context ends with the loop, and Run waits for
// the goroutine. Only start, the shell and goroutines of Go may call it.
func (l *Loop[E, F]) Go(f func(ctx context.Context)) { l.spawn(f) }

// Stop ends Run after the current step. It may be called more than once.
func (l *Loop[E, F]) Stop() { l.Fail(nil) }

// Fail ends Run after the current step with this error. Only the first call has an effect.
func (l *Loop[E, F]) Fail(cause error) {
	l.end.Do(func() {
		l.cause = cause
		close(l.quit)
	})
}

// Done is closed when the loop has ended and takes no more events.
func (l *Loop[E, F]) Done() <-chan struct{} { return l.done }

// Await waits until a channel is closed, which the role's shell does. The error is ErrStopped if the
// loop ends before, and ctx's cause if ctx ends before.
func (l *Loop[E, F]) Await(ctx context.Context, c <-chan struct{}) error {
	switch sched.First(ctx, c, l.done) {
	case 0:
		return nil
	case 1:
		return ErrStopped
	default:
		return context.Cause(ctx)
	}
}

// Post hands an event to the loop and waits while the mailbox is full. The error is
// ErrStopped if the loop has ended, and ctx's cause if ctx ends first.
func (l *Loop[E, F]) Post(ctx context.Context, event E) error {
	if sched.Closed(l.done) {
		return ErrStopped
	}
	select {
	case l.mailbox <- event:
		return nil
	default: // the mailbox is full
	}
	sched.Until(ctx, func() bool {
		return len(l.mailbox) < cap(l.mailbox) || sched.Closed(l.done) || ctx.Err() != nil
	})
	if sched.Closed(l.done) {
		return ErrStopped
	}
	select { // room counts more than the end of ctx: a select of both would draw lots
	case l.mailbox <- event:
		return nil
	default:
	}
	select {
	case l.mailbox <- event:
		return nil
	case <-l.done:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Tell posts an event. It drops the event if the loop or ctx has ended.
func (l *Loop[E, F]) Tell(ctx context.Context, event E) { _ = l.Post(ctx, event) }
