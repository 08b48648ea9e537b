package msg

// ExecutionState is the state of one execution of a subtask, by Flink's names.
type ExecutionState string

// The states of an execution.
const (
	ExecutionCreated   ExecutionState = "CREATED"
	ExecutionScheduled ExecutionState = "SCHEDULED"
	ExecutionDeploying ExecutionState = "DEPLOYING"
	ExecutionRunning   ExecutionState = "RUNNING"
	ExecutionFinished  ExecutionState = "FINISHED"
	ExecutionCanceling ExecutionState = "CANCELING"
	ExecutionCanceled  ExecutionState = "CANCELED"
	ExecutionFailed    ExecutionState = "FAILED"
)

// Final reports whether an execution in this state has ended.
func (s ExecutionState) Final() bool {
	return s == ExecutionFinished || s == ExecutionCanceled || s == ExecutionFailed
}

// VertexState combines the states of a vertex's tasks into one, as Flink's ExecutionJobVertex does: the worst state of any
// task; FINISHED only if all are FINISHED. counts has the number of tasks in each state.
func VertexState(counts map[ExecutionState]int, tasks int) ExecutionState {
	for _, state := range []ExecutionState{ExecutionFailed, ExecutionCanceling, ExecutionCanceled, ExecutionRunning} {
		if counts[state] > 0 {
			return state
		}
	}
	switch counts[ExecutionFinished] {
	case 0:
		return ExecutionCreated
	case tasks:
		return ExecutionFinished
	default:
		return ExecutionRunning
	}
}

// JobStatus is the state of a job, by Flink's names.
type JobStatus string

// The states of a job.
const (
	JobInitializing JobStatus = "INITIALIZING"
	JobCreated      JobStatus = "CREATED"
	JobRunning      JobStatus = "RUNNING"
	JobFailing      JobStatus = "FAILING"
	JobFailed       JobStatus = "FAILED"
	JobCancelling   JobStatus = "CANCELLING"
	JobCanceled     JobStatus = "CANCELED"
	JobFinished     JobStatus = "FINISHED"
	JobRestarting   JobStatus = "RESTARTING"
	JobSuspended    JobStatus = "SUSPENDED"
)

// GloballyTerminal reports whether the job has ended for good, for every attempt
// of the AM.
func (s JobStatus) GloballyTerminal() bool {
	return s == JobFinished || s == JobCanceled || s == JobFailed
}

// ApplicationStatus is the result of a cluster: Flink's name for YARN's final
// status.
type ApplicationStatus string

// The results of a cluster.
const (
	ApplicationSucceeded ApplicationStatus = "SUCCEEDED"
	ApplicationFailed    ApplicationStatus = "FAILED"
	ApplicationCanceled  ApplicationStatus = "CANCELED"
	ApplicationUnknown   ApplicationStatus = "UNKNOWN"
)
