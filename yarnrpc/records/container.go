package records

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// Container is an allocated container: room on a node. It must be started before
// its token expires
// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms, 600 s).
type Container struct {
	ID                  ContainerID
	Node                NodeID
	NodeHTTPAddress     string   // of the NodeManager's web server, host:port
	Resource            Resource // the size asked for, rounded up by the scheduler
	Priority            Priority // of the ask
	Token               *creds.Token
	ExecutionType       ExecutionType
	AllocationRequestID int64 // of the ask
	Version             int   // grows with each update of the container
	AllocationTags      []string
	ExposedPorts        ExposedPorts // of a running container
}

// ContainerStatus is a NodeManager's report of a container, or the
// ResourceManager's report of a completed one.
type ContainerStatus struct {
	ID            ContainerID
	State         ContainerState
	SubState      ContainerSubState
	ExitStatus    ExitStatus // ExitUnknown until State is ContainerComplete
	Diagnostics   string
	Capability    Resource
	ExecutionType ExecutionType
	Attributes    map[string]string // IPS, HOST and PORTS (ExposedPorts)
}

// ContainerReport is the report of a container by the ResourceManager or the
// history server.
type ContainerReport struct {
	ID              ContainerID
	Resource        Resource
	Node            NodeID
	NodeHTTPAddress string
	Priority        Priority
	Created         time.Time
	Finished        time.Time // zero while it runs
	State           ContainerState
	ExitStatus      ExitStatus
	Diagnostics     string
	LogURL          string
	ExecutionType   ExecutionType
	ExposedPorts    ExposedPorts
}
