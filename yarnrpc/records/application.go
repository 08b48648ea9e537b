package records

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// SubmissionContext is an application as it is handed to YARN
// (ApplicationSubmissionContext).
type SubmissionContext struct {
	ID        ApplicationID
	Name      string
	Queue     string // empty: default
	Priority  *Priority
	Container ContainerLaunchContext // of the ApplicationMaster
	Resource  Resource               // of the ApplicationMaster
	Place     MasterPlace            // of the ApplicationMaster; zero: any
	// NodeLabel chooses nodes for the ApplicationMaster and, as a default, for its
	// containers. Empty: the queue's default.
	NodeLabel string
	// KeepTokens leaves the delegation tokens of Container alive when the
	// application ends, for tokens that other applications share.
	KeepTokens bool
	// Unmanaged has YARN start no ApplicationMaster: a process elsewhere is it, by
	// ApplicationReport.AMRMToken.
	Unmanaged bool
	// MaxAttempts bounds the starts of the ApplicationMaster; the cluster's
	// yarn.resourcemanager.am.max-attempts caps it. 0: that limit.
	MaxAttempts int
	// FailuresValidity makes attempts that failed longer ago not count. 0: all count.
	FailuresValidity time.Duration
	Type             string // at most 20 characters; empty: YARN
	// KeepContainers leaves containers running between attempts.
	KeepContainers bool
	Tags           []string      // at most 10, each of at most 100 printable ASCII characters
	Lifetime       time.Duration // YARN kills the application after it, in whole seconds; 0: never
	// Reservation is the one whose capacity the application is to use, once its time has come; Queue must be
	// the full path of the reservation's queue. Zero: none.
	Reservation ReservationID
	// SchedulingProperties are for the scheduler, which looks at few of them.
	SchedulingProperties map[string]string
	Logs                 LogAggregation // zero: everything, at the end
}

// MasterPlace is where an ApplicationMaster is wanted, as the first of
// SubmissionContext's AMContainerResourceRequests say in Java, one for each place.
// The scheduler tries the hosts, then their racks, then, but for Strict, the rest
// of the cluster, with the delays that amrm.Ask tells of.
type MasterPlace struct {
	Hosts []string // as in NodeID
	// Racks are, as in NodeReport, those of all Hosts: YARN gives no container on a
	// host whose rack is not named. Without Hosts any host of them will do.
	Racks []string
	// Strict keeps the ApplicationMaster off all other hosts or, without Hosts,
	// other racks. It waits for as long as there is no room. Under a
	// CapacityScheduler whose node-locality-delay is above 0, as by default, it waits
	// for ever where only racks are named (RegularContainerAllocator#tryAllocateOnNode
	// takes back the chances that the delay counts): name all hosts of the rack.
	Strict bool
}

// ApplicationReport is what YARN tells of an application. To somebody who may not
// view it, YARN sends "N/A" for texts and -1 for numbers.
type ApplicationReport struct {
	ID      ApplicationID
	Attempt ApplicationAttemptID // the current one
	User    string
	Queue   string
	Name    string
	Type    string
	Tags    []string
	// Host and RPCPort are what the ApplicationMaster registered: "N/A" and -1 before.
	Host    string
	RPCPort int
	// TrackingURL leads through YARN's proxy; OriginalTrackingURL is the
	// ApplicationMaster's own. "N/A" before it registers.
	TrackingURL         string
	OriginalTrackingURL string
	State               ApplicationState
	FinalStatus         FinalApplicationStatus
	Diagnostics         string
	Progress            float32 // 0 to 1
	Priority            Priority
	Started             time.Time
	Submitted           time.Time
	Launched            time.Time // zero until the first ApplicationMaster starts
	Finished            time.Time // zero until it has ended
	Expires             time.Time // when YARN kills it, at the end of its lifetime; zero: never
	NodeLabel           string    // of its containers by default, as MasterNodeLabel is of its master
	MasterNodeLabel     string
	Usage               ResourceUsage
	Logs                LogAggregationStatus
	Unmanaged           bool
	// ClientToAMToken proves to the ApplicationMaster who asks; on secure clusters
	// only, and for those who may view the application.
	ClientToAMToken *creds.Token
	// AMRMToken is for the owner of an unmanaged ApplicationMaster that has not
	// registered yet. ResourceManagers with Kerberos keep it: they compare the owner's
	// short name with the whole principal of who asks (ClientRMService#getApplicationReport).
	AMRMToken *creds.Token
}

// ResourceUsage is what an application holds and has used up
// (ApplicationResourceUsageReport). -1 stands for what YARN does not tell, as of an
// application that has ended or that one may not view.
type ResourceUsage struct {
	UsedContainers     int
	ReservedContainers int
	Used               Resource
	Reserved           Resource
	Needed             Resource
	MemoryMBSeconds    int64
	VCoreSeconds       int64
	// OtherSeconds are those of further resource types: their amounts, in the types'
	// units, times seconds.
	OtherSeconds ResourceValues
	// What preempted containers had used up is in all sums, too.
	PreemptedMemoryMBSeconds int64
	PreemptedVCoreSeconds    int64
	PreemptedOtherSeconds    ResourceValues
	QueuePercentage          float32
	ClusterPercentage        float32
}

// AttemptReport is what YARN tells of one attempt (ApplicationAttemptReport).
type AttemptReport struct {
	ID                  ApplicationAttemptID
	Host                string
	RPCPort             int
	TrackingURL         string
	OriginalTrackingURL string
	Diagnostics         string
	State               AttemptState
	MasterContainer     ContainerID
	Started             time.Time
	Finished            time.Time // zero while it runs
}
