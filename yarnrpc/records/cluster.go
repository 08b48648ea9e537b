package records

import "time"

// NodeReport is YARN's report of a NodeManager.
type NodeReport struct {
	ID          NodeID
	HTTPAddress string // of its web server, host:port
	Rack        string // the name for asks; "/default-rack" if racks are not configured
	Used        Resource
	Capability  Resource
	Containers  int
	State       NodeState
	// HealthReport says why a node is unhealthy.
	HealthReport     string
	LastHealthReport time.Time
	Labels           []string
	// DecommissioningTimeout is the time for which a decommissioning node waits for its
	// applications. 0: the node is not decommissioning or does not wait.
	DecommissioningTimeout time.Duration
	Attributes             []NodeAttribute
	// ContainersUtilization is the measured use of all containers, NodeUtilization that of the
	// whole machine.
	ContainersUtilization Utilization
	NodeUtilization       Utilization
	// Change says why an ApplicationMaster gets the report; empty in the answer to a query.
	Change NodeChange
}

// Utilization is the use of resources on a node (ResourceUtilization).
type Utilization struct {
	PhysicalMB int
	VirtualMB  int
	CPU        float32 // cores
}

// ClusterMetrics counts NodeManagers by state (YarnClusterMetrics).
type ClusterMetrics struct {
	NodeManagers    int
	Decommissioned  int
	Active          int
	Lost            int
	Unhealthy       int
	Rebooted        int
	Decommissioning int
	Shutdown        int
}

// QueueInfo is YARN's report of a queue.
type QueueInfo struct {
	Name string
	Path string // from the root, such as root.a.b
	// Capacity and MaximumCapacity are shares of the parent queue, 0 to 1. CurrentCapacity is the
	// used share of Capacity; it is above 1 if the queue borrows.
	Capacity        float32
	MaximumCapacity float32
	CurrentCapacity float32
	State           QueueState
	Children        []QueueInfo
	Applications    []ApplicationReport
	Labels          []string // of nodes it may use
	// DefaultNodeLabel is the label of applications that name none. Empty: nodes without a label.
	DefaultNodeLabel string
	SchedulerType    string // of the queue, "CapacityScheduler" or "FairScheduler"
	Statistics       QueueStatistics
	// PreemptionDisabled forbids preemption of the queue's containers for other queues.
	// IntraQueuePreemptionDisabled forbids it between the queue's own applications.
	PreemptionDisabled           bool
	IntraQueuePreemptionDisabled bool
	Weight                       float32 // relative to its siblings, if capacities are weights
	MaxParallelApps              int     // limit of running applications
	// Partitions are the queue's shares by node label. "" means the nodes without a label.
	Partitions map[string]QueuePartition
	Fair       FairQueue // zero with other schedulers
}

// FairQueue is the part of a queue's report that only the FairScheduler fills.
type FairQueue struct {
	// Minimum is the queue's guaranteed share and Maximum its limit. The cores of Minimum are 0
	// with ResourceManagers of Hadoop 3.4, because QueueInfoPBImpl#setMaxResourceVCore overwrites
	// them.
	Minimum, Maximum Resource
	Reserved         Resource // on nodes, for containers waiting for room there
	Steady           Resource // the share if all queues had applications
	MaxRunningApps   int
}

// QueuePartition is a queue's share of the nodes of one label (QueueConfigurations).
type QueuePartition struct {
	// The shares are 0 to 1: of the parent queue or, if absolute, of the whole partition.
	Capacity, AbsoluteCapacity               float32
	MaximumCapacity, AbsoluteMaximumCapacity float32
	MaxMasterShare                           float32 // of ApplicationMasters
	EffectiveMinimum, EffectiveMaximum       Resource
	ConfiguredMinimum, ConfiguredMaximum     Resource // zero if capacities are shares
}

// QueueStatistics are the counters of a queue.
type QueueStatistics struct {
	AppsSubmitted, AppsRunning, AppsPending int64
	AppsCompleted, AppsKilled, AppsFailed   int64
	ActiveUsers                             int64
	Available, Allocated, Pending, Reserved Resource
	AllocatedContainers, PendingContainers  int64
	ReservedContainers                      int64
}

// QueueUserACL holds the caller's rights over a queue (QueueUserACLInfo).
type QueueUserACL struct {
	Queue string
	ACLs  []QueueACL
}
