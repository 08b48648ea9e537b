package records

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// Container is a promise of room on a node. It must be started before its token
// expires (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms, 600 s).
type Container struct {
	ID                  ContainerID
	Node                NodeID
	NodeHTTPAddress     string   // of the NodeManager's web server, host:port
	Resource            Resource // what was asked for, rounded up by the scheduler
	Priority            Priority // of the ask
	Token               *creds.Token
	ExecutionType       ExecutionType
	AllocationRequestID int64 // of the ask
	Version             int   // grows with each update of the container
	AllocationTags      []string
	ExposedPorts        ExposedPorts // of one that runs already
}

// ContainerStatus is what a NodeManager says of a container, or the
// ResourceManager of a completed one.
type ContainerStatus struct {
	ID            ContainerID
	State         ContainerState
	SubState      ContainerSubState
	ExitStatus    ExitStatus // ExitUnknown until State is ContainerComplete
	Diagnostics   string
	Capability    Resource
	ExecutionType ExecutionType
	Attributes    map[string]string // IPS, HOST, PORTS, which is ExposedPorts
}

// ContainerReport is what the ResourceManager, or the history server, remembers
// of a container.
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
