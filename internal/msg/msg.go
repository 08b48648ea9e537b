// Package msg holds what roles tell each other: plain data, no behaviour. Cores
// take these as parts of their events and put them into effects; rolerpc and
// control carry them between processes.
//
// Control runs down (Dispatcher → JobMaster → TaskExecutor → task host) and
// facts run up. A message that crosses a stream between roles travels with the
// fencing token of the leader's grant, which the stream's ends compare before a
// core sees the message. The package imports ids and jobgraph only.
package msg

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Message is one of the message types of this package. Every receiver knows some
// of them and drops the rest: a switch over it has a default.
type Message interface{ isMessage() }

// Heartbeat says that the sender is alive, on any stream and in both
// directions, when there was nothing else to say for an interval. A task host
// answers its TaskExecutor's.
type Heartbeat struct{}

// Disconnect ends a stream on purpose and says why. Its receiver does not count
// it as a failure.
type Disconnect struct{ Cause string }

// Failure is an error on its way to people: what happened, where, and the stack
// of the user's code where there is one. Bounded by NewFailure.
type Failure struct {
	Message string // what happened; the first line stands alone
	Stack   string // the panicking goroutine's stack, or ""
	// Permanent says that another attempt would fail the same way (an input
	// that changed, an output that exists): the restart strategy is not asked.
	Permanent bool
	// PeerLost names the host whose loss, as the task sees it (its connection
	// broke, it never answered), made the task fail; "" for any other failure.
	// What became of that host is the root cause, not this.
	PeerLost ids.HostID
}

// Bounds of a Failure's texts, in bytes: they go through REST and end in YARN's
// diagnostics.
const (
	maxFailureMessage = 4 << 10
	maxFailureStack   = 16 << 10
)

// Bounds of what a JobMaster keeps of its job, in bytes of memory: the Dispatcher counts on
// them.
const (
	// MaxJobFailures is for failures with their texts: those of tasks and workers, of regions
	// that fail, and the job's history together. Regions beyond that which fail at once keep
	// a brief text each, within what is reserved for their tasks.
	MaxJobFailures = 128 << 10
	// MaxJobCounters is for the counters of the whole job with their names, beside what its
	// tasks add to that.
	MaxJobCounters = 64 << 10
)

// NewFailure makes a Failure with its texts cut to their bounds and made valid
// UTF-8: user code panics with anything.
func NewFailure(message, stack string) *Failure {
	return &Failure{Message: clip(message, maxFailureMessage), Stack: clip(stack, maxFailureStack)}
}

func (f *Failure) Error() string { return f.Message }

// clip takes what is too much out of the middle: what happened stands at the
// beginning, what became of it at the end.
func clip(s string, limit int) string {
	const (
		cut = " … (cut) … "
		end = 512
	)
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit-end-len(cut)], "") + cut + strings.ToValidUTF8(s[len(s)-end:], "")
	}
	return strings.ToValidUTF8(s, "?") // no longer than what it replaces
}

func (Heartbeat) isMessage()  {}
func (Disconnect) isMessage() {}
