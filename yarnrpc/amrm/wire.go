package amrm

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func registerProto(r RegisterRequest) *yarnpb.RegisterApplicationMasterRequestProto {
	p := &yarnpb.RegisterApplicationMasterRequestProto{
		Host:        proto.String(r.Host),
		RpcPort:     proto.Int32(int32(r.RPCPort)),
		TrackingUrl: proto.String(r.TrackingURL),
	}
	for _, rule := range r.Rules {
		p.PlacementConstraints = append(p.PlacementConstraints, &yarnpb.PlacementConstraintMapEntryProto{
			AllocationTags:      rule.Tags,
			PlacementConstraint: pbconv.PlacementConstraintProto(rule.Constraint),
		})
	}
	return p
}

func registrationOf(p *yarnpb.RegisterApplicationMasterResponseProto) Registration {
	r := Registration{
		Maximum:            pbconv.Resource(p.GetMaximumCapability()),
		Queue:              p.GetQueue(),
		ACLs:               pbconv.ACLs(p.GetApplication_ACLs()),
		PreviousContainers: pbconv.Containers(p.GetContainersFromPreviousAttempts()),
		NMTokens:           nmTokensOf(p.GetNmTokensFromPreviousAttempts()),
		ResourceTypes:      pbconv.ResourceTypes(p.GetResourceTypes()),
		Profiles:           pbconv.ResourceProfiles(p.GetResourceProfiles()),
		ClientToAMKey:      p.GetClientToAmTokenMasterKey(),
	}
	for _, kind := range p.GetSchedulerResourceTypes() {
		if kind == yarnpb.SchedulerResourceTypes_CPU {
			r.CPUScheduled = true
		}
	}
	return r
}

func allocateProto(a *allocation) *yarnpb.AllocateRequestProto {
	p := &yarnpb.AllocateRequestProto{
		ResponseId: proto.Int32(a.responseID),
		Progress:   proto.Float32(a.progress),
		Release:    pbconv.ContainerIDProtos(a.release),
	}
	for _, r := range a.asks {
		p.Ask = append(p.Ask, resourceRequestProto(r))
	}
	for _, r := range a.requests.requests {
		p.SchedulingRequests = append(p.SchedulingRequests, schedulingRequestProto(r))
	}
	for _, u := range a.updates {
		p.UpdateRequests = append(p.UpdateRequests, updateProto(u))
	}
	if a.trackingURL != "" {
		p.TrackingUrl = proto.String(a.trackingURL)
	}
	if len(a.avoid)+len(a.dontAvoid) > 0 {
		p.BlacklistRequest = &yarnpb.ResourceBlacklistRequestProto{
			BlacklistAdditions: a.avoid,
			BlacklistRemovals:  a.dontAvoid,
		}
	}
	return p
}

func resourceRequestProto(r resourceRequest) *yarnpb.ResourceRequestProto {
	p := &yarnpb.ResourceRequestProto{
		Priority:            pbconv.PriorityProto(r.key.Priority),
		ResourceName:        proto.String(r.place),
		Capability:          pbconv.ResourceProto(r.capability),
		NumContainers:       proto.Int32(int32(r.count)),
		RelaxLocality:       proto.Bool(r.relax),
		AllocationRequestId: proto.Int64(r.key.RequestID),
		// A ResourceManager that supports opportunistic containers fails on asks without
		// this field.
		ExecutionTypeRequest: &yarnpb.ExecutionTypeRequestProto{
			ExecutionType:        pbconv.ExecutionTypeProto(r.key.ExecutionType),
			EnforceExecutionType: proto.Bool(r.enforce),
		},
	}
	if r.label != "" {
		p.NodeLabelExpression = proto.String(r.label)
	}
	return p
}

func schedulingRequestProto(r SchedulingRequest) *yarnpb.SchedulingRequestProto {
	return &yarnpb.SchedulingRequestProto{
		AllocationRequestId: proto.Int64(r.Key.RequestID),
		Priority:            pbconv.PriorityProto(r.Key.Priority),
		AllocationTags:      r.Tags,
		ResourceSizing: &yarnpb.ResourceSizingProto{
			NumAllocations: proto.Int32(int32(r.Count)),
			Resources:      pbconv.ResourceProto(r.Capability),
		},
		PlacementConstraint: pbconv.PlacementConstraintProto(r.Constraint),
	}
}

func updateTypeProto(t UpdateType) *yarnpb.ContainerUpdateTypeProto {
	return yarnpb.ContainerUpdateTypeProto(yarnpb.ContainerUpdateTypeProto_value[string(t)]).Enum()
}

func updateProto(u ContainerUpdate) *yarnpb.UpdateContainerRequestProto {
	p := &yarnpb.UpdateContainerRequestProto{
		ContainerVersion: proto.Int32(int32(u.Version)),
		ContainerId:      pbconv.ContainerIDProto(u.Container),
		UpdateType:       updateTypeProto(u.Type),
	}
	if u.ExecutionType != "" {
		p.ExecutionType = pbconv.ExecutionTypeProto(u.ExecutionType)
	} else {
		p.Capability = pbconv.ResourceProto(u.Resource)
	}
	return p
}

func updateOf(p *yarnpb.UpdateContainerRequestProto) ContainerUpdate {
	u := ContainerUpdate{
		Container: pbconv.ContainerID(p.GetContainerId()),
		Version:   int(p.GetContainerVersion()),
		Type:      UpdateType(p.GetUpdateType().String()),
		Resource:  pbconv.Resource(p.GetCapability()),
	}
	if p != nil && p.ExecutionType != nil {
		u.ExecutionType = pbconv.ExecutionType(p.ExecutionType)
	}
	return u
}

func responseOf(p *yarnpb.AllocateResponseProto) Response {
	r := Response{
		Allocated:          pbconv.Containers(p.GetAllocatedContainers()),
		Completed:          pbconv.ContainerStatuses(p.GetCompletedContainerStatuses()),
		UpdatedNodes:       pbconv.NodeReports(p.GetUpdatedNodes()),
		PreviousContainers: pbconv.Containers(p.GetContainersFromPreviousAttempts()),
		NMTokens:           nmTokensOf(p.GetNmTokens()),
		Headroom:           pbconv.Resource(p.GetLimit()),
		Enhanced: EnhancedHeadroom{
			Pending:     int(p.GetEnhancedHeadroom().GetTotalPendingCount()),
			ActiveCores: int(p.GetEnhancedHeadroom().GetTotalActiveCores()),
		},
		ClusterNodes: int(p.GetNumClusterNodes()),
		Priority:     pbconv.Priority(p.GetApplicationPriority()),
		Preemption:   preemptionOf(p.GetPreempt()),
	}
	for _, u := range p.GetUpdatedContainers() {
		r.Updated = append(r.Updated, UpdatedContainer{
			Type:      UpdateType(u.GetUpdateType().String()),
			Container: pbconv.Container(u.GetContainer()),
		})
	}
	for _, e := range p.GetUpdateErrors() {
		r.UpdateErrors = append(r.UpdateErrors, &UpdateError{
			Update:         updateOf(e.GetUpdateRequest()),
			Reason:         e.GetReason(),
			CurrentVersion: int(e.GetCurrentContainerVersion()),
		})
	}
	for _, rejected := range p.GetRejectedSchedulingRequests() {
		request := rejected.GetRequest()
		r.Rejected = append(r.Rejected, Rejection{
			Key:    AskKey{Priority: pbconv.Priority(request.GetPriority()), RequestID: request.GetAllocationRequestId()},
			Count:  max(0, int(request.GetResourceSizing().GetNumAllocations())),
			Reason: RejectionReason(strings.TrimPrefix(rejected.GetReason().String(), "RRP_")),
		})
	}
	if c := p.GetCollectorInfo(); c.GetCollectorAddr() != "" {
		r.Collector = &Collector{Address: c.GetCollectorAddr(), Token: pbconv.Token(c.GetCollectorToken())}
	}
	return r
}

func preemptionOf(p *yarnpb.PreemptionMessageProto) Preemption {
	preemption := Preemption{
		Strict:     preempted(p.GetStrictContract().GetContainer()),
		Negotiable: preempted(p.GetContract().GetContainer()),
	}
	for _, wanted := range p.GetContract().GetResource() {
		r := wanted.GetResource()
		preemption.Wanted = append(preemption.Wanted, WantedBack{
			Priority:   pbconv.Priority(r.GetPriority()),
			Place:      r.GetResourceName(),
			Capability: pbconv.Resource(r.GetCapability()),
			Count:      int(r.GetNumContainers()),
		})
	}
	return preemption
}

func preempted(containers []*yarnpb.PreemptionContainerProto) []records.ContainerID {
	var ids []records.ContainerID
	for _, c := range containers {
		ids = append(ids, pbconv.ContainerID(c.GetId()))
	}
	return ids
}

func nmTokensOf(tokens []*yarnpb.NMTokenProto) map[records.NodeID]*creds.Token {
	byNode := make(map[records.NodeID]*creds.Token, len(tokens))
	for _, t := range tokens {
		byNode[pbconv.NodeID(t.GetNodeId())] = pbconv.Token(t.GetToken())
	}
	return byNode
}

func finishProto(status records.FinalApplicationStatus, diagnostics, trackingURL string) *yarnpb.FinishApplicationMasterRequestProto {
	return &yarnpb.FinishApplicationMasterRequestProto{
		FinalApplicationStatus: pbconv.FinalApplicationStatusProto(status),
		Diagnostics:            proto.String(diagnostics),
		TrackingUrl:            proto.String(trackingURL),
	}
}
