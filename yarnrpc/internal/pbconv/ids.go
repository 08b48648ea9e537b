package pbconv

import (
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ApplicationID converts an application's id.
func ApplicationID(p *yarnpb.ApplicationIdProto) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: p.GetClusterTimestamp(), ID: p.GetId()}
}

// ApplicationIDProto converts an application's id.
func ApplicationIDProto(id records.ApplicationID) *yarnpb.ApplicationIdProto {
	return &yarnpb.ApplicationIdProto{ClusterTimestamp: proto.Int64(id.ClusterTimestamp), Id: proto.Int32(id.ID)}
}

// ApplicationAttemptID converts an attempt's id.
func ApplicationAttemptID(p *yarnpb.ApplicationAttemptIdProto) records.ApplicationAttemptID {
	return records.ApplicationAttemptID{Application: ApplicationID(p.GetApplicationId()), Attempt: p.GetAttemptId()}
}

// ApplicationAttemptIDProto converts an attempt's id.
func ApplicationAttemptIDProto(id records.ApplicationAttemptID) *yarnpb.ApplicationAttemptIdProto {
	return &yarnpb.ApplicationAttemptIdProto{
		ApplicationId: ApplicationIDProto(id.Application),
		AttemptId:     proto.Int32(id.Attempt),
	}
}

// ContainerID converts a container's id.
func ContainerID(p *yarnpb.ContainerIdProto) records.ContainerID {
	return records.ContainerID{Attempt: ApplicationAttemptID(p.GetAppAttemptId()), ID: p.GetId()}
}

// ContainerIDProto converts a container's id.
func ContainerIDProto(id records.ContainerID) *yarnpb.ContainerIdProto {
	return &yarnpb.ContainerIdProto{AppAttemptId: ApplicationAttemptIDProto(id.Attempt), Id: proto.Int64(id.ID)}
}

// ContainerIDs converts a list.
func ContainerIDs(ps []*yarnpb.ContainerIdProto) []records.ContainerID { return each(ps, ContainerID) }

// ContainerIDProtos converts a list.
func ContainerIDProtos(ids []records.ContainerID) []*yarnpb.ContainerIdProto {
	return each(ids, ContainerIDProto)
}

// NodeID converts a node's id.
func NodeID(p *yarnpb.NodeIdProto) records.NodeID {
	return records.NodeID{Host: p.GetHost(), Port: int(p.GetPort())}
}

// NodeIDProto converts a node's id.
func NodeIDProto(id records.NodeID) *yarnpb.NodeIdProto {
	return &yarnpb.NodeIdProto{Host: proto.String(id.Host), Port: proto.Int32(clamp(id.Port))}
}

// Priority converts a priority; none is 0.
func Priority(p *yarnpb.PriorityProto) records.Priority { return records.Priority(p.GetPriority()) }

// PriorityProto converts a priority.
func PriorityProto(p records.Priority) *yarnpb.PriorityProto {
	return &yarnpb.PriorityProto{Priority: proto.Int32(int32(p))}
}
