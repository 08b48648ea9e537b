package taskhost

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// maxStuckShown bounds the tasks whose stacks one report logs. The tasks of a vertex usually wait
// for the same thing.
const maxStuckShown = 8

// reportStuck logs the stacks of cancelled tasks that still run.
func (h *host) reportStuck(stuck []stuckTask) {
	stacks := stacksOf(h.start.Host)
	for _, t := range stuck[:min(len(stuck), maxStuckShown)] {
		h.log.WithField("execution", t.Execution.String()).WithField("stack", stacks[t.Execution.String()]).
			Warnf("task %s still runs %s after it was cancelled; its code must return when its context ends", h.nameOf(t.Execution), t.For)
	}
	if more := len(stuck) - maxStuckShown; more > 0 {
		h.log.Warnf("%d more cancelled tasks still run", more)
	}
}

// giveUp ends the host and its process, because nothing else can end code that ignores its context.
func (h *host) giveUp(execution ids.ExecutionAttemptID) {
	err := fmt.Errorf("task %s, execution %s, still runs %s after it was cancelled (%s): %w",
		h.nameOf(execution), execution, h.cancellation.Timeout, config.TaskCancellationTimeout.Name(), ErrTaskStuck)
	failure := msg.NewFailure(err.Error(), stacksOf(h.start.Host)[execution.String()])
	h.outbox.Put(msg.HostLost{Host: h.start.Host, Failure: *failure}, "")
	h.loop.Fail(err)
}

// nameOf is a task's name for users: "count (2/4)".
func (h *host) nameOf(execution ids.ExecutionAttemptID) string {
	vertex := h.compiled.Graph.Vertices[execution.Vertex]
	return fmt.Sprintf("%s (%d/%d)", vertex.Name, execution.Subtask+1, vertex.Parallelism)
}
