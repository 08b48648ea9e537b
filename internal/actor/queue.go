package actor

import (
	"container/list"
	"sync"
)

// Queue holds what waits for a peer, in the order in which it was put. Put never
// blocks. Of items that each say all that an older one of their name did, only the
// newest waits, behind everything else: so the queue to a peer that is stopped does
// not grow with time, however often it is told that one lives. Its methods may be
// called from any goroutine; one takes.
type Queue[T any] struct {
	wake chan struct{} // has a token when something was put since it was last drawn

	mu     sync.Mutex // guards what follows
	items  list.List  // of queued[T]
	latest map[string]*list.Element
	room   int
}

type queued[T any] struct {
	item T
	name string
}

// NewQueue makes a queue with room for so many items; 0: without a bound.
func NewQueue[T any](room int) *Queue[T] {
	return &Queue[T]{wake: make(chan struct{}, 1), latest: make(map[string]*list.Element), room: room}
}

// SetRoom changes the bound. What waits stays.
func (q *Queue[T]) SetRoom(room int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.room = room
}

// Put queues an item and withdraws the one of the same name, unless that is "". False
// means that there is no room for it.
func (q *Queue[T]) Put(item T, name string) bool {
	if !q.put(item, name) {
		return false
	}
	select {
	case q.wake <- struct{}{}:
	default: // whoever takes will look anyway
	}
	return true
}

func (q *Queue[T]) put(item T, name string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if older := q.latest[name]; older != nil {
		q.items.Remove(older)
		delete(q.latest, name)
	}
	if q.room > 0 && q.items.Len() >= q.room {
		return false
	}
	element := q.items.PushBack(queued[T]{item, name})
	if name != "" {
		q.latest[name] = element
	}
	return true
}

// Next takes the oldest item, if there is one.
func (q *Queue[T]) Next() (item T, some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.items.Front()
	if first == nil {
		return item, false
	}
	next := q.items.Remove(first).(queued[T])
	if next.name != "" {
		delete(q.latest, next.name)
	}
	return next.item, true
}

// Wake has a token when something was put since it was last drawn.
func (q *Queue[T]) Wake() <-chan struct{} { return q.wake }

// Deliver takes items and hands them to f, until stop is closed and nothing is left, or
// f gives false.
func (q *Queue[T]) Deliver(stop <-chan struct{}, f func(T) bool) {
	for {
		stopped := false
		select {
		case <-q.wake:
		case <-stop:
			stopped = true
		}
		for item, some := q.Next(); some; item, some = q.Next() {
			if !f(item) {
				return
			}
		}
		if stopped {
			return
		}
	}
}
