package records

import "fmt"

// ExitStatus says how a container ended. It is the exit code of its process or, below zero,
// YARN's reason, which replaces the code
// (org.apache.hadoop.yarn.api.records.ContainerExitStatus).
type ExitStatus int32

const (
	ExitSuccess ExitStatus = 0
	// ExitUnknown is the status of a container that runs or has never run.
	ExitUnknown                    ExitStatus = -1000
	ExitAborted                    ExitStatus = -100
	ExitDisksFailed                ExitStatus = -101
	ExitPreempted                  ExitStatus = -102
	ExitExceededVirtualMemory      ExitStatus = -103
	ExitExceededPhysicalMemory     ExitStatus = -104
	ExitKilledByAppMaster          ExitStatus = -105
	ExitKilledByResourceManager    ExitStatus = -106
	ExitKilledAfterAppCompletion   ExitStatus = -107
	ExitKilledByContainerScheduler ExitStatus = -108
	ExitKilledForExcessLogs        ExitStatus = -109
	// ExitForceKilled is 128 + SIGKILL. The kernel's out-of-memory killer leaves it too.
	ExitForceKilled ExitStatus = 137
	// ExitTerminated is 128 + SIGTERM.
	ExitTerminated ExitStatus = 143
	// ExitLost says that a restarted NodeManager did not find the container again.
	ExitLost ExitStatus = 154
)

// Name returns Hadoop's name of a status set by YARN. It is empty for exit codes.
func (s ExitStatus) Name() string {
	name, _ := s.describe()
	return name
}

// Reason describes in words how the container ended.
func (s ExitStatus) Reason() string {
	_, reason := s.describe()
	if reason == "" {
		return fmt.Sprintf("the process exited with code %d", int32(s))
	}
	return reason
}

// String returns the name, or the number of an exit code.
func (s ExitStatus) String() string {
	if name := s.Name(); name != "" {
		return name
	}
	return fmt.Sprintf("%d", int32(s))
}

// Countable reports whether an ApplicationMaster with this status has used up one of the
// application's attempts. It is false if YARN took the container away.
func (s ExitStatus) Countable() bool {
	switch s {
	case ExitPreempted, ExitAborted, ExitDisksFailed, ExitKilledByResourceManager:
		return false
	default:
		return true
	}
}

func (s ExitStatus) describe() (name, reason string) {
	switch s {
	case ExitSuccess:
		return "SUCCESS", "the process ended without error"
	case ExitUnknown:
		return "INVALID", "the container runs, or never ran"
	case ExitAborted:
		return "ABORTED", "released, lost with its node, or not started in time"
	case ExitDisksFailed:
		return "DISKS_FAILED", "the node's disks failed"
	case ExitPreempted:
		return "PREEMPTED", "preempted by the scheduler"
	case ExitExceededVirtualMemory:
		return "KILLED_EXCEEDED_VMEM", "killed for using more virtual memory than its limit"
	case ExitExceededPhysicalMemory:
		return "KILLED_EXCEEDED_PMEM", "killed for using more memory than it asked for"
	case ExitKilledByAppMaster:
		return "KILLED_BY_APPMASTER", "stopped by its ApplicationMaster"
	case ExitKilledByResourceManager:
		return "KILLED_BY_RESOURCEMANAGER", "killed by YARN's ResourceManager"
	case ExitKilledAfterAppCompletion:
		return "KILLED_AFTER_APP_COMPLETION", "killed because its application has ended"
	case ExitKilledByContainerScheduler:
		return "KILLED_BY_CONTAINER_SCHEDULER", "an opportunistic container, killed to make room"
	case ExitKilledForExcessLogs:
		return "KILLED_FOR_EXCESS_LOGS", "killed for writing more logs than its limit"
	case ExitForceKilled:
		return "", "the process was killed (SIGKILL); the kernel does this if the node is out of memory"
	case ExitTerminated:
		return "", "the process was asked to end (SIGTERM)"
	case ExitLost:
		return "", "lost while the NodeManager restarted"
	default:
		return "", ""
	}
}
