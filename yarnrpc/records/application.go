package records

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// SubmissionContext describes an application to submit (ApplicationSubmissionContext).
type SubmissionContext struct {
	ID        ApplicationID
	Name      string
	Queue     string // empty: default
	Priority  *Priority
	Container ContainerLaunchContext // of the ApplicationMaster
	Resource  Resource               // of the ApplicationMaster
	Place     MasterPlace            // of the ApplicationMaster; zero: any
	// NodeLabel chooses nodes for the ApplicationMaster and, by default, for its containers. Empty:
	// the queue's default.
	NodeLabel string
	// KeepTokens keeps the delegation tokens of Container valid after the application's end. Set it
	// if other applications share the tokens.
	KeepTokens bool
	// Unmanaged means that YARN starts no ApplicationMaster. A process outside YARN is the master
	// and uses ApplicationReport.AMRMToken.
	Unmanaged bool
	// MaxAttempts bounds the starts of the ApplicationMaster, up to the cluster's
	// yarn.resourcemanager.am.max-attempts. 0: that limit.
	MaxAttempts int
	// FailuresValidity limits the counting of failed attempts to this time. 0: all failures count.
	FailuresValidity time.Duration
	Type             string // at most 20 characters; empty: YARN
	// KeepContainers keeps containers running between attempts.
	KeepContainers bool
	Tags           []string      // at most 10, each of at most 100 printable ASCII characters
	Lifetime       time.Duration // YARN kills the application after it, in whole seconds; 0: never
	// Reservation is the reservation whose capacity the application uses, from its begin. Then
	// Queue must be the full path of the reservation's queue. Zero: none.
	Reservation ReservationID
	// SchedulingProperties are properties for the scheduler, which reads few of them.
	SchedulingProperties map[string]string
	Logs                 LogAggregation // zero: everything, at the end
}

// MasterPlace is the preferred place of an ApplicationMaster (AMContainerResourceRequests of Java's
// ApplicationSubmissionContext, one for each place). The scheduler tries the hosts, then their
// racks and then, unless Strict is set, the rest of the cluster, with the delays that amrm.Ask
// describes.
type MasterPlace struct {
	Hosts []string // as in NodeID
	// Racks are the racks of all Hosts, as in NodeReport: YARN gives no container on a host whose
	// rack is missing here. Without Hosts, any host of the racks is used.
	Racks []string
	// Strict allows only these hosts or, without Hosts, these racks. The ApplicationMaster waits as
	// long as there is no room. With only racks, it waits for ever under a CapacityScheduler whose
	// node-locality-delay is above 0, as by default: RegularContainerAllocator#tryAllocateOnNode
	// resets the count of the delay. Name all hosts of the rack instead.
	Strict bool
}

// ApplicationReport is YARN's report of an application. If the user may not view the application,
// texts are "N/A" and numbers are -1.
type ApplicationReport struct {
	ID      ApplicationID
	Attempt ApplicationAttemptID // the current one
	User    string
	Queue   string
	Name    string
	Type    string
	Tags    []string
	// Host and RPCPort are those that the ApplicationMaster registered; "N/A" and -1 before.
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
	NodeLabel           string    // default of its containers; MasterNodeLabel is that of its master
	MasterNodeLabel     string
	Usage               ResourceUsage
	Logs                LogAggregationStatus
	Unmanaged           bool
	// ClientToAMToken authenticates a client to the ApplicationMaster. It is set only on secure
	// clusters and for users who may view the application.
	ClientToAMToken *creds.Token
	// AMRMToken is set for the owner of an unmanaged ApplicationMaster that has not registered yet.
	// ResourceManagers with Kerberos never send it, because they compare the owner's short name to
	// the full principal of the caller (ClientRMService#getApplicationReport).
	AMRMToken *creds.Token
}

// ResourceUsage is the current and total resource use of an application
// (ApplicationResourceUsageReport). A number is -1 if YARN does not report it, for example because
// the application has ended or the user may not view it.
type ResourceUsage struct {
	UsedContainers     int
	ReservedContainers int
	Used               Resource
	Reserved           Resource
	Needed             Resource
	MemoryMBSeconds    int64
	VCoreSeconds       int64
	// OtherSeconds is the same for other resource types: amounts, in the types' units, times
	// seconds.
	OtherSeconds ResourceValues
	// The sums above include the use of preempted containers.
	PreemptedMemoryMBSeconds int64
	PreemptedVCoreSeconds    int64
	PreemptedOtherSeconds    ResourceValues
	QueuePercentage          float32
	ClusterPercentage        float32
}

// AttemptReport is YARN's report of one attempt (ApplicationAttemptReport).
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

// Container is the text of MasterContainer; "" if the attempt has none yet.
func (r AttemptReport) Container() string {
	if r.MasterContainer == (ContainerID{}) {
		return ""
	}
	return r.MasterContainer.String()
}

// Node is the host of the ApplicationMaster while that is registered; "" otherwise.
func (r AttemptReport) Node() string {
	if r.RPCPort <= 0 {
		return ""
	}
	return r.Host
}
