package actor

import "context"

// OldOutbox hands work to one goroutine in order, so that a loop never waits for
// a peer. A full outbox means that the peer is unhealthy: Put reports it and
// the caller treats the peer as lost.
type OldOutbox[T any] struct {
	queue chan T
	done  chan struct{}
}

// NewOldOutbox starts the goroutine; it ends when ctx does, and Wait waits for it.
func NewOldOutbox[T any](ctx context.Context, size int, deliver func(context.Context, T)) *OldOutbox[T] {
	o := &OldOutbox[T]{queue: make(chan T, size), done: make(chan struct{})}
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
func (o *OldOutbox[T]) Put(item T) bool {
	select {
	case o.queue <- item:
		return true
	default:
		return false
	}
}

// Wait waits for the goroutine to end.
func (o *OldOutbox[T]) Wait() { <-o.done }
