package yarnworkers

import (
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// event is something that happened, for core.Step.
//
//sumtype:decl
type event interface{ isEvent() }

type (
	// registered says that YARN knows the attempt now.
	registered struct{ registration amrm.Registration }
	// ordered brings the ResourceManager's orders.
	ordered struct{ orders resourcemanager.Orders }
	// allocated is the answer to allocate.
	allocated struct {
		response amrm.Response
		err      error
	}
	// containerStarted is the answer to one of startContainers.
	containerStarted struct {
		id  records.ContainerID
		err error
	}
	// containerStopped is the answer to stopContainer, whatever came of it.
	containerStopped struct{ id records.ContainerID }
	// containerChecked is the answer to checkContainer. Not complete: it runs, or
	// its node does not say.
	containerChecked struct {
		id     records.ContainerID
		status records.ContainerStatus
	}
	// finishAsked asks for the end of the application; the answer is how it went.
	finishAsked struct {
		status      records.FinalApplicationStatus
		diagnostics string
		question    actor.Question[error]
	}
	// finished is the answer to finish.
	finished struct{ err error }
	// woken says that the time of the core's alarm has come.
	woken struct{}
)

func (registered) isEvent()       {}
func (ordered) isEvent()          {}
func (allocated) isEvent()        {}
func (containerStarted) isEvent() {}
func (containerStopped) isEvent() {}
func (containerChecked) isEvent() {}
func (finishAsked) isEvent()      {}
func (finished) isEvent()         {}
func (woken) isEvent()            {}

// effect is something that core.Step wants done.
//
//sumtype:decl
type effect interface{ isEffect() }

type (
	// allocate is a heartbeat, with what has changed.
	allocate struct {
		asks     []amrm.Ask
		requests []amrm.SchedulingRequest // in place of asks, where a constraint is to hold
		release  []records.ContainerID
		// hosts that YARN's blacklist is to have, and not to have any more
		avoid, dontAvoid []string
	}
	// report tells the ResourceManager. What is to be started is started after
	// that.
	report struct{ events []resourcemanager.WorkerEvent }
	// startContainers starts workers.
	startContainers struct{ starts []start }
	// stopContainer has a container's node stop it, sooner than YARN's
	// ResourceManager would.
	stopContainer struct {
		id   records.ContainerID
		node records.NodeID
	}
	// checkContainer asks a container's node whether it has ended.
	checkContainer struct {
		id   records.ContainerID
		node records.NodeID
	}
	// finish unregisters.
	finish struct {
		status      records.FinalApplicationStatus
		diagnostics string
	}
	// reply answers finishAsked.
	reply struct{ actor.Reply }
	// fail ends the provider.
	fail struct{ err error }
)

// start is a container and the worker to start in it.
type start struct {
	container records.Container
	spec      resourcemanager.WorkerResourceSpec
}

func (allocate) isEffect()        {}
func (report) isEffect()          {}
func (startContainers) isEffect() {}
func (stopContainer) isEffect()   {}
func (checkContainer) isEffect()  {}
func (finish) isEffect()          {}
func (reply) isEffect()           {}
func (fail) isEffect()            {}
