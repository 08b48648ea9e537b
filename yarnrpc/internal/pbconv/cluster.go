package pbconv

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Prefixes of enumeration values in protobuf.
const (
	nodePrefix     = "NS_"
	queuePrefix    = "Q_"
	queueACLPrefix = "QACL_"
)

// NodeStateProto converts a state, as filters send it; nil for one that YARN does not have.
func NodeStateProto(s records.NodeState) *yarnpb.NodeStateProto {
	return stateProto[yarnpb.NodeStateProto](s, nodePrefix, yarnpb.NodeStateProto_value)
}

// NodeReport converts the report of a node.
func NodeReport(p *yarnpb.NodeReportProto) records.NodeReport {
	if p == nil {
		return records.NodeReport{}
	}
	return records.NodeReport{
		ID:                     NodeID(p.GetNodeId()),
		HTTPAddress:            p.GetHttpAddress(),
		Rack:                   p.GetRackName(),
		Used:                   Resource(p.GetUsed()),
		Capability:             Resource(p.GetCapability()),
		Containers:             int(p.GetNumContainers()),
		State:                  state[records.NodeState](p.NodeState, nodePrefix),
		HealthReport:           p.GetHealthReport(),
		LastHealthReport:       Time(p.GetLastHealthReportTime()),
		Labels:                 p.GetNodeLabels(),
		DecommissioningTimeout: time.Duration(p.GetDecommissioningTimeout()) * time.Second,
		Attributes:             NodeAttributes(p.GetNodeAttributes()),
		ContainersUtilization:  Utilization(p.GetContainersUtilization()),
		NodeUtilization:        Utilization(p.GetNodeUtilization()),
		Change:                 state[records.NodeChange](p.NodeUpdateType, ""),
	}
}

// NodeReports converts a list.
func NodeReports(ps []*yarnpb.NodeReportProto) []records.NodeReport { return each(ps, NodeReport) }

// NodeReportProto converts the report of a node, for servers in tests.
func NodeReportProto(n records.NodeReport) *yarnpb.NodeReportProto {
	return &yarnpb.NodeReportProto{
		NodeId:                 NodeIDProto(n.ID),
		HttpAddress:            proto.String(n.HTTPAddress),
		RackName:               proto.String(n.Rack),
		Used:                   ResourceProto(n.Used),
		Capability:             ResourceProto(n.Capability),
		NumContainers:          proto.Int32(clamp(n.Containers)),
		NodeState:              NodeStateProto(n.State),
		HealthReport:           proto.String(n.HealthReport),
		LastHealthReportTime:   proto.Int64(Millis(n.LastHealthReport)),
		NodeLabels:             n.Labels,
		DecommissioningTimeout: proto.Uint32(uint32(min(max(n.DecommissioningTimeout/time.Second, 0), math.MaxUint32))),
		NodeAttributes:         NodeAttributeProtos(n.Attributes),
		ContainersUtilization:  UtilizationProto(n.ContainersUtilization),
		NodeUtilization:        UtilizationProto(n.NodeUtilization),
		NodeUpdateType:         stateProto[yarnpb.NodeUpdateTypeProto](n.Change, "", yarnpb.NodeUpdateTypeProto_value),
	}
}

// Utilization converts the resource use of a node.
func Utilization(p *yarnpb.ResourceUtilizationProto) records.Utilization {
	return records.Utilization{PhysicalMB: int(p.GetPmem()), VirtualMB: int(p.GetVmem()), CPU: p.GetCpu()}
}

// UtilizationProto converts the resource use of a node.
func UtilizationProto(u records.Utilization) *yarnpb.ResourceUtilizationProto {
	return &yarnpb.ResourceUtilizationProto{
		Pmem: proto.Int32(clamp(u.PhysicalMB)),
		Vmem: proto.Int32(clamp(u.VirtualMB)),
		Cpu:  proto.Float32(u.CPU),
	}
}

// ClusterMetrics converts the counts of nodes.
func ClusterMetrics(p *yarnpb.YarnClusterMetricsProto) records.ClusterMetrics {
	return records.ClusterMetrics{
		NodeManagers:    int(p.GetNumNodeManagers()),
		Decommissioned:  int(p.GetNumDecommissionedNms()),
		Active:          int(p.GetNumActiveNms()),
		Lost:            int(p.GetNumLostNms()),
		Unhealthy:       int(p.GetNumUnhealthyNms()),
		Rebooted:        int(p.GetNumRebootedNms()),
		Decommissioning: int(p.GetNumDecommissioningNms()),
		Shutdown:        int(p.GetNumShutdownNms()),
	}
}

// QueueInfo converts the report of a queue and of the queues below it.
func QueueInfo(p *yarnpb.QueueInfoProto) records.QueueInfo {
	if p == nil {
		return records.QueueInfo{}
	}
	return records.QueueInfo{
		Name:                         p.GetQueueName(),
		Path:                         p.GetQueuePath(),
		Capacity:                     p.GetCapacity(),
		MaximumCapacity:              p.GetMaximumCapacity(),
		CurrentCapacity:              p.GetCurrentCapacity(),
		State:                        state[records.QueueState](p.State, queuePrefix),
		Children:                     each(p.GetChildQueues(), QueueInfo),
		Applications:                 ApplicationReports(p.GetApplications()),
		Labels:                       p.GetAccessibleNodeLabels(),
		SchedulerType:                p.GetSchedulerType(),
		Statistics:                   queueStatistics(p.GetQueueStatistics()),
		DefaultNodeLabel:             p.GetDefaultNodeLabelExpression(),
		PreemptionDisabled:           p.GetPreemptionDisabled(),
		IntraQueuePreemptionDisabled: p.GetIntraQueuePreemptionDisabled(),
		Weight:                       p.GetWeight(),
		MaxParallelApps:              int(p.GetMaxParallelApps()),
		Partitions:                   queuePartitions(p.GetQueueConfigurationsMap()),
		Fair:                         fairQueue(p),
	}
}

func fairQueue(p *yarnpb.QueueInfoProto) records.FairQueue {
	amount := func(memoryMB int64, vcores int32) records.Resource {
		return records.Resource{MemoryMB: memoryMB, VCores: int(vcores)}
	}
	fair := records.FairQueue{
		Minimum:        amount(p.GetMinResourceMemory(), p.GetMinResourceVCore()),
		Maximum:        amount(p.GetMaxResourceMemory(), p.GetMaxResourceVCore()),
		Reserved:       amount(p.GetReservedResourceMemory(), p.GetReservedResourceVCore()),
		Steady:         amount(p.GetSteadyFairShareMemory(), p.GetSteadyFairShareVCore()),
		MaxRunningApps: int(p.GetMaxRunningApp()),
	}
	if p.MaxResourceVCore == nil { // Java writes it into the minimum's field, after the minimum
		fair.Maximum.VCores, fair.Minimum.VCores = fair.Minimum.VCores, 0
	}
	return fair
}

func queuePartitions(ps []*yarnpb.QueueConfigurationsMapProto) map[string]records.QueuePartition {
	return mapped(ps, func(p *yarnpb.QueueConfigurationsMapProto) (string, records.QueuePartition) {
		c := p.GetQueueConfigurations()
		return p.GetPartitionName(), records.QueuePartition{
			Capacity:                c.GetCapacity(),
			AbsoluteCapacity:        c.GetAbsoluteCapacity(),
			MaximumCapacity:         c.GetMaxCapacity(),
			AbsoluteMaximumCapacity: c.GetAbsoluteMaxCapacity(),
			MaxMasterShare:          c.GetMaxAMPercentage(),
			EffectiveMinimum:        Resource(c.GetEffectiveMinCapacity()),
			EffectiveMaximum:        Resource(c.GetEffectiveMaxCapacity()),
			ConfiguredMinimum:       Resource(c.GetConfiguredMinCapacity()),
			ConfiguredMaximum:       Resource(c.GetConfiguredMaxCapacity()),
		}
	})
}

func queueStatistics(p *yarnpb.QueueStatisticsProto) records.QueueStatistics {
	return records.QueueStatistics{
		AppsSubmitted:       p.GetNumAppsSubmitted(),
		AppsRunning:         p.GetNumAppsRunning(),
		AppsPending:         p.GetNumAppsPending(),
		AppsCompleted:       p.GetNumAppsCompleted(),
		AppsKilled:          p.GetNumAppsKilled(),
		AppsFailed:          p.GetNumAppsFailed(),
		ActiveUsers:         p.GetNumActiveUsers(),
		Available:           records.Resource{MemoryMB: p.GetAvailableMemoryMB(), VCores: int(p.GetAvailableVCores())},
		Allocated:           records.Resource{MemoryMB: p.GetAllocatedMemoryMB(), VCores: int(p.GetAllocatedVCores())},
		Pending:             records.Resource{MemoryMB: p.GetPendingMemoryMB(), VCores: int(p.GetPendingVCores())},
		Reserved:            records.Resource{MemoryMB: p.GetReservedMemoryMB(), VCores: int(p.GetReservedVCores())},
		AllocatedContainers: p.GetAllocatedContainers(),
		PendingContainers:   p.GetPendingContainers(),
		ReservedContainers:  p.GetReservedContainers(),
	}
}

// QueueUserACLs converts the caller's rights in queues.
func QueueUserACLs(ps []*yarnpb.QueueUserACLInfoProto) []records.QueueUserACL {
	return each(ps, func(p *yarnpb.QueueUserACLInfoProto) records.QueueUserACL {
		return records.QueueUserACL{
			Queue: p.GetQueueName(),
			ACLs: each(p.GetUserAcls(), func(acl yarnpb.QueueACLProto) records.QueueACL {
				return state[records.QueueACL](&acl, queueACLPrefix)
			}),
		}
	})
}
