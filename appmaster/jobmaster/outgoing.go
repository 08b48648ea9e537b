package jobmaster

import (
	"slices"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// outgoing are the messages that wait on their way to the ResourceManager. Each of
// its kinds tells the whole of what it is about, so that a newer message takes the
// place of an older one that was not taken yet: one of each kind waits at most,
// however many regions end while the ResourceManager is busy.
type outgoing struct {
	mu     sync.Mutex // guards what follows
	queue  []msg.Message
	closed bool
	// changed is signalled when a message was put, or the queue was closed.
	changed *sync.Cond
}

func newOutgoing() *outgoing {
	o := new(outgoing)
	o.changed = sync.NewCond(&o.mu)
	return o
}

// put queues a message behind those of other kinds.
func (o *outgoing) put(m msg.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = slices.DeleteFunc(o.queue, func(older msg.Message) bool { return msg.Kind(older) == msg.Kind(m) })
	o.queue = append(o.queue, m)
	o.changed.Signal()
}

// close lets next end after the messages that wait.
func (o *outgoing) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Signal()
}

// next waits for the next message; false means that none follows.
func (o *outgoing) next() (msg.Message, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.closed {
		o.changed.Wait()
	}
	if len(o.queue) == 0 {
		return nil, false
	}
	m := o.queue[0]
	o.queue = o.queue[1:]
	return m, true
}
