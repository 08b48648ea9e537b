package taskhost

import (
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// outbox holds what the loop has to tell the TaskExecutor until its goroutine has
// sent it. It needs no bound of its own: a task has at most two states, a request
// for a split and collectWindow batches on their way, and progress is measured
// only while nothing waits.
type outbox struct {
	mu     sync.Mutex // guards queue, closed
	queue  []msg.Message
	closed bool
	// wake has a token when queue or closed changed since it was last drawn.
	wake chan struct{}
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

func (o *outbox) put(m msg.Message) {
	o.mu.Lock()
	o.queue = append(o.queue, m)
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue) == 0
}

// close has run return once all is sent.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run sends until close, or until the TaskExecutor is gone: its reader sees that
// too.
func (o *outbox) run(conn *control.Conn) {
	for {
		o.mu.Lock()
		batch, closed := o.queue, o.closed
		o.queue = nil
		o.mu.Unlock()
		for _, m := range batch {
			if conn.Send(m) != nil {
				return
			}
		}
		switch {
		case len(batch) > 0:
		case closed:
			return
		default:
			<-o.wake
		}
	}
}
