package amrm

import (
	"io"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func registerProto(r RegisterRequest) *yarnpb.RegisterApplicationMasterRequestProto {
	return &yarnpb.RegisterApplicationMasterRequestProto{
		Host:        proto.String(r.Host),
		RpcPort:     proto.Int32(int32(r.RPCPort)),
		TrackingUrl: proto.String(r.TrackingURL),
	}
}

func registrationOf(p *yarnpb.RegisterApplicationMasterResponseProto) Registration {
	r := Registration{
		Maximum:            pbconv.Resource(p.GetMaximumCapability()),
		Queue:              p.GetQueue(),
		ACLs:               pbconv.ACLs(p.GetApplication_ACLs()),
		PreviousContainers: pbconv.Containers(p.GetContainersFromPreviousAttempts()),
		NMTokens:           nmTokensOf(p.GetNmTokensFromPreviousAttempts()),
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
	}
	if r.label != "" {
		p.NodeLabelExpression = proto.String(r.label)
	}
	return p
}

func responseOf(p *yarnpb.AllocateResponseProto) Response {
	return Response{
		Allocated:          pbconv.Containers(p.GetAllocatedContainers()),
		Completed:          pbconv.ContainerStatuses(p.GetCompletedContainerStatuses()),
		UpdatedNodes:       pbconv.NodeReports(p.GetUpdatedNodes()),
		PreviousContainers: pbconv.Containers(p.GetContainersFromPreviousAttempts()),
		NMTokens:           nmTokensOf(p.GetNmTokens()),
		Headroom:           pbconv.Resource(p.GetLimit()),
		ClusterNodes:       int(p.GetNumClusterNodes()),
		Preemption: Preemption{
			Strict:     preempted(p.GetPreempt().GetStrictContract().GetContainer()),
			Negotiable: preempted(p.GetPreempt().GetContract().GetContainer()),
		},
	}
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

func silentLogger() logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}
