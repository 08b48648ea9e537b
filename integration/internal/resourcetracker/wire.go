package resourcetracker

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func registrationProto(r Registration) *yarnpb.RegisterNodeManagerRequestProto {
	p := &yarnpb.RegisterNodeManagerRequestProto{
		NodeId:     nodeIDProto(r.Node),
		HttpPort:   proto.Int32(number(r.HTTPPort)),
		Resource:   resourceProto(r.Resource),
		NmVersion:  proto.String(r.Version),
		NodeStatus: nodeStatusProto(heartbeat{Node: r.Node}, time.Time{}),
	}
	for _, c := range r.Containers {
		p.ContainerStatuses = append(p.ContainerStatuses, containerProto(c))
	}
	for _, id := range r.Applications {
		p.RunningApplications = append(p.RunningApplications, applicationIDProto(id))
	}
	return p
}

func containerProto(c Container) *yarnpb.NMContainerStatusProto {
	status := containerStatusProto(c.ContainerStatus)
	return &yarnpb.NMContainerStatusProto{
		ContainerId:         status.GetContainerId(),
		ContainerState:      status.State,
		Resource:            status.GetCapability(),
		Priority:            &yarnpb.PriorityProto{Priority: proto.Int32(int32(c.Priority))},
		Diagnostics:         status.Diagnostics,
		ContainerExitStatus: status.ExitStatus,
		CreationTime:        proto.Int64(millis(c.Created)),
		Version:             proto.Int32(number(c.Version)),
		ExecutionType:       status.ExecutionType,
		AllocationRequestId: proto.Int64(c.AllocationRequestID),
		AllocationTags:      c.AllocationTags,
	}
}

func nodeStatusProto(h heartbeat, now time.Time) *yarnpb.NodeStatusProto {
	p := &yarnpb.NodeStatusProto{
		NodeId:     nodeIDProto(h.Node),
		ResponseId: proto.Int32(h.ResponseID),
		NodeHealthStatus: &yarnpb.NodeHealthStatusProto{
			IsNodeHealthy:        proto.Bool(h.Unhealthy == ""),
			HealthReport:         proto.String(h.Unhealthy),
			LastHealthReportTime: proto.Int64(millis(now)),
		},
	}
	p.ContainersUtilization, p.NodeUtilization = idle(), idle()
	for _, s := range h.Containers {
		p.ContainersStatuses = append(p.ContainersStatuses, containerStatusProto(s))
	}
	return p
}

// idle is a node without processes. If a node omits its load, the ResourceManager's REST answers
// every request for nodes with a NullPointerException.
func idle() *yarnpb.ResourceUtilizationProto {
	return &yarnpb.ResourceUtilizationProto{Pmem: proto.Int32(0), Vmem: proto.Int32(0), Cpu: proto.Float32(0)}
}

func heartbeatProto(h heartbeat, now time.Time) *yarnpb.NodeHeartbeatRequestProto {
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
	}
}

func heartbeatResponseOf(p *yarnpb.NodeHeartbeatResponseProto) heartbeatResponse {
	r := heartbeatResponse{
		ResponseID:  p.GetResponseId(),
		Action:      actionOf(p.GetNodeAction()),
		Diagnostics: p.GetDiagnosticsMessage(),
		Interval:    time.Duration(min(max(p.GetNextHeartBeatInterval(), 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
		Stop:        each(p.GetContainersToCleanup(), containerIDOf),
		Forget:      each(p.GetContainersToBeRemovedFromNm(), containerIDOf),
		Ended:       each(p.GetApplicationsToCleanup(), applicationIDOf),
		Updated:     each(p.GetContainersToUpdate(), updatedOf),
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

// actionOf also returns actionNormal if the action is missing or newer than our .proto files.
func actionOf(p yarnpb.NodeActionProto) action {
	switch p {
	case yarnpb.NodeActionProto_RESYNC:
		return actionResync
	case yarnpb.NodeActionProto_SHUTDOWN:
		return actionShutdown
	default:
		return actionNormal
	}
}

func number(n int) int32 { return int32(max(math.MinInt32, min(math.MaxInt32, n))) }

// runningStatus returns the status of a container whose process runs.
func runningStatus(c records.Container) Container {
	return Container{
		ContainerStatus: records.ContainerStatus{
			ID: c.ID, State: records.ContainerRunning, ExitStatus: records.ExitUnknown, Capability: c.Resource, ExecutionType: c.ExecutionType,
		},
		Priority: c.Priority, Version: c.Version, AllocationRequestID: c.AllocationRequestID, AllocationTags: c.AllocationTags,
	}
}
