package amrm

import (
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Response is the result of an Allocate (AllocateResponse). Every container and status
// comes only once.
type Response struct {
	// Allocated are new containers, to be started within 10 minutes
	// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
	Allocated []records.Container
	// Surplus are new containers for which no ask was outstanding, for example because
	// an ask was lowered before they came. Use them or Release them.
	Surplus []records.Container
	// Completed are containers that have ended, also those never started. The next
	// Allocate acknowledges them.
	Completed []records.ContainerStatus
	// Updated are containers changed by Resize, Promote or Demote, and those that YARN
	// has promoted by itself.
	Updated []UpdatedContainer
	// UpdateErrors are refused updates.
	UpdateErrors []*UpdateError
	// Rejected are scheduling requests that YARN has given up.
	Rejected []Rejection
	// UpdatedNodes are nodes that were added, removed or reconfigured.
	UpdatedNodes []records.NodeReport
	// PreviousContainers are running containers of earlier attempts.
	PreviousContainers []records.Container
	// NMTokens are for nodes used for the first time, or replace older ones.
	NMTokens map[records.NodeID]*creds.Token
	// Headroom is the room left in the application's queue.
	Headroom records.Resource
	// Enhanced is zero on clusters without opportunistic containers.
	Enhanced     EnhancedHeadroom
	ClusterNodes int
	// Priority is the application's; higher goes first.
	Priority   records.Priority
	Preemption Preemption
	// Collector receives this application's events for the timeline service, version 2.
	// It is nil if this response does not hold it.
	Collector *Collector
	// Resynced says that the ResourceManager had restarted: registration, asks
	// and releases have been sent again.
	Resynced bool
}

// Preemption lists containers that YARN is about to take back (PreemptionMessage, with
// StrictPreemptionContract and PreemptionContract).
type Preemption struct {
	Strict     []records.ContainerID // will be killed
	Negotiable []records.ContainerID // will be killed unless the caller releases Wanted
	// Wanted is the amount that YARN wants back. If the caller releases other containers of
	// this amount, YARN does not kill those of Negotiable.
	Wanted []WantedBack
}

// WantedBack is an amount that YARN wants back: Count containers of one size at one
// place (PreemptionResourceRequest).
type WantedBack struct {
	Priority   records.Priority
	Place      string // host, rack or "*"
	Capability records.Resource
	Count      int
}

// EnhancedHeadroom helps to decide how many opportunistic containers to ask for
// (org.apache.hadoop.yarn.api.records.EnhancedHeadroom).
type EnhancedHeadroom struct {
	Pending     int // containers waiting in the queues of all NodeManagers
	ActiveCores int // of the cluster
}

// Collector is a collector of the timeline service, version 2 (CollectorInfo).
type Collector struct {
	Address string       // host:port
	Token   *creds.Token // nil without security
}
