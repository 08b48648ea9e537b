package resourcetracker

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func registrationProto(r Registration) *yarnpb.RegisterNodeManagerRequestProto {
	p := &yarnpb.RegisterNodeManagerRequestProto{
		NodeId:     pbconv.NodeIDProto(r.Node),
		HttpPort:   proto.Int32(number(r.HTTPPort)),
		Resource:   pbconv.ResourceProto(r.Resource),
		NmVersion:  proto.String(r.Version),
		NodeStatus: nodeStatusProto(Heartbeat{Node: r.Node}, time.Time{}),
	}
	for _, c := range r.Containers {
		p.ContainerStatuses = append(p.ContainerStatuses, containerProto(c))
	}
	for _, id := range r.Applications {
		p.RunningApplications = append(p.RunningApplications, pbconv.ApplicationIDProto(id))
	}
	return p
}

func containerProto(c Container) *yarnpb.NMContainerStatusProto {
	status := pbconv.ContainerStatusProto(c.ContainerStatus)
	return &yarnpb.NMContainerStatusProto{
		ContainerId:         status.GetContainerId(),
		ContainerState:      status.State,
		Resource:            status.GetCapability(),
		Priority:            pbconv.PriorityProto(c.Priority),
		Diagnostics:         status.Diagnostics,
		ContainerExitStatus: status.ExitStatus,
		CreationTime:        proto.Int64(pbconv.Millis(c.Created)),
		Version:             proto.Int32(number(c.Version)),
		ExecutionType:       status.ExecutionType,
		AllocationRequestId: proto.Int64(c.AllocationRequestID),
		AllocationTags:      c.AllocationTags,
	}
}

func nodeStatusProto(h Heartbeat, now time.Time) *yarnpb.NodeStatusProto {
	p := &yarnpb.NodeStatusProto{
		NodeId:     pbconv.NodeIDProto(h.Node),
		ResponseId: proto.Int32(h.ResponseID),
		NodeHealthStatus: &yarnpb.NodeHealthStatusProto{
			IsNodeHealthy:        proto.Bool(h.Unhealthy == ""),
			HealthReport:         proto.String(h.Unhealthy),
			LastHealthReportTime: proto.Int64(pbconv.Millis(now)),
		},
	}
	p.ContainersUtilization, p.NodeUtilization = idle(), idle()
	for _, s := range h.Containers {
		p.ContainersStatuses = append(p.ContainersStatuses, pbconv.ContainerStatusProto(s))
	}
	return p
}

// idle is a node without processes. Where a node leaves its load out, the
// ResourceManager's REST answers every question for nodes with a NullPointerException.
func idle() *yarnpb.ResourceUtilizationProto {
	return &yarnpb.ResourceUtilizationProto{Pmem: proto.Int32(0), Vmem: proto.Int32(0), Cpu: proto.Float32(0)}
}

func heartbeatProto(h Heartbeat, now time.Time) *yarnpb.NodeHeartbeatRequestProto {
	return &yarnpb.NodeHeartbeatRequestProto{
		NodeStatus:                       nodeStatusProto(h, now),
		LastKnownContainerTokenMasterKey: &yarnpb.MasterKeyProto{KeyId: proto.Int32(h.ContainerTokenKeyID)},
		LastKnownNmTokenMasterKey:        &yarnpb.MasterKeyProto{KeyId: proto.Int32(h.NMTokenKeyID)},
	}
}

func registeredOf(p *yarnpb.RegisterNodeManagerResponseProto) Registered {
	return Registered{
		Action:            actionOf(p.GetNodeAction()),
		Diagnostics:       p.GetDiagnosticsMessage(),
		ContainerTokenKey: keyOf(p.GetContainerTokenMasterKey()),
		NMTokenKey:        keyOf(p.GetNmTokenMasterKey()),
		RMIdentifier:      p.GetRmIdentifier(),
		RMVersion:         p.GetRmVersion(),
		Resource:          pbconv.Resource(p.GetResource()),
	}
}

func heartbeatResponseOf(p *yarnpb.NodeHeartbeatResponseProto) HeartbeatResponse {
	r := HeartbeatResponse{
		ResponseID:  p.GetResponseId(),
		Action:      actionOf(p.GetNodeAction()),
		Diagnostics: p.GetDiagnosticsMessage(),
		Interval:    time.Duration(min(max(p.GetNextHeartBeatInterval(), 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
		Stop:        pbconv.ContainerIDs(p.GetContainersToCleanup()),
		Forget:      pbconv.ContainerIDs(p.GetContainersToBeRemovedFromNm()),
		Updated:     pbconv.Containers(p.GetContainersToUpdate()),
		Resource:    pbconv.Resource(p.GetResource()),
	}
	for _, id := range p.GetApplicationsToCleanup() {
		r.Ended = append(r.Ended, pbconv.ApplicationID(id))
	}
	for _, s := range p.GetContainersToSignal() {
		r.Signals = append(r.Signals, Signal{Container: pbconv.ContainerID(s.GetContainerId()), Signal: pbconv.ContainerSignal(s.Command)})
	}
	if key := p.GetContainerTokenMasterKey(); key != nil {
		r.ContainerTokenKey = new(keyOf(key))
	}
	if key := p.GetNmTokenMasterKey(); key != nil {
		r.NMTokenKey = new(keyOf(key))
	}
	return r
}

func keyOf(p *yarnpb.MasterKeyProto) MasterKey {
	return MasterKey{ID: p.GetKeyId(), Secret: p.GetBytes()}
}

// actionOf gives ActionNormal, too, for what is missing or newer than our .proto files.
func actionOf(p yarnpb.NodeActionProto) Action {
	switch p {
	case yarnpb.NodeActionProto_RESYNC:
		return ActionResync
	case yarnpb.NodeActionProto_SHUTDOWN:
		return ActionShutdown
	default:
		return ActionNormal
	}
}

func number(n int) int32 { return int32(max(math.MinInt32, min(math.MaxInt32, n))) }

// runningStatus is that of a container whose process runs.
func runningStatus(c records.Container) Container {
	return Container{
		ContainerStatus: records.ContainerStatus{
			ID: c.ID, State: records.ContainerRunning, ExitStatus: records.ExitUnknown, Capability: c.Resource, ExecutionType: c.ExecutionType,
		},
		Priority: c.Priority, Version: c.Version, AllocationRequestID: c.AllocationRequestID, AllocationTags: c.AllocationTags,
	}
}
