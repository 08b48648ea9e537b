package jobmaster

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Bounds of the failures that are kept, beside msg.MaxJobFailures.
const (
	// maxTaskFailures bounds the failures of tasks that are kept; Flink's JobExceptionsHandler
	// shows no more.
	maxTaskFailures = 20
	// maxLosses bounds the lost hosts that are kept to explain later failures.
	maxLosses = 64
	// maxBrief bounds the text of a failure when many regions fail at once, in bytes. Each region
	// holds at most two such texts until it restarts. The memory reserved for its tasks has room
	// for them (package budget).
	maxBrief = budget.BriefFailure
	// maxReason bounds the reason for which a node is set aside, in bytes. The reason may begin
	// with the name, hash and location of a program, and a file, before the cause.
	maxReason = 1024
)

// The parts of msg.MaxJobFailures.
const (
	historyBytes  = msg.MaxJobFailures * 6 / 16
	failedBytes   = msg.MaxJobFailures * 3 / 16
	lossBytes     = msg.MaxJobFailures * 3 / 16
	incidentBytes = msg.MaxJobFailures * 4 / 16
)

// briefBytes estimates the memory of a brief entry with the names of its task and node.
const briefBytes = budget.FailureSize + maxBrief + 1024

// boundHistory bounds the history to Config.ExceptionHistory root causes and historyBytes. It shortens an older
// entry if the remaining entries would have no room, and drops the oldest ones that still have
// none. The newest entry is never shortened.
func (c *core) boundHistory() {
	n := min(len(c.history), c.config.ExceptionHistory)
	clear(c.history[n:])
	c.history = c.history[:n]
	size := 0
	for i := range c.history {
		entry := &c.history[i]
		left := historyBytes - (n-1-i)*briefBytes // the room that the older entries leave
		if i > 0 && size+budget.SizeOfFailure(entry) > left {
			entry.Failure = brief(entry.Failure)
		}
		if size += budget.SizeOfFailure(entry); i > 0 && size > historyBytes {
			clear(c.history[i:])
			c.history = c.history[:i]
			return
		}
	}
}

// hasRoomForFailed tells whether another task's failure may be kept. The first failures are kept.
func (c *core) hasRoomForFailed(entry msg.ExceptionEntry) bool {
	size := budget.SizeOfFailure(&entry)
	for i := range c.failed {
		size += budget.SizeOfFailure(&c.failed[i].entry)
	}
	return len(c.failed) == 0 || len(c.failed) < maxTaskFailures && size <= failedBytes
}

// boundLosses drops the oldest losses. The newest is always kept.
func (c *core) boundLosses() {
	size, first := 0, len(c.losses)
	for ; first > max(0, len(c.losses)-maxLosses); first-- {
		entry := c.losses[first-1].cause.Entry()
		if size += budget.SizeOfFailure(&entry); first < len(c.losses) && size > lossBytes {
			break
		}
	}
	c.losses = slices.Delete(c.losses, 0, first)
}

// hasRoomForIncident tells whether a failing region may keep the whole text of a failure. Otherwise
// it keeps a brief one, which the memory reserved for its tasks covers.
func (c *core) hasRoomForIncident(cause failover.Cause) bool {
	entry := cause.Entry()
	size := budget.SizeOfFailure(&entry)
	for _, r := range c.failing {
		if size += c.regions[r].incident.TextBytes(); size > incidentBytes {
			return false
		}
	}
	return true
}

// clipped bounds the texts of a failure from any source.
func clipped(f msg.Failure) msg.Failure {
	bounded := msg.NewFailure(f.Message, f.Stack)
	bounded.Permanent, bounded.PeerLost, bounded.PartitionLost = f.Permanent, f.PeerLost, f.PartitionLost
	return *bounded
}

// brief shortens the message of a failure and drops its stack.
func brief(f msg.Failure) msg.Failure {
	f.Message = clip(f.Message, maxBrief)
	f.Stack = ""
	return f
}

// clip gives at most the first bytes of a text, as a copy, so that the rest can be freed.
func clip(text string, most int) string {
	return strings.Clone(strings.ToValidUTF8(text[:min(len(text), most)], ""))
}
