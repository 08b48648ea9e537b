package pbconv

import (
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Prefixes of enumeration values in protobuf.
const (
	containerPrefix    = "C_"
	containerSubPrefix = "CSS_"
)

// ExecutionType converts an execution type; nil is guaranteed.
func ExecutionType(p *yarnpb.ExecutionTypeProto) records.ExecutionType {
	if p == nil {
		return records.ExecutionGuaranteed
	}
	return state[records.ExecutionType](p, "")
}

// ExecutionTypeProto converts an execution type; empty is guaranteed.
func ExecutionTypeProto(t records.ExecutionType) *yarnpb.ExecutionTypeProto {
	if t == "" {
		t = records.ExecutionGuaranteed
	}
	return stateProto[yarnpb.ExecutionTypeProto](t, "", yarnpb.ExecutionTypeProto_value)
}

// Container converts an allocated container.
func Container(p *yarnpb.ContainerProto) records.Container {
	if p == nil {
		return records.Container{}
	}
	return records.Container{
		ID:                  ContainerID(p.GetId()),
		Node:                NodeID(p.GetNodeId()),
		NodeHTTPAddress:     p.GetNodeHttpAddress(),
		Resource:            Resource(p.GetResource()),
		Priority:            Priority(p.GetPriority()),
		Token:               Token(p.GetContainerToken()),
		ExecutionType:       ExecutionType(p.ExecutionType),
		AllocationRequestID: p.GetAllocationRequestId(),
		Version:             int(p.GetVersion()),
		AllocationTags:      p.GetAllocationTags(),
		ExposedPorts:        records.ExposedPorts(p.GetExposedPorts()),
	}
}

// Containers converts a list.
func Containers(ps []*yarnpb.ContainerProto) []records.Container { return each(ps, Container) }

// ContainerProto converts an allocated container.
func ContainerProto(c records.Container) *yarnpb.ContainerProto {
	p := &yarnpb.ContainerProto{
		Id:                  ContainerIDProto(c.ID),
		NodeId:              NodeIDProto(c.Node),
		NodeHttpAddress:     proto.String(c.NodeHTTPAddress),
		Resource:            ResourceProto(c.Resource),
		Priority:            PriorityProto(c.Priority),
		ContainerToken:      TokenProto(c.Token),
		ExecutionType:       ExecutionTypeProto(c.ExecutionType),
		AllocationRequestId: proto.Int64(c.AllocationRequestID),
		Version:             proto.Int32(clamp(c.Version)),
		AllocationTags:      c.AllocationTags,
	}
	if c.ExposedPorts != "" {
		p.ExposedPorts = proto.String(string(c.ExposedPorts))
	}
	return p
}

// ContainerState converts the state of a container.
func ContainerState(p *yarnpb.ContainerStateProto) records.ContainerState {
	return state[records.ContainerState](p, containerPrefix)
}

// ContainerStatus converts the status of a container.
func ContainerStatus(p *yarnpb.ContainerStatusProto) records.ContainerStatus {
	if p == nil {
		return records.ContainerStatus{ExitStatus: records.ExitUnknown}
	}
	return records.ContainerStatus{
		ID:            ContainerID(p.GetContainerId()),
		State:         ContainerState(p.State),
		SubState:      state[records.ContainerSubState](p.ContainerSubState, containerSubPrefix),
		ExitStatus:    records.ExitStatus(p.GetExitStatus()),
		Diagnostics:   p.GetDiagnostics(),
		Capability:    Resource(p.GetCapability()),
		ExecutionType: ExecutionType(p.ExecutionType),
		Attributes:    stringMap(p.GetContainerAttributes()),
	}
}

// ContainerStatuses converts a list.
func ContainerStatuses(ps []*yarnpb.ContainerStatusProto) []records.ContainerStatus {
	return each(ps, ContainerStatus)
}

// ContainerStatusProto converts the status of a container.
func ContainerStatusProto(s records.ContainerStatus) *yarnpb.ContainerStatusProto {
	return &yarnpb.ContainerStatusProto{
		ContainerId:         ContainerIDProto(s.ID),
		State:               stateProto[yarnpb.ContainerStateProto](s.State, containerPrefix, yarnpb.ContainerStateProto_value),
		ContainerSubState:   stateProto[yarnpb.ContainerSubStateProto](s.SubState, containerSubPrefix, yarnpb.ContainerSubStateProto_value),
		ExitStatus:          proto.Int32(int32(s.ExitStatus)),
		Diagnostics:         proto.String(s.Diagnostics),
		Capability:          ResourceProto(s.Capability),
		ExecutionType:       ExecutionTypeProto(s.ExecutionType),
		ContainerAttributes: stringMapProto(s.Attributes),
	}
}

// ContainerReport converts the report of a container.
func ContainerReport(p *yarnpb.ContainerReportProto) records.ContainerReport {
	if p == nil {
		return records.ContainerReport{}
	}
	return records.ContainerReport{
		ID:              ContainerID(p.GetContainerId()),
		Resource:        Resource(p.GetResource()),
		Node:            NodeID(p.GetNodeId()),
		NodeHTTPAddress: p.GetNodeHttpAddress(),
		Priority:        Priority(p.GetPriority()),
		Created:         Time(p.GetCreationTime()),
		Finished:        Time(p.GetFinishTime()),
		State:           ContainerState(p.ContainerState),
		ExitStatus:      records.ExitStatus(p.GetContainerExitStatus()),
		Diagnostics:     p.GetDiagnosticsInfo(),
		LogURL:          p.GetLogUrl(),
		ExecutionType:   ExecutionType(p.ExecutionType),
		ExposedPorts:    records.ExposedPorts(p.GetExposedPorts()),
	}
}
