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
}

// ClusterMetrics counts NodeManagers by state.
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
	SchedulerType   string
	Statistics      QueueStatistics
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

// QueueUserACL is what the caller may do with a queue.
type QueueUserACL struct {
	Queue string
	ACLs  []QueueACL
}
