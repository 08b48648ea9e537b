package actor

import (
	"container/list"
	"context"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Outbox holds the items that wait for a peer, in the order of Put, so that a loop never
// waits for a peer. A named item replaces an older one of the same name, or takes it in, and goes
// to the end. So the Outbox of a stopped peer does not grow with repeated items such as heartbeats.
//
// An Outbox may have a bound. A peer with more waiting items is unhealthy and counts as lost:
// the Outbox then takes no more items and reports that once.
//
// Any goroutine may call its methods, but only one goroutine takes items.
type Outbox[T any] struct {
	wake chan struct{} // has a token after Put or Close, until it is drawn
	full func()
	join func(older, newer T) T // nil: the newer one

	mu     sync.Mutex               // guards what follows
	items  list.List                // of waiting[T]
	latest map[string]*list.Element // nil while no item waits: most Outboxes are empty most of the time
	room   int
	closed bool
}

type waiting[T any] struct {
	item T
	name string
}

// NewOutbox makes an Outbox with a bound of room items; 0 means no bound. The first Put
// without room calls full, unless it is nil.
func NewOutbox[T any](room int, full func()) *Outbox[T] {
	return &Outbox[T]{wake: make(chan struct{}, 1), full: full, room: room}
}

// SetRoom changes the bound. Waiting items stay.
func (o *Outbox[T]) SetRoom(room int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.room = room
}

// Join makes Put replace a waiting item of the same name by what join gives for the two. Call it
// before Put. join must not change its arguments.
func (o *Outbox[T]) Join(join func(older, newer T) T) { o.join = join }

// Put queues an item. Unless name is "", it removes a waiting item of the same name. False
// means that the Outbox has no room or is closed and has not taken the item.
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
		waited := o.items.Remove(older).(waiting[T])
		delete(o.latest, name)
		if o.join != nil {
			item = o.join(waited.item, item)
		}
	}
	if o.room > 0 && o.items.Len() >= o.room {
		o.closed = true
		return false, true
	}
	element := o.items.PushBack(waiting[T]{item, name})
	if name != "" {
		if o.latest == nil {
			o.latest = make(map[string]*list.Element)
		}
		o.latest[name] = element
	}
	return true, false
}

func (o *Outbox[T]) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // there is a token already
	}
}

// Close makes the Outbox refuse new items. Waiting items can still be taken, and Serve
// returns after the last one. Close may be called again.
func (o *Outbox[T]) Close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

// Idle reports whether no item waits.
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
	if o.items.Len() == 0 {
		o.latest = nil
	}
	return next.item, true, o.closed
}

// Wake delivers a token if an item was put, or the Outbox was closed, since the last token.
func (o *Outbox[T]) Wake() <-chan struct{} { return o.wake }

// Serve takes items and hands them to f. It ends when the Outbox is closed and empty, when f
// returns false, or when ctx ends. In the last two cases items may be left.
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
			sched.First(ctx, o.wake)
		}
	}
}
