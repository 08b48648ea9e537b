package uber

import (
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// event is something that happened, for core.Step.
//
//sumtype:decl
type event interface{ isEvent() }

type (
	// ordered brings the ResourceManager's orders. The answer is the orders for the other provider.
	ordered struct {
		orders   resourcemanager.Orders
		question actor.Question[resourcemanager.Orders]
	}
	// startedElsewhere counts workers of this size that the other provider has started.
	startedElsewhere struct{ workers int }
	// ended says that the worker's process has ended, with all that it has left behind, or that it could
	// not be started.
	ended struct {
		worker    ids.ResourceID
		unstarted bool
		cause     string
	}
)

func (ordered) isEvent()          {}
func (startedElsewhere) isEvent() {}
func (ended) isEvent()            {}

// effect is an action that core.Step asks for.
//
//sumtype:decl
type effect interface{ isEffect() }

type (
	// report sends an event to the ResourceManager.
	report struct{ event resourcemanager.WorkerEvent }
	// start starts a worker, after the reports before it.
	start struct{ worker ids.ResourceID }
	// stop ends the worker, also one whose start is under way.
	stop struct{ worker ids.ResourceID }
	// reply answers ordered.
	reply struct{ actor.Reply }
)

func (report) isEffect() {}
func (start) isEffect()  {}
func (stop) isEffect()   {}
func (reply) isEffect()  {}
