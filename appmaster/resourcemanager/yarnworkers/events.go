package yarnworkers

import (
	"time"

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
	// registered says that YARN has registered the attempt. The call was sent at that time.
	registered struct {
		registration amrm.Registration
		sent         time.Time
	}
	// nodesKnown brings the nodes of the cluster.
	nodesKnown struct{ nodes []records.NodeReport }
	// ordered brings the ResourceManager's orders.
	ordered struct{ orders resourcemanager.Orders }
	// allocated is the answer to allocate.
	allocated struct {
		response amrm.Response
		err      error
	}
	// containerStarted is the answer to one of startContainers; errLate: its turn came too late.
	containerStarted struct {
		id  records.ContainerID
		err error
	}
	// containerStopped is the answer to stopContainer, successful or not, or says that its turn came too late.
	containerStopped struct {
		id   records.ContainerID
		node records.NodeID
		late bool
	}
	// containerChecked is the answer to checkContainer. If the status is not complete, the
	// container runs, or its node did not answer.
	containerChecked struct {
		id     records.ContainerID
		status records.ContainerStatus
	}
	// confirmed is the answer to confirm: the error of Config.Confirm.
	confirmed struct{ err error }
	// finishAsked asks for the end of the application; the answer is the error of the
	// unregistration.
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
func (nodesKnown) isEvent()       {}
func (confirmed) isEvent()        {}
func (ordered) isEvent()          {}
func (allocated) isEvent()        {}
func (containerStarted) isEvent() {}
func (containerStopped) isEvent() {}
func (containerChecked) isEvent() {}
func (finishAsked) isEvent()      {}
func (finished) isEvent()         {}
func (woken) isEvent()            {}

// effect is an action that core.Step asks for.
//
//sumtype:decl
type effect interface{ isEffect() }

type (
	// allocate is a heartbeat to YARN, with the changes since the last one.
	allocate struct {
		asks     []amrm.Ask
		requests []amrm.SchedulingRequest // instead of asks, if workers have a placement constraint
		release  []records.ContainerID
		// hosts to add to YARN's blacklist, and to remove from it
		avoid, dontAvoid []string
	}
	// report sends events to the ResourceManager. Containers are started after that.
	report struct{ events []resourcemanager.WorkerEvent }
	// startContainers starts workers.
	startContainers struct{ starts []start }
	// stopContainer tells a container's node to stop it, earlier than YARN's ResourceManager would. If the call has not
	// begun by that time, it is not made.
	stopContainer struct {
		id   records.ContainerID
		node records.NodeID
		by   time.Time
	}
	// checkContainer asks a container's node whether the container has ended.
	checkContainer struct {
		id   records.ContainerID
		node records.NodeID
	}
	// confirm looks whether a later attempt leads the application.
	confirm struct{}
	// finish unregisters the application from YARN.
	finish struct {
		status      records.FinalApplicationStatus
		diagnostics string
	}
	// reply answers finishAsked.
	reply struct{ actor.Reply }
	// tellLargest tells YARN's largest container, or zero if that is not known any more.
	tellLargest struct{ resource records.Resource }
	// noteWaits says for how long the containers were ordered that became workers now.
	noteWaits struct{ waited []time.Duration }
	// fail ends the provider.
	fail struct{ err error }
)

// start is a container and the worker to start in it. If the call has not begun by that time, it is not made.
type start struct {
	container records.Container
	spec      resourcemanager.WorkerResourceSpec
	by        time.Time
}

func (allocate) isEffect()        {}
func (report) isEffect()          {}
func (startContainers) isEffect() {}
func (stopContainer) isEffect()   {}
func (checkContainer) isEffect()  {}
func (confirm) isEffect()         {}
func (finish) isEffect()          {}
func (reply) isEffect()           {}
func (tellLargest) isEffect()     {}
func (noteWaits) isEffect()       {}
func (fail) isEffect()            {}
