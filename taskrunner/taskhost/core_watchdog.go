package taskhost

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Cancellation says how a host watches its cancelled tasks.
type Cancellation struct {
	// Interval is task.cancellation.interval, 30 s: how often the host logs the stack of a cancelled
	// task that still runs.
	Interval time.Duration
	// Timeout is task.cancellation.timeout, 30 s: if a cancelled task still runs after this time, the
	// host ends. 0: never.
	Timeout time.Duration
}

// cancellationFrom reads the Cancellation from a configuration.
func cancellationFrom(c config.Config) Cancellation {
	return Cancellation{
		Interval: c.Duration(config.TaskCancellationInterval),
		Timeout:  c.Duration(config.TaskCancellationTimeout),
	}
}

// watchdog is a look at a cancelled task (Flink's TaskInterrupter and TaskCancelerWatchDog).
type watchdog struct {
	execution ids.ExecutionAttemptID
	last      bool // at the end of the Timeout
}

// guard starts to watch a cancelled task.
func (c *core) guard(execution ids.ExecutionAttemptID) {
	if c.cancellation.Timeout > 0 { // first: at the same time, it comes before the other look
		c.watchdogs.Set(watchdog{execution, true}, c.now.Add(c.cancellation.Timeout))
	}
	c.watchdogs.Set(watchdog{execution: execution}, c.now.Add(c.cancellation.Interval))
}

func (c *core) unguard(execution ids.ExecutionAttemptID) {
	c.watchdogs.Cancel(watchdog{execution, true})
	c.watchdogs.Cancel(watchdog{execution: execution})
}

// watch reports the cancelled tasks that still run, or gives up on one of them. In that case the
// process ends, and with it all other tasks.
func (c *core) watch() []effect {
	var stuck []stuckTask
	for {
		w, due := c.watchdogs.Due(c.now)
		switch {
		case due && w.last:
			return []effect{giveUp{w.execution}}
		case due:
			stuck = append(stuck, stuckTask{w.execution, c.now.Sub(c.tasks[w.execution].canceled)})
			c.watchdogs.Set(w, c.now.Add(c.cancellation.Interval))
		case len(stuck) > 0:
			return []effect{reportStuck{stuck}}
		default:
			return nil
		}
	}
}
