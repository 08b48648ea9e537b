package books

import (
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Event is an input of the ResourceManager.
//
//sumtype:decl
type Event interface{ isEvent() }

// ToResourceManager is a message of a NodeManager to the ResourceManager.
//
//sumtype:decl
type ToResourceManager interface {
	Event
	NodeEffect
	isToResourceManager()
}

type (
	// ClientCall is a call of ApplicationClientProtocol. Its answer is the step's Answer.
	ClientCall struct {
		User    string
		Method  string // one of HasClientMethod
		Request []byte
	}
	// MasterCall is a call of ApplicationMasterProtocol, over a connection that logged in with the
	// token of the attempt and of the key. Its answer is the step's Answer.
	MasterCall struct {
		Attempt records.ApplicationAttemptID
		KeyID   int32
		Method  string // one of HasMasterMethod
		Request []byte
	}
	// Registration is the first message of a NodeManager, and its answer to a Resync.
	Registration struct {
		Node        records.NodeID
		Capability  records.Resource
		Incarnation int               // of the NodeManager's process: containers of another one are gone
		Containers  []ContainerStatus // all that the node has not been told to forget
	}
	// NodeReport says which containers of a node run and have ended.
	NodeReport struct {
		Node records.NodeID
		// ResourceManager is the identifier of the ResourceManager with which the node is
		// registered. Another one answers with a Resync.
		ResourceManager int64
		Incarnation     int
		Containers      []ContainerStatus
		// Beat: this is a heartbeat. It lists all containers, and the node gets new ones. Without
		// Beat, the report is about a change.
		Beat bool
	}
	// ContainerTaken says that the scheduler takes a container back, or that it fails.
	ContainerTaken struct {
		ID     records.ContainerID
		Exit   records.ExitStatus
		Reason string
	}
	// NodeGone says that a node has left in order, with all its containers.
	NodeGone struct{ Node records.NodeID }
	// Restarted says that a new ResourceManager has recovered the applications. Registrations,
	// asks, response ids and containers are unknown to it until masters and nodes report them.
	Restarted struct{}
	// StateLost says that a new ResourceManager has started without any state. Keys are its keys.
	StateLost struct{ Keys Keys }
	// KeyRolled brings a new key for AMRM tokens. The previous one stays valid until the next.
	KeyRolled struct{ Key Key }
	// Tick comes at the time of Alarm, or later. An extra one does no harm.
	Tick struct{}
)

func (ClientCall) isEvent()     {}
func (MasterCall) isEvent()     {}
func (Registration) isEvent()   {}
func (NodeReport) isEvent()     {}
func (ContainerTaken) isEvent() {}
func (NodeGone) isEvent()       {}
func (Restarted) isEvent()      {}
func (StateLost) isEvent()      {}
func (KeyRolled) isEvent()      {}
func (Tick) isEvent()           {}

func (Registration) isToResourceManager() {}
func (NodeReport) isToResourceManager()   {}

// ContainerStatus is what a node knows about a container.
type ContainerStatus struct {
	Container
	State       records.ContainerState
	Exit        records.ExitStatus // records.ExitUnknown while it runs
	Diagnostics string
}

// Effect is an output of the ResourceManager.
//
//sumtype:decl
type Effect interface{ isEffect() }

// ToNode is a message of the ResourceManager to a NodeManager, and an event there.
//
//sumtype:decl
type ToNode interface {
	Effect
	NodeEvent
	// To returns the node.
	To() records.NodeID
}

// Answer is the answer to a call: the encoded response, or an exception. A step for a call has
// exactly one, as its last effect.
type Answer struct {
	Response  []byte
	Exception *Exception // nil: none
}

type (
	// Registered accepts a node. It has what the node needs to judge tokens.
	Registered struct {
		Node            records.NodeID
		ResourceManager int64 // the identifier in tokens of containers
		NM, Container   Key
	}
	// Resync demands a Registration: the ResourceManager does not know the node.
	Resync struct{ Node records.NodeID }
	// Launch starts an ApplicationMaster.
	Launch struct {
		Node    records.NodeID
		Request StartRequest
	}
	// Kill ends a container. The node reports the status if the container runs.
	Kill struct {
		Node   records.NodeID
		ID     records.ContainerID
		Exit   records.ExitStatus
		Reason string
	}
	// Forget says that the master of an ended container has received its status.
	Forget struct {
		Node records.NodeID
		ID   records.ContainerID
	}
)

func (Answer) isEffect()     {}
func (Registered) isEffect() {}
func (Resync) isEffect()     {}
func (Launch) isEffect()     {}
func (Kill) isEffect()       {}
func (Forget) isEffect()     {}

// To returns the node.
func (e Registered) To() records.NodeID { return e.Node }

// To returns the node.
func (e Resync) To() records.NodeID { return e.Node }

// To returns the node.
func (e Launch) To() records.NodeID { return e.Node }

// To returns the node.
func (e Kill) To() records.NodeID { return e.Node }

// To returns the node.
func (e Forget) To() records.NodeID { return e.Node }
