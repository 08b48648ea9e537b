package exchange

import (
	"slices"
	"sync"
)

// turns is a queue of members with work to do, each in it at most once, so serving it is fair.
// Adding never blocks, and the number of members bounds the queue.
type turns[T comparable] struct {
	mu      sync.Mutex // guards all below; a leaf: nothing is locked under it
	queue   []T
	head    int
	waiting map[T]struct{} // members of queue[head:]
	// wake has a token if something was added after the last token was taken. Its capacity is one:
	// the server looks at the whole queue for each token. It is never closed. A server of several queues shares one.
	wake chan struct{}
}

func newTurns[T comparable]() *turns[T] {
	return &turns[T]{waiting: make(map[T]struct{}), wake: make(chan struct{}, 1)}
}

// add puts x at the end of the queue, unless the queue contains it.
func (t *turns[T]) add(x T) { t.enter(x, false) }

// addFirst puts x at the beginning of the queue, unless the queue contains it.
func (t *turns[T]) addFirst(x T) { t.enter(x, true) }

func (t *turns[T]) enter(x T, first bool) {
	t.mu.Lock()
	_, in := t.waiting[x]
	if !in {
		t.waiting[x] = struct{}{}
		switch {
		case !first:
			t.queue = append(t.queue, x)
		case t.head > 0:
			t.head--
			t.queue[t.head] = x
		default:
			t.queue = slices.Insert(t.queue, 0, x)
		}
	}
	wake := t.wake
	t.mu.Unlock()
	if !in {
		signal(wake)
	}
}

// share puts the tokens into another channel from now on. It has one at once, for members that are in the queue.
func (t *turns[T]) share(wake chan struct{}) {
	t.mu.Lock()
	t.wake = wake
	t.mu.Unlock()
	signal(wake)
}

// signal puts a token into a channel of capacity one, unless there is one.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// next takes the first of the queue.
func (t *turns[T]) next() (x T, some bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.head == len(t.queue) {
		return x, false
	}
	x = t.queue[t.head]
	t.head++
	delete(t.waiting, x)
	if 2*t.head >= len(t.queue) { // at least as many members were taken as are moved
		left := copy(t.queue, t.queue[t.head:])
		clear(t.queue[left:])
		t.queue, t.head = t.queue[:left], 0
	}
	return x, true
}
