package records

// ApplicationState is YARN's state of an application (YarnApplicationState). The
// ResourceManager's internal states KILLING and FINAL_SAVING appear as the state before
// them.
type ApplicationState string

const (
	ApplicationNew       ApplicationState = "NEW"
	ApplicationNewSaving ApplicationState = "NEW_SAVING"
	ApplicationSubmitted ApplicationState = "SUBMITTED"
	ApplicationAccepted  ApplicationState = "ACCEPTED" // waits for its master to start, also between attempts
	ApplicationRunning   ApplicationState = "RUNNING"  // its master has registered
	ApplicationFinished  ApplicationState = "FINISHED" // its master has unregistered, with a FinalApplicationStatus
	ApplicationFailed    ApplicationState = "FAILED"
	ApplicationKilled    ApplicationState = "KILLED"
)

// Terminal reports whether the application has ended for good.
func (s ApplicationState) Terminal() bool {
	return s == ApplicationFinished || s == ApplicationFailed || s == ApplicationKilled
}

// AttemptState is YARN's state of one attempt (YarnApplicationAttemptState).
type AttemptState string

const (
	AttemptNew             AttemptState = "NEW"
	AttemptSubmitted       AttemptState = "SUBMITTED"
	AttemptScheduled       AttemptState = "SCHEDULED"
	AttemptAllocatedSaving AttemptState = "ALLOCATED_SAVING"
	AttemptAllocated       AttemptState = "ALLOCATED"
	AttemptLaunched        AttemptState = "LAUNCHED"
	AttemptFailed          AttemptState = "FAILED"
	AttemptRunning         AttemptState = "RUNNING"
	AttemptFinishing       AttemptState = "FINISHING"
	AttemptFinished        AttemptState = "FINISHED"
	AttemptKilled          AttemptState = "KILLED"
)

// FinalApplicationStatus is the result that an ApplicationMaster reports when it
// unregisters. If YARN ended the application, it is FAILED or KILLED.
type FinalApplicationStatus string

const (
	FinalUndefined FinalApplicationStatus = "UNDEFINED" // while it runs
	FinalSucceeded FinalApplicationStatus = "SUCCEEDED"
	FinalFailed    FinalApplicationStatus = "FAILED"
	FinalKilled    FinalApplicationStatus = "KILLED"
	FinalEnded     FinalApplicationStatus = "ENDED"
)

// ContainerState is the state of a container.
type ContainerState string

const (
	ContainerNew      ContainerState = "NEW"
	ContainerRunning  ContainerState = "RUNNING"
	ContainerComplete ContainerState = "COMPLETE"
)

// ContainerSubState divides ContainerState further.
type ContainerSubState string

const (
	ContainerSubScheduled  ContainerSubState = "SCHEDULED"
	ContainerSubRunning    ContainerSubState = "RUNNING"
	ContainerSubPaused     ContainerSubState = "PAUSED"
	ContainerSubCompleting ContainerSubState = "COMPLETING"
	ContainerSubDone       ContainerSubState = "DONE"
)

// ExecutionType distinguishes containers with guaranteed resources from opportunistic
// ones, which use resources that others leave free.
type ExecutionType string

const (
	ExecutionGuaranteed    ExecutionType = "GUARANTEED"
	ExecutionOpportunistic ExecutionType = "OPPORTUNISTIC"
)

// NodeState is YARN's state of a NodeManager.
type NodeState string

const (
	NodeNew             NodeState = "NEW"
	NodeRunning         NodeState = "RUNNING"
	NodeUnhealthy       NodeState = "UNHEALTHY"
	NodeDecommissioned  NodeState = "DECOMMISSIONED"
	NodeLost            NodeState = "LOST"
	NodeRebooted        NodeState = "REBOOTED"
	NodeDecommissioning NodeState = "DECOMMISSIONING"
	NodeShutdown        NodeState = "SHUTDOWN"
)

// Usable reports whether containers can run on the node.
func (s NodeState) Usable() bool { return s == NodeRunning || s == NodeDecommissioning }

// NodeChange tells an ApplicationMaster how a node has changed (NodeUpdateType).
type NodeChange string

const (
	NodeBecameUsable   NodeChange = "NODE_USABLE"
	NodeBecameUnusable NodeChange = "NODE_UNUSABLE"
	NodeDecommissions  NodeChange = "NODE_DECOMMISSIONING"
)

// QueueState says whether a queue accepts applications.
type QueueState string

const (
	QueueStopped  QueueState = "STOPPED"
	QueueRunning  QueueState = "RUNNING"
	QueueDraining QueueState = "DRAINING"
)

// QueueACL is a right over a queue.
type QueueACL string

const (
	QueueSubmitApplications QueueACL = "SUBMIT_APPLICATIONS"
	QueueAdminister         QueueACL = "ADMINISTER_QUEUE"
)

// LogAggregationStatus is the state of the log collection of an ended application.
type LogAggregationStatus string

const (
	LogsDisabled           LogAggregationStatus = "DISABLED"
	LogsNotStarted         LogAggregationStatus = "NOT_START"
	LogsRunning            LogAggregationStatus = "RUNNING"
	LogsSucceeded          LogAggregationStatus = "SUCCEEDED"
	LogsFailed             LogAggregationStatus = "FAILED"
	LogsTimedOut           LogAggregationStatus = "TIME_OUT"
	LogsRunningWithFailure LogAggregationStatus = "RUNNING_WITH_FAILURE"
)
