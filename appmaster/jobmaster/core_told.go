package jobmaster

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// told is what workers have told of tasks that have finished under earlier masters. The zero told is empty.
type told struct {
	tasks    map[ids.ExecutionAttemptID]held
	bytes    int // that the tasks take
	measured int // tasks with users' metrics
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

func (h held) measured() bool { return h.task.User != nil && len(h.task.User.Metrics) > 0 }

// withoutMetrics replaces the users' metrics by their number.
func (h held) withoutMetrics() held {
	if user := h.task.User; user != nil {
		h.task.User = &msg.UserMetrics{Dropped: user.Hidden() + len(user.Metrics)}
	}
	return h
}

// keep keeps what a worker has told of a task, in place of what was told of it before, if all tasks together take no more than these
// bytes. If there is no room, the users' metrics of this task give way to it, then those of all tasks. They count as dropped.
func (t *told) keep(h held, most int) {
	id := h.task.Execution
	if before, again := t.tasks[id]; again {
		t.remove(before)
	}
	if t.bytes+h.size() > most {
		h = h.withoutMetrics()
	}
	size := h.size()
	if t.bytes+size > most {
		t.dropMetrics()
	}
	if t.bytes+size > most {
		return
	}
	if t.tasks == nil {
		t.tasks = make(map[ids.ExecutionAttemptID]held)
	}
	t.tasks[id] = h
	t.bytes += size
	if h.measured() {
		t.measured++
	}
}

func (t *told) remove(h held) {
	delete(t.tasks, h.task.Execution)
	t.bytes -= h.size()
	if h.measured() {
		t.measured--
	}
}

// dropMetrics leaves out the users' metrics of all tasks.
func (t *told) dropMetrics() {
	if t.measured == 0 {
		return
	}
	t.bytes, t.measured = 0, 0
	for id, h := range t.tasks {
		h = h.withoutMetrics()
		t.tasks[id] = h
		t.bytes += h.size()
	}
}

// fit makes all tasks take no more than these bytes. First the users' metrics give way, then the tasks with the greatest IDs. An eighth
// of the room is free afterwards, so that it is not looked for with each task.
func (t *told) fit(most int) {
	if t.bytes <= most {
		return
	}
	t.dropMetrics()
	if t.bytes <= most {
		return
	}
	order := slices.SortedFunc(maps.Keys(t.tasks), ids.ExecutionAttemptID.Compare)
	for last := len(order) - 1; last >= 0 && t.bytes > most-most/8; last-- {
		t.remove(t.tasks[order[last]])
	}
}

// keepTold keeps what a worker has told of a task, while exchanges may still turn out to be blocking. For that there is the room which
// the counters and users' metrics of adopted tasks leave: the job reserves no other. A task without room runs again if its exchanges
// are blocking.
func (c *core) keepTold(w *worker, t msg.TaskStateChange) {
	if !c.mayFollow() {
		return
	}
	most := c.counters.left() + c.user.Left()
	c.told.fit(most) // adopted tasks may have taken its room
	c.told.keep(held{w, t}, most)
}
