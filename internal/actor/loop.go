// Package actor is the kit that every role is made of: a pure core in a loop, and what the
// loop's shell needs to reach others. A role consists of its events, its effects and its
// core, and of a shell that performs the effects.
//
//   - Loop runs a Core: one goroutine takes events from a bounded mailbox, lets the core
//     step, answers questions, and has the Shell perform the other effects.
//   - Core.Alarm is the one way to be woken. Deadlines keeps many of them under names.
//   - Question and Reply are answers as plain data.
//   - Outbox holds what waits for a peer, Connections those peers that are connected.
//   - Fence compares the tokens of leaders.
//
// A core never sees the loop, a clock or another goroutine.
package actor

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrStopped says that the role's loop has ended: the event was not taken.
var ErrStopped = errors.New("role has stopped")

// mailboxSize bounds the events that wait for a loop. Only edges (REST, inbound
// streams) may block on a full mailbox: a loop never posts to another loop but
// through an outbox of its own.
const mailboxSize = 1024

// Core is the state of a role. Step is the only way it changes: it starts
// nothing, blocks on nothing and learns the time from now, so a recorded event
// list replays to the same state and the same effects.
type Core[E, F any] interface {
	// Step takes one event and gives what is to be done about it, in order.
	Step(now time.Time, event E) []F
	// Alarm is when the core wants to be woken next; the zero time: never. It is asked
	// after each step, and a new time replaces the old one. The event behind it comes at
	// that time or later, after all events that were waiting then. One too many does no
	// harm. A core that is woken has to move its alarm: one that stays in the past is a
	// mistake, and rings again after a second.
	Alarm() time.Time
}

// Shell performs the effects of a core. Perform is called from the loop's
// goroutine and must not block: what takes time is handed over to a goroutine
// of Loop.Go, and its result comes back as an event.
type Shell[F any] interface {
	Perform(ctx context.Context, effect F)
}

// Loop runs a core. Make it with New and run it once with Run. Post, Tell, Ask, Stop, Fail
// and Done may be called from any goroutine, before Run too.
type Loop[E, F any] struct {
	core    Core[E, F]
	woken   E // what the core is told when its alarm rings
	mailbox chan E
	observe func(event E, effects []F)
	replies replies

	end   sync.Once
	quit  chan struct{} // closed by end
	cause error         // with which it ended; set before quit is closed
	done  chan struct{} // closed when the loop takes no event any more

	spawn   func(func(ctx context.Context)) // set by Run
	running sync.WaitGroup                  // the goroutines of Go
}

// New makes the loop of a core. Woken is the event that the core gets when its alarm rings.
func New[E, F any](core Core[E, F], woken E) *Loop[E, F] {
	return &Loop[E, F]{
		core: core, woken: woken,
		mailbox: make(chan E, mailboxSize),
		quit:    make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// Observe has f called after each step, from the loop's goroutine, for logs and
// tests; before Run only.
func (l *Loop[E, F]) Observe(f func(event E, effects []F)) { l.observe = f }

// Run makes the shell and takes events until Stop is called (nil), Fail is (its error), or
// ctx ends (its cause); the first of these counts. Events still in the mailbox then are not
// taken. The context that start and Perform get ends with the loop, and Run returns when
// all goroutines of Go have.
func (l *Loop[E, F]) Run(ctx context.Context, start func(ctx context.Context) Shell[F]) error {
	if ctx.Err() != nil {
		l.Fail(context.Cause(ctx))
	}
	release := context.AfterFunc(ctx, func() { l.Fail(context.Cause(ctx)) })
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	l.spawn = func(f func(context.Context)) { l.running.Go(func() { f(ctx) }) }
	err := l.steps(ctx, start(ctx))
	close(l.done)
	cancel(ErrStopped)
	l.running.Wait()
	return err
}

func (l *Loop[E, F]) steps(ctx context.Context, shell Shell[F]) error {
	alarm := newAlarm()
	defer alarm.stop()
	for {
		select {
		case <-l.quit:
			return l.cause
		default: // it comes before events that wait
		}
		var event E
		woken := alarm.due()
		if woken {
			event = l.woken
		} else {
			select {
			case event = <-l.mailbox:
				alarm.taken()
			case <-alarm.timer.C:
				alarm.ring(len(l.mailbox))
				continue
			case <-l.quit:
				return l.cause
			}
		}
		now := time.Now()
		effects := l.core.Step(now, event)
		alarm.set(now, l.core.Alarm(), woken)
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

// Go runs f in a goroutine of the role, whose context ends with the loop; Run waits for it.
// Only start, the shell and such goroutines may call it.
func (l *Loop[E, F]) Go(f func(ctx context.Context)) { l.spawn(f) }

// Stop ends Run after the current step. It may be called more than once.
func (l *Loop[E, F]) Stop() { l.Fail(nil) }

// Fail ends Run after the current step, with this error; the first call counts.
func (l *Loop[E, F]) Fail(cause error) {
	l.end.Do(func() {
		l.cause = cause
		close(l.quit)
	})
}

// Done is closed when the loop has ended: it takes no event any more.
func (l *Loop[E, F]) Done() <-chan struct{} { return l.done }

// Post hands an event to the loop, waiting while the mailbox is full:
// ErrStopped once the loop has ended, ctx's cause when ctx ends first.
func (l *Loop[E, F]) Post(ctx context.Context, event E) error {
	select {
	case <-l.done:
		return ErrStopped
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

// Tell posts an event that the loop need not hear once it has ended, or once ctx has.
func (l *Loop[E, F]) Tell(ctx context.Context, event E) { _ = l.Post(ctx, event) }
