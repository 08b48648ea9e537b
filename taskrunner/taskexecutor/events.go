package taskexecutor

import (
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// event is something that happened, for core.Step.
//
//sumtype:decl
type event interface{ isEvent() }

// linkID numbers the attempts to open a stream to a role, from 1.
type linkID uint64

// inquiryID numbers the questions that this worker was asked, from 1.
type inquiryID uint64

// copyID numbers the attempts to fetch a program or a file, from 1, and the copies that they make.
type copyID uint64

// The events.
type (
	// started is the first event, once.
	started struct{}
	// linkOpened answers openLink: the role has accepted the stream.
	linkOpened struct{ Link linkID }
	// linkLost answers openLink if no stream could be opened, and also reports the end of an open
	// stream.
	linkLost struct {
		Link     linkID
		Cause    string
		NotReady bool // the answer to openLink: the JobMaster is being made
	}
	// leaderFound answers findLeader.
	leaderFound struct {
		Epoch   ids.Epoch
		Address string
	}
	// leaderNotFound answers findLeader: no leader has published its address, or the file system does not answer.
	leaderNotFound struct{ Cause string }
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
	// hostOverMemory says that the container is about to exceed its memory, and names the host
	// furthest above its share.
	hostOverMemory struct {
		Host            ids.HostID
		Resident, Share config.Bytes
	}
	// terminated says that the process received a signal, and must end.
	terminated struct{ Cause string }
	// fetched answers fetchProgram and fetchFile: the file is here and the right one.
	fetched struct {
		Copy copyID
		File string
		Size config.Bytes
	}
	// fetchFailed answers fetchProgram and fetchFile: the fetch failed and left no files.
	fetchFailed struct {
		Copy        copyID
		Cause       string // with the URI
		Permanent   bool   // each worker would fail with it: see localcopy.Final
		NeedsTokens bool   // this worker has no valid delegation token: see dfs.NeedsTokens
	}
	// inquiryAnswered answers answerInquiry.
	inquiryAnswered struct {
		Inquiry inquiryID
		Answer  msg.InquiryAnswer
	}
	// measured brings what this worker and its hosts use, every few seconds.
	measured struct{ Metrics msg.WorkerMetrics }
	// woken says that the time of the core's alarm has come.
	woken struct{}
)

func (started) isEvent()         {}
func (linkOpened) isEvent()      {}
func (linkLost) isEvent()        {}
func (leaderFound) isEvent()     {}
func (leaderNotFound) isEvent()  {}
func (roleSaid) isEvent()        {}
func (hostSaid) isEvent()        {}
func (hostExited) isEvent()      {}
func (hostOverMemory) isEvent()  {}
func (terminated) isEvent()      {}
func (fetched) isEvent()         {}
func (fetchFailed) isEvent()     {}
func (inquiryAnswered) isEvent() {}
func (measured) isEvent()        {}
func (woken) isEvent()           {}

// Exit is how a task host ended.
type Exit struct {
	How    string // "exit status 2", "signal: killed", "cannot be started: …"
	Crash  string // the line with which Go announces a crash, and the start of its stack, or ""
	Output string // the last lines of its output
}

// effect is an action that core.Step asks for.
//
//sumtype:decl
type effect interface{ isEffect() }

// The effects.
type (
	// openLink opens a stream to the ResourceManager, or to a job's JobMaster.
	openLink struct {
		Link    linkID
		Job     ids.JobID // "" means the ResourceManager
		Address string    // of the master
	}
	// findLeader looks for the leader of the application.
	findLeader struct{}
	// sendRole sends a message over a link.
	sendRole struct {
		Link    linkID
		Message msg.Message
	}
	// setToken sets a link's fencing token for later messages, and the amount of work that both
	// sides share, in slots or tasks.
	setToken struct {
		Link  linkID
		Token string
		Share int
	}
	// closeLink closes a link; no further event comes from it.
	closeLink struct {
		Link  linkID
		Cause string
	}
	// fetchProgram fetches a program to this worker. The copy is kept until dropCopy.
	fetchProgram struct {
		Copy    copyID
		Program msg.Program
	}
	// fetchFile fetches a file for the tasks of jobs. The copy is kept until dropCopy.
	fetchFile struct {
		Copy copyID
		File jobgraph.CachedFile // without its name
	}
	// dropCopy removes a copy, or cancels its fetch. Nothing uses the copy any more.
	dropCopy struct{ Copy copyID }
	// updateTokens replaces the tokens with which this worker fetches artifacts, also for fetches
	// that run.
	updateTokens struct{ Tokens msg.Secret }
	// startHost starts a job's program as a task host.
	startHost struct {
		Host    ids.HostID
		Job     ids.JobID
		Program string // file
		Memory  memory.Slot
	}
	// instructHost tells a host its job (msg.StartHost).
	instructHost struct {
		Host   ids.HostID
		Job    msg.JobSpec
		Files  map[string]string // path by name
		Tokens msg.Secret
		Memory memory.Slot
		// HeartbeatTimeout is how long a host tolerates the silence of another host.
		HeartbeatTimeout time.Duration
		Share            int // of the work, in tasks
	}
	// setHostMemory changes the share of a host for the sampler.
	setHostMemory struct {
		Host   ids.HostID
		Memory memory.Slot
	}
	// sendHost sends a message to a host.
	sendHost struct {
		Host    ids.HostID
		Message msg.Message
	}
	// answerInquiry answers a question about this process.
	answerInquiry struct {
		Inquiry inquiryID
		About   msg.Inquiry
	}
	// servePartitions serves partitions that a task has finished. It comes before the JobMaster learns of them.
	servePartitions struct {
		Job   ids.JobID
		Files []PartitionFile
	}
	// removePartitions ends the service of partitions, and removes their files.
	removePartitions struct {
		Job   ids.JobID
		Files []PartitionFile
	}
	// tidyPartitions removes what a host that has ended leaves behind: all files but those of these partitions, or its
	// directories.
	tidyPartitions struct {
		Host ids.HostID
		Keep []ids.PartitionID
	}
	// showMetrics shows what this worker and its hosts use, and which partitions it serves.
	showMetrics struct{ Metrics msg.WorkerMetrics }
	// killHost kills a host.
	killHost struct{ Host ids.HostID }
	// end ends the TaskExecutor; no effect follows.
	end struct {
		Reason endReason
		Cause  string
	}
)

func (openLink) isEffect()         {}
func (findLeader) isEffect()       {}
func (sendRole) isEffect()         {}
func (setToken) isEffect()         {}
func (closeLink) isEffect()        {}
func (fetchProgram) isEffect()     {}
func (fetchFile) isEffect()        {}
func (dropCopy) isEffect()         {}
func (updateTokens) isEffect()     {}
func (startHost) isEffect()        {}
func (instructHost) isEffect()     {}
func (setHostMemory) isEffect()    {}
func (sendHost) isEffect()         {}
func (answerInquiry) isEffect()    {}
func (servePartitions) isEffect()  {}
func (removePartitions) isEffect() {}
func (tidyPartitions) isEffect()   {}
func (showMetrics) isEffect()      {}
func (killHost) isEffect()         {}
func (end) isEffect()              {}

// endReason is why a TaskExecutor ends itself.
type endReason string

// The reasons.
const (
	released     endReason = "released"     // the ResourceManager does not need it
	rejected     endReason = "rejected"     // the ResourceManager refused it
	unregistered endReason = "unregistered" // it found no ResourceManager in time
	stopped      endReason = "stopped"      // its process received a signal
)

// timer names a deadline of the core; only the fields that its kind needs are set. Ids are never
// used twice, so a timer with an old id is stale.
type timer struct {
	Kind       timerKind
	Link       linkID
	Job        ids.JobID
	Allocation ids.AllocationID
	Host       ids.HostID
	Copy       copyID
	Inquiry    inquiryID
}

// timerKind is the purpose of a timer.
type timerKind string

// The kinds of timers.
const (
	timerReconnect     timerKind = "reconnect"      // Link was lost: open another
	timerFind          timerKind = "find"           // no ResourceManager was reached: look for the leader
	timerAdmission     timerKind = "admission"      // Link was opened: the role should have answered
	timerHeartbeat     timerKind = "heartbeat"      // of Link
	timerRegistration  timerKind = "registration"   // a ResourceManager should be found
	timerSlot          timerKind = "slot"           // Allocation should be accepted
	timerPartitions    timerKind = "partitions"     // a JobMaster of Job should have come
	timerHostReady     timerKind = "host-ready"     // Host should be ready
	timerHostHeartbeat timerKind = "host-heartbeat" // Host should send a heartbeat
	timerHostStop      timerKind = "host-stop"      // Host should have ended, because it was told to, or said that it ends
	timerHostReset     timerKind = "host-reset"     // Host should have ended its lost tasks
	timerHostStart     timerKind = "host-start"     // Host was lost: start another for Job
	timerInquiry       timerKind = "inquiry"        // a host or this process should have answered Inquiry
	timerFetch         timerKind = "fetch"          // Copy was refused for want of a valid token: fetch it again
)
