package jobmaster

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Bounds of the failures that are kept, beside msg.MaxJobFailures.
const (
	// maxHistory bounds the root causes that are kept; Flink's
	// web.exception-history-size.
	maxHistory = 16
	// maxTaskFailures bounds the failures of tasks that are kept; Flink's
	// JobExceptionsHandler tells no more of them.
	maxTaskFailures = 20
	// maxLosses bounds the lost hosts that are kept to explain later failures.
	maxLosses = 64
	// maxBrief bounds the text of a failure when many regions fail at once, in bytes: each
	// of them holds two at most until it restarts, within what is reserved for its tasks.
	maxBrief = 256
	// maxReason bounds the reason for which a node is set aside, in bytes: before the cause
	// it may have the name, the hash and the place of a program, and a file.
	maxReason = 1024
)

// The parts of msg.MaxJobFailures.
const (
	historyBytes  = msg.MaxJobFailures * 6 / 16
	failedBytes   = msg.MaxJobFailures * 3 / 16
	lossBytes     = msg.MaxJobFailures * 3 / 16
	incidentBytes = msg.MaxJobFailures * 4 / 16
)

// fixedBytes estimates what an entry takes without its texts; briefBytes is what a brief one
// takes, with the names of its task and node.
const (
	fixedBytes = 192
	briefBytes = fixedBytes + maxBrief + 1024
)

// entryBytes estimates what an entry takes.
func entryBytes(e *msg.ExceptionEntry) int {
	return fixedBytes + len(e.Failure.Message) + len(e.Failure.Stack) + len(e.Task) + len(e.Location)
}

// boundHistory makes older root causes brief that would leave the others no room, and forgets
// those beyond maxHistory, or those that have no room even so. The newest stays as it is.
func (c *core) boundHistory() {
	n := min(len(c.history), maxHistory)
	clear(c.history[n:])
	c.history = c.history[:n]
	size := 0
	for i := range c.history {
		entry := &c.history[i]
		left := historyBytes - (n-1-i)*briefBytes // so much room do the older ones leave
		if i > 0 && size+entryBytes(entry) > left {
			entry.Failure = brief(entry.Failure)
		}
		if size += entryBytes(entry); i > 0 && size > historyBytes {
			clear(c.history[i:])
			c.history = c.history[:i]
			return
		}
	}
}

// hasRoomForFailed tells whether another task's failure may be kept: the first ones count.
func (c *core) hasRoomForFailed(entry msg.ExceptionEntry) bool {
	size := entryBytes(&entry)
	for i := range c.failed {
		size += entryBytes(&c.failed[i].entry)
	}
	return len(c.failed) == 0 || len(c.failed) < maxTaskFailures && size <= failedBytes
}

// boundLosses forgets the oldest losses. The newest stays.
func (c *core) boundLosses() {
	size, first := 0, len(c.losses)
	for ; first > max(0, len(c.losses)-maxLosses); first-- {
		entry := c.losses[first-1].cause.Entry()
		if size += entryBytes(&entry); first < len(c.losses) && size > lossBytes {
			break
		}
	}
	c.losses = slices.Delete(c.losses, 0, first)
}

// hasRoomForIncident tells whether a failing region may keep a failure with all its text. It
// keeps a brief one else, which the account of its tasks has room for.
func (c *core) hasRoomForIncident(cause failover.Cause) bool {
	entry := cause.Entry()
	size := entryBytes(&entry)
	for _, r := range c.failing {
		if size += c.regions[r].incident.TextBytes(); size > incidentBytes {
			return false
		}
	}
	return true
}

// clipped bounds a failure's texts, whoever it comes from.
func clipped(f msg.Failure) msg.Failure {
	bounded := msg.NewFailure(f.Message, f.Stack)
	bounded.Permanent, bounded.PeerLost = f.Permanent, f.PeerLost
	return *bounded
}

// brief is a failure with little text.
func brief(f msg.Failure) msg.Failure {
	f.Message = clip(f.Message, maxBrief)
	f.Stack = ""
	return f
}

// clip gives the first bytes of a text, so many at most, and keeps nothing of the rest.
func clip(text string, most int) string {
	return strings.Clone(strings.ToValidUTF8(text[:min(len(text), most)], ""))
}
