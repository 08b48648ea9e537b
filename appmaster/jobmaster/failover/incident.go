package failover

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Kind says what failed.
type Kind int

// The kinds. WorkerLost and HostStopped (the worker stops the host) use up no restart, because the
// job usually does not cause them. HostFull uses up none either: it is followed by HostUnavailable if
// no other node serves the job.
const (
	TaskFailed Kind = iota + 1
	HostLost
	HostStopped
	HostUnavailable // a worker cannot run a host of the job
	HostFull        // a worker has no room for the partitions of the job
	WorkerLost
	SlotsTimedOut // the job has too few slots for any region
)

// Cause is one failure and where it happened.
type Cause struct {
	Kind     Kind
	Time     time.Time
	Failure  msg.Failure
	Task     string         // name of the task for users, or "" for a host or worker
	Location string         // the worker's node
	Resource ids.ResourceID // worker
	Host     ids.HostID     // with HostLost, HostStopped, HostFull and WorkerLost, if there was a host
}

// Entry is the cause as an entry of the job's history.
func (c Cause) Entry() msg.ExceptionEntry {
	return msg.ExceptionEntry{
		Time: c.Time, Failure: c.Failure, Task: c.Task, Location: c.Location, Resource: c.Resource,
	}
}

// HoldTime is how long the failure of a task that lost its peer waits for a report about that peer.
// Both are reported at about the same time over different streams, so either may come first.
const HoldTime = time.Second

// Incident collects the failures of one region from the first one until the root cause is known.
// Its zero value is ready to use.
type Incident struct {
	root  *Cause // the first failure that blames no peer
	heard *Cause // the first that blames a peer
}

// Add records a failure, unless the root cause is already known.
func (i *Incident) Add(c Cause) {
	switch {
	case i.root != nil:
	case c.Failure.PeerLost == "":
		i.root = &c
	case i.heard == nil:
		i.heard = &c
	}
}

// TextBytes is the length of the texts of all failures, in bytes.
func (i *Incident) TextBytes() (n int) {
	for _, c := range []*Cause{i.root, i.heard} {
		if c != nil {
			n += len(c.Failure.Message) + len(c.Failure.Stack) + len(c.Task) + len(c.Location)
		}
	}
	return n
}

// Suspect is the host that the failures blame, and since when; "" if none blames a host, or the
// root cause is known.
func (i *Incident) Suspect() (host ids.HostID, since time.Time) {
	if i.root != nil || i.heard == nil {
		return "", time.Time{}
	}
	return i.heard.Failure.PeerLost, i.heard.Time
}

// Root is the root cause: the first failure that blames no peer, or after HoldTime the first
// failure that blames one. Before that it is unknown.
func (i *Incident) Root(now time.Time) (Cause, bool) {
	switch {
	case i.root != nil:
		return *i.root, true
	case i.heard != nil && now.Sub(i.heard.Time) >= HoldTime:
		return *i.heard, true
	}
	return Cause{}, false
}

// HeldUntil is when HoldTime ends; false if nothing is held.
func (i *Incident) HeldUntil(now time.Time) (time.Time, bool) {
	if i.root != nil || i.heard == nil {
		return time.Time{}, false
	}
	until := i.heard.Time.Add(HoldTime)
	return until, until.After(now)
}
