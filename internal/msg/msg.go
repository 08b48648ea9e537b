// Package msg holds the messages between roles: plain data without behaviour. Cores receive
// messages in events and send them in effects. Packages rolerpc and control carry them
// between processes.
//
// Orders go down (Dispatcher → JobMaster → TaskExecutor → task host) and facts go up. On a
// stream between roles, a message carries the fencing token of the leader's grant. The
// receiving end compares the token before a core sees the message. The package imports only
// ids and jobgraph.
package msg

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Message is one of the message types of this package. Every receiver handles some types and
// drops the others, so a switch over a Message has a default case.
type Message interface{ isMessage() }

// Heartbeat says that the sender is alive. Both ends of any stream send it when they have
// sent nothing else for an interval. A task host answers the Heartbeat of its TaskExecutor.
type Heartbeat struct {
	// Workers is TaskExecutorRegistered.Workers at present; 0 if the sender is no ResourceManager.
	Workers int
	// HDFS is what a task host has measured; nil: nothing, or the sender is no task host.
	HDFS *HDFSMetrics `cbor:",omitempty"`
	// Process is what a task host uses itself; nil: as HDFS.
	Process *ProcessMetrics `cbor:",omitempty"`
	// Pool are the buffers of a task host; nil: as HDFS.
	Pool *BufferPool `cbor:",omitempty"`
	// Managed is the memory of the operators in a task host; nil: as HDFS.
	Managed *ManagedMemory `cbor:",omitempty"`
}

// Disconnect ends a stream on purpose and says why. The receiver does not treat it as a
// failure.
type Disconnect struct{ Cause string }

// Failure is an error to be shown to users: a message and the stack of the user's code, if
// there is one. NewFailure bounds both.
type Failure struct {
	Message string // what happened; the first line makes sense alone
	Stack   string // the panicking goroutine's stack, or ""
	// Permanent is true if another attempt would fail the same way, for example because an
	// input has changed or an output exists. Then the restart strategy is not used.
	Permanent bool
	// PeerLost names the host whose loss made the task fail: its connection broke, or it
	// never answered. It is "" for any other failure. The root cause is the failure of that
	// host, not this one.
	PeerLost ids.HostID
	// PartitionLost names the blocking partition that the task could not read: its worker does not have it any more, or its
	// file is damaged. The task that has written it must run again. nil: for any other failure.
	PartitionLost *ids.PartitionID `cbor:",omitempty"`
}

// Bounds of a Failure's texts, in bytes: they go through REST and end in YARN's
// diagnostics.
const (
	maxFailureMessage = 4 << 10
	maxFailureStack   = 16 << 10
)

// Bounds of the data that a JobMaster keeps about its job, in bytes of memory. The Dispatcher
// relies on them.
const (
	// MaxJobFailures is for failures with their texts: those of tasks, workers and failed
	// regions, and the job's history, all together. If more regions fail at once, each
	// further one keeps a brief text, in the memory reserved for its tasks.
	MaxJobFailures = 128 << 10
	// MaxJobCounters is for the counters of the whole job with their names, in addition to
	// those of its tasks.
	MaxJobCounters = 64 << 10
	// MaxJobMetrics is for users' metrics with their names, in addition to those of the job's
	// tasks.
	MaxJobMetrics = 64 << 10
)

// NewFailure makes a Failure. It cuts the texts to their bounds and makes them valid UTF-8,
// because user code may panic with any value.
func NewFailure(message, stack string) *Failure {
	return &Failure{Message: clip(message, maxFailureMessage), Stack: clip(stack, maxFailureStack)}
}

func (f *Failure) Error() string { return f.Message }

// clip cuts the middle out of a long text: the beginning says what happened, the end what followed.
func clip(s string, limit int) string {
	const (
		cut = " … (cut) … "
		end = 512
	)
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit-end-len(cut)], "") + cut + strings.ToValidUTF8(s[len(s)-end:], "")
	}
	return strings.ToValidUTF8(s, "?") // "?" is not longer than the bytes that it replaces
}

func (Heartbeat) isMessage()  {}
func (Disconnect) isMessage() {}
