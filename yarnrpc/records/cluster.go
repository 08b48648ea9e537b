package records

import "time"

// NodeReport is what YARN tells of a NodeManager.
type NodeReport struct {
	ID          NodeID
	HTTPAddress string // of its web server, host:port
	Rack        string // as asks must name it, "/default-rack" where racks are not configured
	Used        Resource
	Capability  Resource
	Containers  int
	State       NodeState
	// HealthReport says why a node is unhealthy.
	HealthReport     string
	LastHealthReport time.Time
	Labels           []string
	// DecommissioningTimeout is how long a node that leaves waits for its
	// applications. 0: it does not leave, or it does not wait.
	DecommissioningTimeout time.Duration
	Attributes             []NodeAttribute
	// ContainersUtilization is what the node measures of all its containers, NodeUtilization of the whole machine.
	ContainersUtilization Utilization
	NodeUtilization       Utilization
	// Change says why an ApplicationMaster gets the report; empty in the answer to a query.
	Change NodeChange
}

// Utilization is what is in use on a node (ResourceUtilization).
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

// QueueInfo is what YARN tells of a queue.
type QueueInfo struct {
	Name string
	Path string // from the root, root.a.b
	// Capacity and MaximumCapacity are shares of the parent queue, 0 to 1;
	// CurrentCapacity is how much of Capacity is in use, over 1 where it borrows.
	Capacity        float32
	MaximumCapacity float32
	CurrentCapacity float32
	State           QueueState
	Children        []QueueInfo
	Applications    []ApplicationReport
	Labels          []string // of nodes it may use
	// DefaultNodeLabel is for applications that name none; empty: nodes without a label.
	DefaultNodeLabel string
	SchedulerType    string // of the queue, "CapacityScheduler" or "FairScheduler"
	Statistics       QueueStatistics
	// PreemptionDisabled keeps other queues from taking the queue's containers back,
	// IntraQueuePreemptionDisabled its own applications from one another.
	PreemptionDisabled           bool
	IntraQueuePreemptionDisabled bool
	Weight                       float32 // beside its siblings, where capacities are weights
	MaxParallelApps              int     // that may run at once
	// Partitions are the queue's shares by node label; "" is the nodes without one.
	Partitions map[string]QueuePartition
	Fair       FairQueue // zero but of the FairScheduler
}

// FairQueue is what only the FairScheduler tells of a queue.
type FairQueue struct {
	// Minimum and Maximum are what the queue may claim, and have at most. The
	// ResourceManagers of Hadoop 3.4 lose the cores of Minimum, which are 0 then
	// (QueueInfoPBImpl#setMaxResourceVCore overwrites them).
	Minimum, Maximum Resource
	Reserved         Resource // on nodes, for containers that wait for room there
	Steady           Resource // its share if all queues had applications
	MaxRunningApps   int
}

// QueuePartition is a queue's share of the nodes of one label (QueueConfigurations).
type QueuePartition struct {
	// The shares are 0 to 1, of the parent queue or, absolute, of the whole partition.
	Capacity, AbsoluteCapacity               float32
	MaximumCapacity, AbsoluteMaximumCapacity float32
	MaxMasterShare                           float32 // of ApplicationMasters
	EffectiveMinimum, EffectiveMaximum       Resource
	ConfiguredMinimum, ConfiguredMaximum     Resource // zero where capacities are shares
}

// QueueStatistics are the numbers of a queue.
type QueueStatistics struct {
	AppsSubmitted, AppsRunning, AppsPending int64
	AppsCompleted, AppsKilled, AppsFailed   int64
	ActiveUsers                             int64
	Available, Allocated, Pending, Reserved Resource
	AllocatedContainers, PendingContainers  int64
	ReservedContainers                      int64
}

// QueueUserACL is what the caller may do with a queue (QueueUserACLInfo).
type QueueUserACL struct {
	Queue string
	ACLs  []QueueACL
}
