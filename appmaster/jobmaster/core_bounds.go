package jobmaster

import (
	"slices"
	"strings"

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
	// of them holds one until it restarts.
	maxBrief = 256
)

// The parts of msg.MaxJobFailures.
const (
	historyBytes = msg.MaxJobFailures / 2
	failedBytes  = msg.MaxJobFailures / 4
	lossBytes    = msg.MaxJobFailures / 4
)

// entryBytes estimates what an entry takes.
func entryBytes(e *msg.ExceptionEntry) int {
	const fixed = 192
	return fixed + len(e.Failure.Message) + len(e.Failure.Stack) + len(e.Task) + len(e.Location)
}

// boundHistory forgets the oldest root causes. The newest stays.
func (c *Core) boundHistory() {
	size, n := 0, 0
	for ; n < min(len(c.history), maxHistory); n++ {
		if size += entryBytes(&c.history[n]); n > 0 && size > historyBytes {
			break
		}
	}
	clear(c.history[n:])
	c.history = c.history[:n]
}

// hasRoomForFailed tells whether another task's failure may be kept: the first ones count.
func (c *Core) hasRoomForFailed(entry msg.ExceptionEntry) bool {
	size := entryBytes(&entry)
	for i := range c.failed {
		size += entryBytes(&c.failed[i].entry)
	}
	return len(c.failed) == 0 || len(c.failed) < maxTaskFailures && size <= failedBytes
}

// boundLosses forgets the oldest losses. The newest stays.
func (c *Core) boundLosses() {
	size, first := 0, len(c.losses)
	for ; first > max(0, len(c.losses)-maxLosses); first-- {
		entry := c.losses[first-1].cause.Entry()
		if size += entryBytes(&entry); first < len(c.losses) && size > lossBytes {
			break
		}
	}
	c.losses = slices.Delete(c.losses, 0, first)
}

// clipped bounds a failure's texts, whoever it comes from.
func clipped(f msg.Failure) msg.Failure {
	bounded := msg.NewFailure(f.Message, f.Stack)
	bounded.Permanent, bounded.PeerLost = f.Permanent, f.PeerLost
	return *bounded
}

// brief is a failure with little text.
func brief(f msg.Failure) msg.Failure {
	f.Message = strings.Clone(strings.ToValidUTF8(f.Message[:min(len(f.Message), maxBrief)], ""))
	f.Stack = ""
	return f
}
