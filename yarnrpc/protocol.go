package yarnrpc

// Wire names of protocols. Each is the name of a Java class, by which servers find the
// protocol and check rights.
const (
	// ApplicationClientProtocol is spoken by the ResourceManager, port 8032.
	ApplicationClientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	// ApplicationMasterProtocol is spoken by the ResourceManager, port 8030, to clients
	// with an AMRM token.
	ApplicationMasterProtocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	// ContainerManagementProtocol is spoken by NodeManagers, at the address in their
	// id, to clients with an NM token.
	ContainerManagementProtocol = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
	// HDFSClientProtocol is spoken by the NameNode, port 8020.
	HDFSClientProtocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
	// ResourceTracker is spoken by the ResourceManager to NodeManagers, port 8031.
	ResourceTracker = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
	// HAServiceProtocol is spoken by each server of a high-availability pair: the
	// NameNode, port 8020, and the ResourceManager's port for administrators, 8033.
	HAServiceProtocol = "org.apache.hadoop.ha.HAServiceProtocol"
)

// repeatable reports whether a call may be made again when the outcome of the first try
// is unknown. These are methods that Hadoop annotates with @Idempotent or @AtMostOnce,
// and methods that change nothing the second time. Methods that are not listed are not
// repeated.
func repeatable(protocol, method string) bool {
	switch protocol {
	case ApplicationClientProtocol:
		switch method {
		case "getNewApplication", "submitApplication", "getApplicationReport", "forceKillApplication",
			"getApplications", "getClusterMetrics", "getClusterNodes", "getQueueInfo", "getQueueUserAcls",
			"getApplicationAttemptReport", "getApplicationAttempts", "getContainerReport", "getContainers",
			"getDelegationToken", "renewDelegationToken", "cancelDelegationToken",
			"moveApplicationAcrossQueues", "updateApplicationPriority", "updateApplicationTimeouts",
			"getNewReservation", "submitReservation", "listReservations",
			"getNodeToLabels", "getLabelsToNodes", "getClusterNodeLabels",
			"getClusterNodeAttributes", "getAttributesToNodes", "getNodesToAttributes",
			"getResourceProfiles", "getResourceProfile", "getResourceTypeInfo":
			return true
		}
	case ApplicationMasterProtocol:
		// The ResourceManager recognizes a repeated allocate by its response id.
		switch method {
		case "registerApplicationMaster", "allocate", "finishApplicationMaster":
			return true
		}
	case ContainerManagementProtocol:
		switch method {
		case "stopContainers", "getContainerStatuses", "getLocalizationStatuses":
			return true
		}
	case ResourceTracker:
		// The ResourceManager recognizes a repeated heartbeat by its response id.
		switch method {
		case "registerNodeManager", "nodeHeartbeat", "unRegisterNodeManager":
			return true
		}
	case HAServiceProtocol:
		return method == "getServiceStatus"
	case HDFSClientProtocol:
		// Each method is annotated. The NameNode recognizes repeated @AtMostOnce calls by
		// its retry cache.
		return true
	}
	return false
}
