package taskhost

import (
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// outbox holds what the loop has to tell the TaskExecutor until its goroutine has
// sent it. It needs no bound of its own: a task has at most two states, a request
// for a split and collectWindow batches on their way, progress is measured only while
// nothing waits, and signs of life are given on request.
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
		for _, m := range joined(batch) {
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

// maxJoined is the number of changes of state in a message from which the next ones go
// into another: failures have texts of 20 KiB.
const maxJoined = 256

// joined makes one message of changes of state that follow each other.
func joined(batch []msg.Message) []msg.Message {
	all := make([]msg.Message, 0, len(batch))
	var changes []msg.TaskStateChange // not in all yet
	for i, m := range batch {
		changed, is := m.(msg.TaskStatesChanged)
		changes = append(changes, changed.Changes...)
		last := i == len(batch)-1
		if len(changes) > 0 && (!is || last || len(changes) >= maxJoined) {
			all = append(all, msg.TaskStatesChanged{Changes: changes})
			changes = nil
		}
		if !is {
			all = append(all, m)
		}
	}
	return all
}
