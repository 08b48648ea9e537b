package amrm

import (
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Response is what an Allocate brought (AllocateResponse). Every container and status is
// told once.
type Response struct {
	// Allocated are new containers, to be started within 10 minutes
	// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
	Allocated []records.Container
	// Surplus are new containers that nothing was outstanding for, as when an ask
	// was lowered while they were on their way: use them or Release them.
	Surplus []records.Container
	// Completed are containers that have ended, also those never started. The
	// next Allocate tells YARN that they have been taken note of.
	Completed []records.ContainerStatus
	// Updated are containers that Resize, Promote or Demote has changed, and those
	// that YARN has promoted by itself.
	Updated []UpdatedContainer
	// UpdateErrors are refused updates.
	UpdateErrors []*UpdateError
	// Rejected are scheduling requests that YARN has given up.
	Rejected []Rejection
	// UpdatedNodes have changed: come, gone, or been reconfigured.
	UpdatedNodes []records.NodeReport
	// PreviousContainers are of earlier attempts and still run.
	PreviousContainers []records.Container
	// NMTokens are for nodes used for the first time, or replace older ones.
	NMTokens map[records.NodeID]*creds.Token
	// Headroom is what the application's queue still has room for.
	Headroom records.Resource
	// Enhanced is told on clusters with opportunistic containers only; else zero.
	Enhanced     EnhancedHeadroom
	ClusterNodes int
	// Priority is the application's; higher goes first.
	Priority   records.Priority
	Preemption Preemption
	// Collector takes this application's events for the timeline service, version
	// 2; nil when YARN has not told it with this response.
	Collector *Collector
	// Resynced says that the ResourceManager had restarted: registration, asks
	// and releases have been sent again.
	Resynced bool
}

// Preemption names containers that YARN is about to take back (PreemptionMessage, with
// StrictPreemptionContract and PreemptionContract).
type Preemption struct {
	Strict     []records.ContainerID // will be killed
	Negotiable []records.ContainerID // will be killed unless as much is released elsewhere
	// Wanted is how much "as much" is: containers of any choice that cover it may
	// be released in place of Negotiable.
	Wanted []WantedBack
}

// WantedBack is an amount that YARN wants back, as containers of a size on a place
// (PreemptionResourceRequest).
type WantedBack struct {
	Priority   records.Priority
	Place      string // host, rack or "*"
	Capability records.Resource
	Count      int
}

// EnhancedHeadroom is a measure for how many opportunistic containers to ask for
// (org.apache.hadoop.yarn.api.records.EnhancedHeadroom).
type EnhancedHeadroom struct {
	Pending     int // containers that wait in the queues of all NodeManagers
	ActiveCores int // of the cluster
}

// Collector is a collector of the timeline service, version 2 (CollectorInfo).
type Collector struct {
	Address string       // host:port
	Token   *creds.Token // nil without security
}
