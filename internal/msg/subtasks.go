package msg

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// VertexSubtasks is the description of one vertex of a job with its subtasks, for users.
type VertexSubtasks struct {
	VertexDetails
	Operators []string  // their names, as UserMetric.Operator counts them; nil: the job has ended
	Subtasks  []Subtask // by index
}

// Subtask is the current execution of a subtask, and its others: earlier ones that are kept, and further attempts of a slow task that run
// beside the current one.
type Subtask struct {
	TaskAttempt
	// User are the metrics of the code of the current execution, which nobody changes. nil: there are none, or the job has ended.
	User    *UserMetrics
	Sample  TaskSample    // what it does now
	Earlier []TaskAttempt // the others: those that have ended in the order of their ends, and then those that run
}

// TaskAttempt is one execution of a subtask.
type TaskAttempt struct {
	Number   int // from 0, under each master
	State    ExecutionState
	Resource ids.ResourceID // worker; "" before the deployment
	Node     string         // host of the worker
	Entered  StateTimes
	Traffic  Traffic
	Times    TaskTimes
}

// executionStates are the states of an execution, as StateTimes has them.
var executionStates = [...]ExecutionState{ //nolint:gochecknoglobals // a constant table
	ExecutionCreated, ExecutionScheduled, ExecutionDeploying, ExecutionRunning,
	ExecutionFinished, ExecutionCanceling, ExecutionCanceled, ExecutionFailed,
}

// ExecutionStates returns the states of an execution, in the order of StateTimes.
func ExecutionStates() []ExecutionState { return slices.Clone(executionStates[:]) }

// Index is the place of a state among ExecutionStates.
func (s ExecutionState) Index() int { return slices.Index(executionStates[:], s) }

// StateTimes has the time at which an execution entered each of ExecutionStates, in ms since 1970; 0: it was never in that
// state. A job has many.
type StateTimes [len(executionStates)]int64

// Enter notes the time at which the execution enters a state.
func (t *StateTimes) Enter(s ExecutionState, now time.Time) { t[s.Index()] = now.UnixMilli() }

// At is the time at which the execution entered a state; zero if it was never in that state.
func (t *StateTimes) At(s ExecutionState) time.Time {
	if ms := t[s.Index()]; ms != 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

// Memory for earlier executions of subtasks.
const (
	// MaxAttemptsHistory bounds jobmanager.execution.attempts-history-size.
	MaxAttemptsHistory = 32
	// maxEarlier bounds the earlier executions of all subtasks of a job, unless it has more subtasks.
	maxEarlier = 4096
	// EarlierAttemptBytes is the memory of one of them, in bytes, in a list that grows.
	EarlierAttemptBytes = 224
)

// EarlierAttempts is how many earlier executions each subtask keeps in a job with this number of tasks, if history of them
// are wanted: fewer in a job with many tasks, but the last one always.
func EarlierAttempts(tasks, history int) int {
	return min(history, max(maxEarlier/max(tasks, 1), 1))
}

// MaxEndedSubtasks bounds what is kept of the subtasks of a job that has ended: VertexDetails.Subtasks of all vertices, in
// bytes. It has room for some 15,000 subtasks without earlier executions.
const MaxEndedSubtasks = 1 << 20
