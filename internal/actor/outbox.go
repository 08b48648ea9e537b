package actor

import (
	"container/list"
	"context"
	"sync"
)

// Outbox holds what waits for a peer, in the order in which it was put, so that a loop never
// waits for one. Of items that each say all that an older one of their name did, only the
// newest waits, behind everything else: so what waits for a peer that is stopped does not
// grow with time, however often it is told that one lives.
//
// Where it has a bound, a peer for which more waits is not healthy and counts as lost: the
// outbox takes nothing more then, and says so once.
//
// Its methods may be called from any goroutine; one takes.
type Outbox[T any] struct {
	wake chan struct{} // has a token when something was put, or it was closed, since it was last drawn
	full func()

	mu     sync.Mutex // guards what follows
	items  list.List  // of waiting[T]
	latest map[string]*list.Element
	room   int
	closed bool
}

type waiting[T any] struct {
	item T
	name string
}

// NewOutbox makes an outbox with room for so many items; 0: without a bound. Full is called
// once, by the Put for which there is no room; nil: nobody wants to know.
func NewOutbox[T any](room int, full func()) *Outbox[T] {
	return &Outbox[T]{
		wake: make(chan struct{}, 1), full: full,
		latest: make(map[string]*list.Element), room: room,
	}
}

// SetRoom changes the bound. What waits stays.
func (o *Outbox[T]) SetRoom(room int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.room = room
}

// Put queues an item and withdraws the one of the same name, unless that is "". False
// means that it was not taken: there is no room for it, or the outbox is closed.
func (o *Outbox[T]) Put(item T, name string) bool {
	taken, overflows := o.put(item, name)
	if overflows && o.full != nil {
		o.full()
	}
	if taken {
		o.signal()
	}
	return taken
}

func (o *Outbox[T]) put(item T, name string) (taken, overflows bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false, false
	}
	if older := o.latest[name]; older != nil {
		o.items.Remove(older)
		delete(o.latest, name)
	}
	if o.room > 0 && o.items.Len() >= o.room {
		o.closed = true
		return false, true
	}
	element := o.items.PushBack(waiting[T]{item, name})
	if name != "" {
		o.latest[name] = element
	}
	return true, false
}

func (o *Outbox[T]) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // the one that takes will look anyway
	}
}

// Close has the outbox take nothing more. What waits is still to be taken, and Serve returns
// then. It may be called again.
func (o *Outbox[T]) Close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

// Idle tells whether nothing waits.
func (o *Outbox[T]) Idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.items.Len() == 0
}

// Next takes the oldest item, if there is one.
func (o *Outbox[T]) Next() (item T, some bool) {
	item, some, _ = o.next()
	return item, some
}

func (o *Outbox[T]) next() (item T, some, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.items.Front()
	if first == nil {
		return item, false, o.closed
	}
	next := o.items.Remove(first).(waiting[T])
	if next.name != "" {
		delete(o.latest, next.name)
	}
	return next.item, true, o.closed
}

// Wake has a token when something was put, or the outbox was closed, since it was last drawn.
func (o *Outbox[T]) Wake() <-chan struct{} { return o.wake }

// Serve takes items and hands them to f: until the outbox is closed and nothing waits, until
// f gives false, or until ctx ends; then what waits is left.
func (o *Outbox[T]) Serve(ctx context.Context, f func(T) bool) {
	for ctx.Err() == nil {
		item, some, closed := o.next()
		switch {
		case some:
			if !f(item) {
				return
			}
		case closed:
			return
		default:
			select {
			case <-o.wake:
			case <-ctx.Done():
			}
		}
	}
}
