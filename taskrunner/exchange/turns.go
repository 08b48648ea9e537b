package exchange

import "sync"

// turns is a queue of those who have something to do, each in it at most once:
// whoever serves it goes around them fairly. Adding never blocks, and the queue
// is bounded by the number of its members.
type turns[T comparable] struct {
	mu      sync.Mutex // guards queue, head, waiting; a leaf: nothing is locked under it
	queue   []T
	head    int
	waiting map[T]struct{} // members of queue[head:]
	// wake has a token when something was added since it was last drawn. Capacity
	// one: the server looks at the whole queue for each token. Never closed.
	wake chan struct{}
}

func newTurns[T comparable]() *turns[T] {
	return &turns[T]{waiting: make(map[T]struct{}), wake: make(chan struct{}, 1)}
}

// add puts x at the end of the queue unless it is in it.
func (t *turns[T]) add(x T) {
	t.mu.Lock()
	_, in := t.waiting[x]
	if !in {
		t.waiting[x] = struct{}{}
		t.queue = append(t.queue, x)
	}
	t.mu.Unlock()
	if !in {
		select {
		case t.wake <- struct{}{}:
		default:
		}
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
	if 2*t.head >= len(t.queue) { // at least as many were taken as have to be moved
		left := copy(t.queue, t.queue[t.head:])
		clear(t.queue[left:])
		t.queue, t.head = t.queue[:left], 0
	}
	return x, true
}
