package actor

import "context"

// Outbox hands work to one goroutine in order, so that a loop never waits for
// a peer. A full outbox means that the peer is unhealthy: Put reports it and
// the caller treats the peer as lost.
type Outbox[T any] struct {
	queue chan T
	done  chan struct{}
}

// NewOutbox starts the goroutine; it ends when ctx does, and Wait waits for it.
func NewOutbox[T any](ctx context.Context, size int, deliver func(context.Context, T)) *Outbox[T] {
	o := &Outbox[T]{queue: make(chan T, size), done: make(chan struct{})}
	go func() {
		defer close(o.done)
		for {
			select {
			case item := <-o.queue:
				deliver(ctx, item)
			case <-ctx.Done():
				return
			}
		}
	}()
	return o
}

// Put queues an item and says whether there was room.
func (o *Outbox[T]) Put(item T) bool {
	select {
	case o.queue <- item:
		return true
	default:
		return false
	}
}

// Wait waits for the goroutine to end.
func (o *Outbox[T]) Wait() { <-o.done }
