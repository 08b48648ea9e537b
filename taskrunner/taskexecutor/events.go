package taskexecutor

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Event is something that happened, for Core.Step.
//
//sumtype:decl
type Event interface{ isEvent() }

// LinkID numbers the attempts to open a stream to a role, from 1.
type LinkID uint64

// CopyID numbers the attempts to fetch a program, from 1, and what they bring.
type CopyID uint64

// The events.
type (
	// Started comes first, once.
	Started struct{}
	// LinkOpened answers OpenLink: the role has taken the stream.
	LinkOpened struct{ Link LinkID }
	// LinkLost answers OpenLink when no stream could be opened, and tells of the
	// end of one that was.
	LinkLost struct {
		Link  LinkID
		Cause string
	}
	// RoleSaid brings a message of the role at the other end.
	RoleSaid struct {
		Link    LinkID
		Message msg.Message
	}
	// HostSaid brings a message of a task host.
	HostSaid struct {
		Host    ids.HostID
		Message msg.Message
	}
	// HostExited says that a task host has ended, or could not be started. It is
	// the last event of this host.
	HostExited struct {
		Host ids.HostID
		Exit Exit
	}
	// HostOverMemory says that the container is about to exceed its memory, and
	// which host is furthest over its share.
	HostOverMemory struct {
		Host            ids.HostID
		Resident, Share config.Bytes
	}
	// ProgramFetched answers FetchProgram: the program is there, and is what it
	// should be.
	ProgramFetched struct {
		Copy CopyID
		File string
		Size config.Bytes
	}
	// ProgramFailed answers FetchProgram: nothing is left of it.
	ProgramFailed struct {
		Copy  CopyID
		Cause string // with the program and where it was to come from
	}
	// TimerFired says that the time of a SetTimer has come.
	TimerFired struct{ Timer Timer }
)

func (Started) isEvent()        {}
func (LinkOpened) isEvent()     {}
func (LinkLost) isEvent()       {}
func (RoleSaid) isEvent()       {}
func (HostSaid) isEvent()       {}
func (HostExited) isEvent()     {}
func (HostOverMemory) isEvent() {}
func (ProgramFetched) isEvent() {}
func (ProgramFailed) isEvent()  {}
func (TimerFired) isEvent()     {}

// Exit is how a task host ended.
type Exit struct {
	How    string // "exit status 2", "signal: killed", "cannot be started: …"
	Crash  string // the line with which Go announced a crash and the beginning of its stack, or ""
	Output string // the last lines that it printed
}

// Effect is something that Core.Step wants done.
//
//sumtype:decl
type Effect interface{ isEffect() }

// The effects.
type (
	// OpenLink opens a stream to the ResourceManager, or to a job's JobMaster.
	OpenLink struct {
		Link LinkID
		Job  ids.JobID // "" means the ResourceManager
	}
	// SendRole sends a message over a link.
	SendRole struct {
		Link    LinkID
		Message msg.Message
	}
	// SetToken sets a link's fencing token for what follows, and how much work is shared
	// over it, in slots or tasks.
	SetToken struct {
		Link  LinkID
		Token string
		Share int
	}
	// CloseLink ends a link; nothing more comes of it.
	CloseLink struct {
		Link  LinkID
		Cause string
	}
	// FetchProgram brings a program to this worker. The copy is kept until it is
	// dropped.
	FetchProgram struct {
		Copy    CopyID
		Program msg.Program
		Tokens  msg.Secret // for HDFS
	}
	// DropProgram removes a copy, or ends the fetch of one. Nothing uses it.
	DropProgram struct{ Copy CopyID }
	// StartHost starts a job's program as a task host.
	StartHost struct {
		Host     ids.HostID
		Job      ids.JobID
		Program  string // file
		MemoryMB int
	}
	// InstructHost tells a host what it is (msg.StartHost).
	InstructHost struct {
		Host     ids.HostID
		Job      msg.JobSpec
		Tokens   msg.Secret
		MemoryMB int
		Network  config.Bytes
		// HeartbeatTimeout is how long hosts bear with one another's silence.
		HeartbeatTimeout time.Duration
		Share            int // of work, in tasks
	}
	// SetHostMemory changes what a host may hold in the eyes of who watches it.
	SetHostMemory struct {
		Host     ids.HostID
		MemoryMB int
	}
	// SendHost sends a message to a host.
	SendHost struct {
		Host    ids.HostID
		Message msg.Message
	}
	// KillHost ends a host at once.
	KillHost struct{ Host ids.HostID }
	// SetTimer asks for TimerFired.
	SetTimer struct {
		Timer Timer
		After time.Duration
	}
	// End ends the TaskExecutor; no effect follows.
	End struct {
		Reason EndReason
		Cause  string
	}
)

func (OpenLink) isEffect()      {}
func (SendRole) isEffect()      {}
func (SetToken) isEffect()      {}
func (CloseLink) isEffect()     {}
func (FetchProgram) isEffect()  {}
func (DropProgram) isEffect()   {}
func (StartHost) isEffect()     {}
func (InstructHost) isEffect()  {}
func (SetHostMemory) isEffect() {}
func (SendHost) isEffect()      {}
func (KillHost) isEffect()      {}
func (SetTimer) isEffect()      {}
func (End) isEffect()           {}

// EndReason is why a TaskExecutor ends itself.
type EndReason int

// The reasons.
const (
	Released     EndReason = iota + 1 // the ResourceManager does not need it
	Rejected                          // the ResourceManager does not want it
	Unregistered                      // it found no ResourceManager in time
)

func (r EndReason) String() string {
	switch r {
	case Released:
		return "released"
	case Rejected:
		return "rejected"
	case Unregistered:
		return "unregistered"
	}
	return "unknown"
}

// Timer names a timer; only the fields that its kind needs are set. Ids are
// never used twice, so a timer whose id is not current any more is stale.
type Timer struct {
	Kind       TimerKind
	Link       LinkID
	Job        ids.JobID
	Allocation ids.AllocationID
	Host       ids.HostID
}

// TimerKind is what a timer is for.
type TimerKind int

// The kinds of timers.
const (
	TimerReconnect     TimerKind = iota + 1 // Link was lost: open another
	TimerAdmission                          // Link was opened: the role should have answered
	TimerHeartbeat                          // of Link
	TimerRegistration                       // a ResourceManager should be found
	TimerSlot                               // Allocation should be accepted
	TimerHostReady                          // Host should be ready
	TimerHostHeartbeat                      // Host should give a sign of life
	TimerHostStop                           // Host should have ended, as it was told or has said
	TimerHostStart                          // Host was lost: start another for Job
)

func (k TimerKind) String() string {
	switch k {
	case TimerReconnect:
		return "reconnect"
	case TimerAdmission:
		return "admission"
	case TimerHeartbeat:
		return "heartbeat"
	case TimerRegistration:
		return "registration"
	case TimerSlot:
		return "slot"
	case TimerHostReady:
		return "host-ready"
	case TimerHostHeartbeat:
		return "host-heartbeat"
	case TimerHostStop:
		return "host-stop"
	case TimerHostStart:
		return "host-start"
	}
	return "unknown"
}
