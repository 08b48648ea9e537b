package pbconv

import (
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Prefixes of enumeration values in protobuf.
const (
	attemptPrefix = "APP_ATTEMPT_"
	finalPrefix   = "APP_"
	logsPrefix    = "LOG_"
)

// ApplicationStateProto converts a state, as filters send it; nil for one that YARN does not have.
func ApplicationStateProto(s records.ApplicationState) *yarnpb.YarnApplicationStateProto {
	return stateProto[yarnpb.YarnApplicationStateProto](s, "", yarnpb.YarnApplicationStateProto_value)
}

// FinalApplicationStatusProto converts the outcome of an application; nil for one that YARN does not have.
func FinalApplicationStatusProto(s records.FinalApplicationStatus) *yarnpb.FinalApplicationStatusProto {
	return stateProto[yarnpb.FinalApplicationStatusProto](s, finalPrefix, yarnpb.FinalApplicationStatusProto_value)
}

// FinalApplicationStatus converts the outcome of an application.
func FinalApplicationStatus(p *yarnpb.FinalApplicationStatusProto) records.FinalApplicationStatus {
	return state[records.FinalApplicationStatus](p, finalPrefix)
}

// SubmissionContextProto converts an application to be submitted.
func SubmissionContextProto(c records.SubmissionContext) *yarnpb.ApplicationSubmissionContextProto {
	p := &yarnpb.ApplicationSubmissionContextProto{
		ApplicationId:                           ApplicationIDProto(c.ID),
		ApplicationName:                         proto.String(c.Name),
		AmContainerSpec:                         ContainerLaunchContextProto(c.Container),
		CancelTokensWhenComplete:                proto.Bool(!c.KeepTokens),
		UnmanagedAm:                             proto.Bool(c.Unmanaged),
		MaxAppAttempts:                          proto.Int32(clamp(c.MaxAttempts)),
		Resource:                                ResourceProto(c.Resource),
		ApplicationTags:                         c.Tags,
		LogAggregationContext:                   logAggregationProto(c.Logs),
		AttemptFailuresValidityInterval:         proto.Int64(validityMillis(c.FailuresValidity)),
		KeepContainersAcrossApplicationAttempts: proto.Bool(c.KeepContainers),
		ApplicationSchedulingProperties:         stringMapProto(c.SchedulingProperties),
		AmContainerResourceRequest:              masterRequests(c.Place, c.Resource),
	}
	if c.Queue != "" {
		p.Queue = proto.String(c.Queue)
	}
	if c.Priority != nil {
		p.Priority = PriorityProto(*c.Priority)
	}
	if c.Type != "" {
		p.ApplicationType = proto.String(c.Type)
	}
	if c.NodeLabel != "" {
		p.NodeLabelExpression = proto.String(c.NodeLabel)
	}
	if !c.Reservation.IsZero() {
		p.ReservationId = ReservationIDProto(c.Reservation)
	}
	if c.Lifetime > 0 {
		p.ApplicationTimeouts = []*yarnpb.ApplicationTimeoutMapProto{{
			ApplicationTimeoutType: yarnpb.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum(),
			Timeout:                proto.Int64(int64((c.Lifetime-1)/time.Second) + 1),
		}}
	}
	return p
}

// SubmissionContext converts a submitted application, for servers in tests.
func SubmissionContext(p *yarnpb.ApplicationSubmissionContextProto) records.SubmissionContext {
	if p == nil {
		return records.SubmissionContext{}
	}
	c := records.SubmissionContext{
		ID:               ApplicationID(p.GetApplicationId()),
		Name:             p.GetApplicationName(),
		Queue:            p.GetQueue(),
		Container:        ContainerLaunchContext(p.GetAmContainerSpec()),
		Resource:         Resource(p.GetResource()),
		NodeLabel:        p.GetNodeLabelExpression(),
		KeepTokens:       !p.GetCancelTokensWhenComplete(),
		Unmanaged:        p.GetUnmanagedAm(),
		MaxAttempts:      int(p.GetMaxAppAttempts()),
		FailuresValidity: validity(p.GetAttemptFailuresValidityInterval()),
		Type:             p.GetApplicationType(),
		KeepContainers:   p.GetKeepContainersAcrossApplicationAttempts(),
		Tags:             p.GetApplicationTags(),
		Logs:             logAggregation(p.GetLogAggregationContext()),
		Reservation:      ReservationID(p.GetReservationId()),

		SchedulingProperties: stringMap(p.GetApplicationSchedulingProperties()),
	}
	if p.Priority != nil {
		priority := Priority(p.GetPriority())
		c.Priority = &priority
	}
	for _, t := range p.GetApplicationTimeouts() {
		c.Lifetime = period(t.GetTimeout(), time.Second)
	}
	if requests := p.GetAmContainerResourceRequest(); len(requests) > 0 {
		c.Place, c.Resource = masterPlace(requests)
	}
	return c
}

// anyPlace is the name of the request for the whole cluster (ResourceRequest#ANY).
const anyPlace = "*"

// masterRequests returns the requests for an ApplicationMaster; none if any place will do. They replace the
// context's own size. The ResourceManager sets size and number of all requests to those of the request for any place
// (RMAppManager#validateAndCreateResourceRequest).
func masterRequests(place records.MasterPlace, size records.Resource) []*yarnpb.ResourceRequestProto {
	if len(place.Hosts)+len(place.Racks) == 0 {
		return nil
	}
	request := func(name string, relax bool) *yarnpb.ResourceRequestProto {
		return &yarnpb.ResourceRequestProto{
			Priority:      PriorityProto(0),
			ResourceName:  proto.String(name),
			Capability:    ResourceProto(size),
			NumContainers: proto.Int32(1),
			RelaxLocality: proto.Bool(relax),
		}
	}
	requests := []*yarnpb.ResourceRequestProto{request(anyPlace, !place.Strict)}
	for _, rack := range place.Racks { // relaxed: any of its hosts will do
		requests = append(requests, request(rack, !place.Strict || len(place.Hosts) == 0))
	}
	for _, host := range place.Hosts {
		requests = append(requests, request(host, true))
	}
	return requests
}

// masterPlace is the inverse of masterRequests. Names of racks begin with a slash, like paths.
func masterPlace(requests []*yarnpb.ResourceRequestProto) (place records.MasterPlace, size records.Resource) {
	relax := true
	for _, r := range requests {
		switch name := r.GetResourceName(); {
		case name == anyPlace:
			size, relax = Resource(r.GetCapability()), r.GetRelaxLocality()
		case strings.HasPrefix(name, "/"):
			place.Racks = append(place.Racks, name)
		default:
			place.Hosts = append(place.Hosts, name)
		}
	}
	place.Strict = !relax && len(place.Hosts)+len(place.Racks) > 0
	return place, size
}

// ApplicationReport converts the report of an application.
func ApplicationReport(p *yarnpb.ApplicationReportProto) records.ApplicationReport {
	if p == nil {
		return records.ApplicationReport{}
	}
	var expires time.Time
	for _, t := range p.GetAppTimeouts() { // there is one type: LIFETIME
		expires = ExpireTime(t.GetApplicationTimeout().GetExpireTime())
	}
	return records.ApplicationReport{
		ID:                  ApplicationID(p.GetApplicationId()),
		Attempt:             ApplicationAttemptID(p.GetCurrentApplicationAttemptId()),
		User:                p.GetUser(),
		Queue:               p.GetQueue(),
		Name:                p.GetName(),
		Type:                p.GetApplicationType(),
		Tags:                p.GetApplicationTags(),
		Host:                p.GetHost(),
		RPCPort:             int(p.GetRpcPort()),
		TrackingURL:         p.GetTrackingUrl(),
		OriginalTrackingURL: p.GetOriginalTrackingUrl(),
		State:               state[records.ApplicationState](p.YarnApplicationState, ""),
		FinalStatus:         FinalApplicationStatus(p.FinalApplicationStatus),
		Diagnostics:         p.GetDiagnostics(),
		Progress:            p.GetProgress(),
		Priority:            Priority(p.GetPriority()),
		Started:             Time(p.GetStartTime()),
		Submitted:           Time(p.GetSubmitTime()),
		Launched:            Time(p.GetLaunchTime()),
		Finished:            Time(p.GetFinishTime()),
		Expires:             expires,
		NodeLabel:           p.GetAppNodeLabelExpression(),
		MasterNodeLabel:     p.GetAmNodeLabelExpression(),
		Usage:               resourceUsage(p.GetAppResource_Usage()),
		Logs:                state[records.LogAggregationStatus](p.LogAggregationStatus, logsPrefix),
		Unmanaged:           p.GetUnmanagedApplication(),
		ClientToAMToken:     Token(p.GetClientToAmToken()),
		AMRMToken:           Token(p.GetAmRmToken()),
	}
}

// expireFormat is the text form of times in timeouts (org.apache.hadoop.yarn.util.Times, ISO8601_DATE_FORMAT).
const expireFormat = "2006-01-02T15:04:05.000-0700"

// ExpireTime converts the end of a timeout. UNLIMITED, and texts that are no time, give the zero time.
func ExpireTime(s string) time.Time {
	t, err := time.Parse(expireFormat, s)
	if err != nil {
		return time.Time{}
	}
	return t.Local()
}

// ExpireTimeProto converts the end of a timeout.
func ExpireTimeProto(t time.Time) string { return t.UTC().Format(expireFormat) }

// ApplicationReports converts a list.
func ApplicationReports(ps []*yarnpb.ApplicationReportProto) []records.ApplicationReport {
	return each(ps, ApplicationReport)
}

func resourceUsage(p *yarnpb.ApplicationResourceUsageReportProto) records.ResourceUsage {
	return records.ResourceUsage{
		UsedContainers:           int(p.GetNumUsedContainers()),
		ReservedContainers:       int(p.GetNumReservedContainers()),
		Used:                     Resource(p.GetUsedResources()),
		Reserved:                 Resource(p.GetReservedResources()),
		Needed:                   Resource(p.GetNeededResources()),
		MemoryMBSeconds:          p.GetMemorySeconds(),
		VCoreSeconds:             p.GetVcoreSeconds(),
		OtherSeconds:             otherSeconds(p.GetApplicationResourceUsageMap()),
		PreemptedMemoryMBSeconds: p.GetPreemptedMemorySeconds(),
		PreemptedVCoreSeconds:    p.GetPreemptedVcoreSeconds(),
		PreemptedOtherSeconds:    otherSeconds(p.GetApplicationPreemptedResourceUsageMap()),
		QueuePercentage:          p.GetQueueUsagePercentage(),
		ClusterPercentage:        p.GetClusterUsagePercentage(),
	}
}

// otherSeconds leaves out memory and cores, because they have their own fields.
func otherSeconds(ps []*yarnpb.StringLongMapProto) records.ResourceValues {
	sums := mapped(ps, func(p *yarnpb.StringLongMapProto) (string, records.ResourceAmount) {
		return p.GetKey(), records.ResourceAmount{Value: p.GetValue()}
	})
	delete(sums, records.ResourceMemory)
	delete(sums, records.ResourceVCores)
	return records.NewResourceValues(sums)
}

// AttemptReport converts the report of an attempt.
func AttemptReport(p *yarnpb.ApplicationAttemptReportProto) records.AttemptReport {
	if p == nil {
		return records.AttemptReport{}
	}
	return records.AttemptReport{
		ID:                  ApplicationAttemptID(p.GetApplicationAttemptId()),
		Host:                p.GetHost(),
		RPCPort:             int(p.GetRpcPort()),
		TrackingURL:         p.GetTrackingUrl(),
		OriginalTrackingURL: p.GetOriginalTrackingUrl(),
		Diagnostics:         p.GetDiagnostics(),
		State:               state[records.AttemptState](p.YarnApplicationAttemptState, attemptPrefix),
		MasterContainer:     ContainerID(p.GetAmContainerId()),
		Started:             Time(p.GetStartTime()),
		Finished:            Time(p.GetFinishTime()),
	}
}

// AttemptReports converts a list.
func AttemptReports(ps []*yarnpb.ApplicationAttemptReportProto) []records.AttemptReport {
	return each(ps, AttemptReport)
}
