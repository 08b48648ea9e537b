package actor

import (
	"context"
	"sync"
	"time"
)

// OldCore, OldLoop and OldAsk serve the roles that are not on Loop yet.
type OldCore[E, F any] interface {
	Step(now time.Time, event E) []F
}

// OldLoop runs an OldCore. Make it with NewOld and run it once with Run.
type OldLoop[E, F any] struct {
	core    OldCore[E, F]
	shell   Shell[F]
	mailbox chan E // many senders, never closed
	done    chan struct{}
	observe func(event E, effects []F)
	stop    sync.Once
	quit    chan struct{}
}

// NewOld makes a loop; its shell may be set with SetShell before Run.
func NewOld[E, F any](core OldCore[E, F], shell Shell[F]) *OldLoop[E, F] {
	return &OldLoop[E, F]{
		core: core, shell: shell,
		mailbox: make(chan E, mailboxSize),
		done:    make(chan struct{}),
		quit:    make(chan struct{}),
	}
}

// SetShell sets the shell; before Run only.
func (l *OldLoop[E, F]) SetShell(shell Shell[F]) { l.shell = shell }

// Observe has f called after each step, from the loop's goroutine; before Run only.
func (l *OldLoop[E, F]) Observe(f func(event E, effects []F)) { l.observe = f }

// Run takes events until ctx ends or Stop is called, and returns ctx's cause or nil.
func (l *OldLoop[E, F]) Run(ctx context.Context) error {
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

// Stop ends Run after the current step.
func (l *OldLoop[E, F]) Stop() { l.stop.Do(func() { close(l.quit) }) }

// Done is closed when Run has returned.
func (l *OldLoop[E, F]) Done() <-chan struct{} { return l.done }

// Post hands an event to the loop, waiting while the mailbox is full.
func (l *OldLoop[E, F]) Post(ctx context.Context, event E) error {
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

// OldAsk posts the event that ask makes around a reply channel and waits for the answer.
func OldAsk[R, E, F any](ctx context.Context, l *OldLoop[E, F], ask func(reply chan<- R) E) (R, error) {
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
