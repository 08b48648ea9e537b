package books

import (
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// NodeEvent is an input of a NodeManager. The orders of the ResourceManager (ToNode) are such
// events.
//
//sumtype:decl
type NodeEvent interface{ isNodeEvent() }

type (
	// Start starts the NodeManager's process, without containers. A Capability that is not zero
	// replaces the node's.
	Start struct{ Capability records.Resource }
	// Stop ends the NodeManager's process, and all containers on the node.
	Stop struct{}
	// Beat is the time for a heartbeat.
	Beat struct{}
	// NodeCall is a call of ContainerManagementProtocol, over a connection that logged in with an
	// NM token of the application. Its answer is the step's Answer.
	NodeCall struct {
		Application records.ApplicationID
		Method      string // one of HasNodeMethod
		Request     []byte
	}
	// Exited says that a container of a Run has ended. Each Run has one, also after an End.
	Exited struct {
		ID          records.ContainerID
		Exit        records.ExitStatus
		Diagnostics string
	}
)

func (Start) isNodeEvent()      {}
func (Stop) isNodeEvent()       {}
func (Beat) isNodeEvent()       {}
func (NodeCall) isNodeEvent()   {}
func (Exited) isNodeEvent()     {}
func (Registered) isNodeEvent() {}
func (Resync) isNodeEvent()     {}
func (Launch) isNodeEvent()     {}
func (Kill) isNodeEvent()       {}
func (Forget) isNodeEvent()     {}

// NodeEffect is an output of a NodeManager. Its messages to the ResourceManager
// (ToResourceManager) are such effects.
//
//sumtype:decl
type NodeEffect interface{ isNodeEffect() }

type (
	// Run runs a container. Its end comes as Exited.
	Run struct {
		Container Container
		Launch    records.ContainerLaunchContext // in which nothing is expanded
	}
	// End ends a container. Its Exited still comes.
	End struct{ ID records.ContainerID }
	// Signal sends a signal to a container that runs. An owner without processes gives the node a
	// Kill with the status that a process would have.
	Signal struct {
		ID     records.ContainerID
		Signal records.ContainerSignal
	}
)

func (Answer) isNodeEffect()       {}
func (Run) isNodeEffect()          {}
func (End) isNodeEffect()          {}
func (Signal) isNodeEffect()       {}
func (Registration) isNodeEffect() {}
func (NodeReport) isNodeEffect()   {}
