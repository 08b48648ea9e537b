package resourcetracker

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Conversions of the records in the messages. yarnrpc does not export its own.

func nodeIDProto(id records.NodeID) *yarnpb.NodeIdProto {
	return &yarnpb.NodeIdProto{Host: proto.String(id.Host), Port: proto.Int32(number(id.Port))}
}

func applicationIDProto(id records.ApplicationID) *yarnpb.ApplicationIdProto {
	return &yarnpb.ApplicationIdProto{ClusterTimestamp: proto.Int64(id.ClusterTimestamp), Id: proto.Int32(id.ID)}
}

func applicationIDOf(p *yarnpb.ApplicationIdProto) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: p.GetClusterTimestamp(), ID: p.GetId()}
}

func containerIDProto(id records.ContainerID) *yarnpb.ContainerIdProto {
	return &yarnpb.ContainerIdProto{
		AppAttemptId: &yarnpb.ApplicationAttemptIdProto{
			ApplicationId: applicationIDProto(id.Attempt.Application), AttemptId: proto.Int32(id.Attempt.Attempt),
		},
		Id: proto.Int64(id.ID),
	}
}

func containerIDOf(p *yarnpb.ContainerIdProto) records.ContainerID {
	attempt := p.GetAppAttemptId()
	return records.ContainerID{
		Attempt: records.ApplicationAttemptID{Application: applicationIDOf(attempt.GetApplicationId()), Attempt: attempt.GetAttemptId()},
		ID:      p.GetId(),
	}
}

// resourceProto converts memory and cores. Simulated nodes have no other resources.
func resourceProto(r records.Resource) *yarnpb.ResourceProto {
	return &yarnpb.ResourceProto{Memory: proto.Int64(r.MemoryMB), VirtualCores: proto.Int32(number(r.VCores))}
}

func resourceOf(p *yarnpb.ResourceProto) records.Resource {
	return records.Resource{MemoryMB: p.GetMemory(), VCores: int(p.GetVirtualCores())}
}

func containerStatusProto(s records.ContainerStatus) *yarnpb.ContainerStatusProto {
	state := yarnpb.ContainerStateProto_C_RUNNING
	if s.State == records.ContainerComplete {
		state = yarnpb.ContainerStateProto_C_COMPLETE
	}
	execution := yarnpb.ExecutionTypeProto_GUARANTEED
	if s.ExecutionType == records.ExecutionOpportunistic {
		execution = yarnpb.ExecutionTypeProto_OPPORTUNISTIC
	}
	return &yarnpb.ContainerStatusProto{
		ContainerId:   containerIDProto(s.ID),
		State:         state.Enum(),
		ExitStatus:    proto.Int32(int32(s.ExitStatus)),
		Diagnostics:   proto.String(s.Diagnostics),
		Capability:    resourceProto(s.Capability),
		ExecutionType: execution.Enum(),
	}
}

// updatedOf returns a container with a new size or execution type. It sets these, and the version
// that tells updates apart.
func updatedOf(p *yarnpb.ContainerProto) records.Container {
	return records.Container{
		ID: containerIDOf(p.GetId()), Resource: resourceOf(p.GetResource()), Version: int(p.GetVersion()),
		ExecutionType: records.ExecutionType(p.GetExecutionType().String()),
	}
}

// millis returns milliseconds since 1970, or 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func each[P, R any](ps []P, convert func(P) R) []R {
	var out []R
	for _, p := range ps {
		out = append(out, convert(p))
	}
	return out
}
