// Package actor is the loop around a pure core: one goroutine takes events from
// a bounded mailbox, lets the core step, and has the shell perform the effects.
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
	Step(now time.Time, event E) []F
}

// Shell performs the effects of a core. Perform is called from the loop's
// goroutine and must not block: what takes time is handed over to a goroutine
// that the shell owns, and its result comes back as an event.
type Shell[F any] interface {
	Perform(ctx context.Context, effect F)
}

// Loop runs a core. Make it with New and run it once with Run.
type Loop[E, F any] struct {
	core    Core[E, F]
	shell   Shell[F]
	mailbox chan E // many senders, never closed
	done    chan struct{}
	observe func(event E, effects []F)
	stop    sync.Once
	quit    chan struct{}
}

// New makes a loop. The shell may be set later, but before Run, with SetShell:
// shells usually post to the loop they serve.
func New[E, F any](core Core[E, F], shell Shell[F]) *Loop[E, F] {
	return &Loop[E, F]{
		core: core, shell: shell,
		mailbox: make(chan E, mailboxSize),
		done:    make(chan struct{}),
		quit:    make(chan struct{}),
	}
}

// SetShell sets the shell; before Run only.
func (l *Loop[E, F]) SetShell(shell Shell[F]) { l.shell = shell }

// Observe has f called after each step, from the loop's goroutine, for logs and
// tests; before Run only.
func (l *Loop[E, F]) Observe(f func(event E, effects []F)) { l.observe = f }

// Run takes events until ctx ends or Stop is called, and returns ctx's cause or
// nil. Events still in the mailbox then are not taken.
func (l *Loop[E, F]) Run(ctx context.Context) error {
	defer close(l.done)
	for {
		select {
		case event := <-l.mailbox:
			effects := l.core.Step(time.Now(), event)
			if l.observe != nil {
				l.observe(event, effects)
			}
			for _, effect := range effects {
				l.shell.Perform(ctx, effect)
			}
		case <-l.quit:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Stop ends Run after the current step. It may be called more than once, from
// anywhere, also from the shell.
func (l *Loop[E, F]) Stop() { l.stop.Do(func() { close(l.quit) }) }

// Done is closed when Run has returned.
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

// Ask posts the event that ask makes around a reply channel and waits for the
// answer. The channel has room for one, so a caller that left never blocks the
// loop.
func Ask[R, E, F any](ctx context.Context, l *Loop[E, F], ask func(reply chan<- R) E) (R, error) {
	reply := make(chan R, 1)
	var none R
	if err := l.Post(ctx, ask(reply)); err != nil {
		return none, err
	}
	select {
	case answer := <-reply:
		return answer, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-l.done:
	}
	select {
	case answer := <-reply: // among the last things that the loop did
		return answer, nil
	default:
		return none, ErrStopped
	}
}
