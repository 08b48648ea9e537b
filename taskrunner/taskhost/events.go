package taskhost

import (
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// event is something that happened, for core.Step.
//
//sumtype:decl
type event interface{ isEvent() }

// The events.
type (
	// told brings a message of the TaskExecutor.
	told struct{ Message msg.Message }
	// controlLost says that the TaskExecutor is gone.
	controlLost struct{}
	// splitRequested says that a task has read its last split.
	splitRequested struct{ Execution ids.ExecutionAttemptID }
	// collected brings records of a collect sink.
	collected struct {
		Execution ids.ExecutionAttemptID
		Records   []byte
	}
	// measured tells how far all tasks are.
	measured struct{ Tasks []msg.TaskProgress }
	// taskEnded says how a task has ended: its last event. Only its consumers are still to
	// learn of a failure.
	taskEnded struct {
		Execution ids.ExecutionAttemptID
		Failure   *msg.Failure // nil: its code returned no error
		Counters  map[string]int64
		Traffic   msg.Traffic
	}
	// woken says that the time of the core's alarm has come.
	woken struct{}
)

func (told) isEvent()           {}
func (controlLost) isEvent()    {}
func (splitRequested) isEvent() {}
func (collected) isEvent()      {}
func (measured) isEvent()       {}
func (taskEnded) isEvent()      {}
func (woken) isEvent()          {}

// effect is something that core.Step wants done.
//
//sumtype:decl
type effect interface{ isEffect() }

// The effects.
type (
	// send tells the TaskExecutor.
	send struct{ Message msg.Message }
	// startTasks runs tasks, each in a goroutine.
	startTasks struct{ Tasks []deployment }
	// cancelTask ends a task's context.
	cancelTask struct{ Execution ids.ExecutionAttemptID }
	// assignSplit answers a task's splitRequested; nil means that none is left.
	assignSplit struct {
		Execution ids.ExecutionAttemptID
		Split     *jobgraph.Split
	}
	// acknowledge says that so many batches of a task's have been taken.
	acknowledge struct {
		Execution ids.ExecutionAttemptID
		Batches   int
	}
	// limitMemory sets what the host may hold.
	limitMemory struct{ MemoryMB int }
	// updateTokens has files be reached by new tokens.
	updateTokens struct{ Tokens msg.Secret }
	// giveUp ends the host because a task does not end. No effect follows.
	giveUp struct{ Execution ids.ExecutionAttemptID }
	// end ends the host. No effect follows.
	end struct{ Reason endReason }
)

func (send) isEffect()         {}
func (startTasks) isEffect()   {}
func (cancelTask) isEffect()   {}
func (assignSplit) isEffect()  {}
func (acknowledge) isEffect()  {}
func (limitMemory) isEffect()  {}
func (updateTokens) isEffect() {}
func (giveUp) isEffect()       {}
func (end) isEffect()          {}

// endReason is why a host ends without a fault of its own.
type endReason int

const (
	toldToStop endReason = iota + 1
	abandoned            // the TaskExecutor is gone
)

func (r endReason) String() string {
	switch r {
	case toldToStop:
		return "told to stop"
	case abandoned:
		return "abandoned"
	}
	return "unknown"
}

// deployment is one task to run, with all that it is connected to.
type deployment struct {
	Execution ids.ExecutionAttemptID
	MemoryMB  int
	Inputs    []input
	Outputs   []int // by output, its number of channels
}

// input is what a task reads of an edge: of one producer, or this channel of all.
type input struct {
	One     []exchange.Producer
	All     *exchange.Sources
	Channel int
}
