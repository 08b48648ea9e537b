package jobmaster

import (
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// told is what workers have told of tasks that have finished under earlier masters. The zero told is empty.
type told struct {
	tasks map[ids.ExecutionAttemptID]held
	bytes int // that the tasks take
}

// held is what a worker has told of a task.
type held struct {
	by   *worker
	task msg.TaskStateChange
}

const (
	// heldSize is for a task in told, beside its Size, in bytes.
	heldSize = 64
	// metricSize is how much more a metric may take in memory than in a message, in bytes.
	metricSize = 24
)

// size estimates the memory of what was told of a task, in bytes.
func (h held) size() int {
	size := heldSize + h.task.Size()
	if user := h.task.User; user != nil {
		size += metricSize * len(user.Metrics)
	}
	return size
}

// keep keeps what a worker has told of a task, in place of what was told of it before, if all tasks together take no more than these
// bytes. Users' metrics without room are left out, and count as dropped.
func (t *told) keep(h held, most int) {
	id := h.task.Execution
	if before, again := t.tasks[id]; again {
		t.bytes -= before.size()
		delete(t.tasks, id)
	}
	if user := h.task.User; user != nil && t.bytes+h.size() > most {
		h.task.User = &msg.UserMetrics{Dropped: user.Hidden() + len(user.Metrics)}
	}
	size := h.size()
	if t.bytes+size > most {
		return
	}
	if t.tasks == nil {
		t.tasks = make(map[ids.ExecutionAttemptID]held)
	}
	t.tasks[id] = h
	t.bytes += size
}

// keepTold keeps what a worker has told of a task, while exchanges may still turn out to be blocking. For that there is the room which
// the counters and users' metrics of adopted tasks leave: the job reserves no other. A task without room runs again if its exchanges
// are blocking.
func (c *core) keepTold(w *worker, t msg.TaskStateChange) {
	if !c.mayFollow() {
		return
	}
	most := c.counters.left() + c.user.Left()
	if c.told.bytes > most {
		c.told = told{} // adopted tasks have taken its room
	}
	c.told.keep(held{w, t}, most)
}
