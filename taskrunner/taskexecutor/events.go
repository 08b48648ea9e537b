package taskexecutor

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// event is something that happened, for core.Step.
//
//sumtype:decl
type event interface{ isEvent() }

// linkID numbers the attempts to open a stream to a role, from 1.
type linkID uint64

// copyID numbers the attempts to fetch a program, from 1, and what they bring.
type copyID uint64

// The events.
type (
	// started comes first, once.
	started struct{}
	// linkOpened answers OpenLink: the role has taken the stream.
	linkOpened struct{ Link linkID }
	// linkLost answers openLink when no stream could be opened, and tells of the
	// end of one that was.
	linkLost struct {
		Link  linkID
		Cause string
	}
	// roleSaid brings a message of the role at the other end.
	roleSaid struct {
		Link    linkID
		Message msg.Message
	}
	// hostSaid brings a message of a task host.
	hostSaid struct {
		Host    ids.HostID
		Message msg.Message
	}
	// hostExited says that a task host has ended, or could not be started. It is
	// the last event of this host.
	hostExited struct {
		Host ids.HostID
		Exit Exit
	}
	// hostOverMemory says that the container is about to exceed its memory, and
	// which host is furthest over its share.
	hostOverMemory struct {
		Host            ids.HostID
		Resident, Share config.Bytes
	}
	// programFetched answers fetchProgram: the program is there, and is what it
	// should be.
	programFetched struct {
		Copy copyID
		File string
		Size config.Bytes
	}
	// programFailed answers fetchProgram: nothing is left of it.
	programFailed struct {
		Copy  copyID
		Cause string // with the program and where it was to come from
	}
	// woken says that the core's alarm rings.
	woken struct{}
)

func (started) isEvent()        {}
func (linkOpened) isEvent()     {}
func (linkLost) isEvent()       {}
func (roleSaid) isEvent()       {}
func (hostSaid) isEvent()       {}
func (hostExited) isEvent()     {}
func (hostOverMemory) isEvent() {}
func (programFetched) isEvent() {}
func (programFailed) isEvent()  {}
func (woken) isEvent()          {}

// Exit is how a task host ended.
type Exit struct {
	How    string // "exit status 2", "signal: killed", "cannot be started: …"
	Crash  string // the line with which Go announced a crash and the beginning of its stack, or ""
	Output string // the last lines that it printed
}

// effect is something that core.Step wants done.
//
//sumtype:decl
type effect interface{ isEffect() }

// The effects.
type (
	// openLink opens a stream to the ResourceManager, or to a job's JobMaster.
	openLink struct {
		Link linkID
		Job  ids.JobID // "" means the ResourceManager
	}
	// sendRole sends a message over a link.
	sendRole struct {
		Link    linkID
		Message msg.Message
	}
	// setToken sets a link's fencing token for what follows, and how much work is shared
	// over it, in slots or tasks.
	setToken struct {
		Link  linkID
		Token string
		Share int
	}
	// closeLink ends a link; nothing more comes of it.
	closeLink struct {
		Link  linkID
		Cause string
	}
	// fetchProgram brings a program to this worker. The copy is kept until it is
	// dropped.
	fetchProgram struct {
		Copy    copyID
		Program msg.Program
		Tokens  msg.Secret // for HDFS
	}
	// dropProgram removes a copy, or ends the fetch of one. Nothing uses it.
	dropProgram struct{ Copy copyID }
	// startHost starts a job's program as a task host.
	startHost struct {
		Host     ids.HostID
		Job      ids.JobID
		Program  string // file
		MemoryMB int
	}
	// instructHost tells a host what it is (msg.StartHost).
	instructHost struct {
		Host     ids.HostID
		Job      msg.JobSpec
		Tokens   msg.Secret
		MemoryMB int
		Network  config.Bytes
		// HeartbeatTimeout is how long hosts bear with one another's silence.
		HeartbeatTimeout time.Duration
		Share            int // of work, in tasks
	}
	// setHostMemory changes what a host may hold in the eyes of the sampler.
	setHostMemory struct {
		Host     ids.HostID
		MemoryMB int
	}
	// sendHost sends a message to a host.
	sendHost struct {
		Host    ids.HostID
		Message msg.Message
	}
	// killHost ends a host at once.
	killHost struct{ Host ids.HostID }
	// end ends the TaskExecutor; no effect follows.
	end struct {
		Reason endReason
		Cause  string
	}
)

func (openLink) isEffect()      {}
func (sendRole) isEffect()      {}
func (setToken) isEffect()      {}
func (closeLink) isEffect()     {}
func (fetchProgram) isEffect()  {}
func (dropProgram) isEffect()   {}
func (startHost) isEffect()     {}
func (instructHost) isEffect()  {}
func (setHostMemory) isEffect() {}
func (sendHost) isEffect()      {}
func (killHost) isEffect()      {}
func (end) isEffect()           {}

// endReason is why a TaskExecutor ends itself.
type endReason string

// The reasons.
const (
	released     endReason = "released"     // the ResourceManager does not need it
	rejected     endReason = "rejected"     // the ResourceManager does not want it
	unregistered endReason = "unregistered" // it found no ResourceManager in time
)

// timer names a deadline of the core; only the fields that its kind needs are set. Ids are
// never used twice, so a timer whose id is not current any more is stale.
type timer struct {
	Kind       timerKind
	Link       linkID
	Job        ids.JobID
	Allocation ids.AllocationID
	Host       ids.HostID
}

// timerKind is what a timer is for.
type timerKind string

// The kinds of timers.
const (
	timerReconnect     timerKind = "reconnect"      // Link was lost: open another
	timerAdmission     timerKind = "admission"      // Link was opened: the role should have answered
	timerHeartbeat     timerKind = "heartbeat"      // of Link
	timerRegistration  timerKind = "registration"   // a ResourceManager should be found
	timerSlot          timerKind = "slot"           // Allocation should be accepted
	timerHostReady     timerKind = "host-ready"     // Host should be ready
	timerHostHeartbeat timerKind = "host-heartbeat" // Host should give a sign of life
	timerHostStop      timerKind = "host-stop"      // Host should have ended, as it was told or has said
	timerHostStart     timerKind = "host-start"     // Host was lost: start another for Job
)
