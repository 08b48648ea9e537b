package records

// ApplicationState is YARN's view of an application (YarnApplicationState). KILLING and
// FINAL_SAVING, which the ResourceManager keeps to itself, show as the state before them.
type ApplicationState string

const (
	ApplicationNew       ApplicationState = "NEW"
	ApplicationNewSaving ApplicationState = "NEW_SAVING"
	ApplicationSubmitted ApplicationState = "SUBMITTED"
	ApplicationAccepted  ApplicationState = "ACCEPTED" // waits for its master to start, also between attempts
	ApplicationRunning   ApplicationState = "RUNNING"  // its master has registered
	ApplicationFinished  ApplicationState = "FINISHED" // its master has unregistered; FinalApplicationStatus says with what
	ApplicationFailed    ApplicationState = "FAILED"
	ApplicationKilled    ApplicationState = "KILLED"
)

// Terminal reports whether the application has ended for good.
func (s ApplicationState) Terminal() bool {
	return s == ApplicationFinished || s == ApplicationFailed || s == ApplicationKilled
}

// AttemptState is YARN's view of one attempt (YarnApplicationAttemptState).
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

// FinalApplicationStatus is what an application's master says of its work when it
// unregisters. An application that YARN ended itself gets FAILED or KILLED.
type FinalApplicationStatus string

const (
	FinalUndefined FinalApplicationStatus = "UNDEFINED" // while it runs
	FinalSucceeded FinalApplicationStatus = "SUCCEEDED"
	FinalFailed    FinalApplicationStatus = "FAILED"
	FinalKilled    FinalApplicationStatus = "KILLED"
	FinalEnded     FinalApplicationStatus = "ENDED"
)

// ContainerState is how far a container has come.
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

// ExecutionType tells containers that hold their resources from those that run
// in what others leave.
type ExecutionType string

const (
	ExecutionGuaranteed    ExecutionType = "GUARANTEED"
	ExecutionOpportunistic ExecutionType = "OPPORTUNISTIC"
)

// NodeState is YARN's view of a NodeManager.
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

// NodeChange is what has become of a node, for an ApplicationMaster (NodeUpdateType).
type NodeChange string

const (
	NodeBecameUsable   NodeChange = "NODE_USABLE"
	NodeBecameUnusable NodeChange = "NODE_UNUSABLE"
	NodeDecommissions  NodeChange = "NODE_DECOMMISSIONING"
)

// QueueState tells whether a queue takes applications.
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

// LogAggregationStatus tells how far the logs of an ended application have been collected.
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
