package tokenmanager

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// event is something that happened, for core.Step.
//
//sumtype:decl
type event interface{ isEvent() }

// The events.
type (
	// started is the first event. It comes once.
	started struct{}
	// answered is the result of obtain. With an error, Obtained holds the tokens that could be obtained
	// nevertheless.
	answered struct {
		Obtained Obtained
		Err      error
	}
	// woken says that the core's alarm has come.
	woken struct{}
)

func (started) isEvent()  {}
func (answered) isEvent() {}
func (woken) isEvent()    {}

// effect is something that core.Step requests.
//
//sumtype:decl
type effect interface{ isEffect() }

// The effects.
type (
	// obtain requests tokens from the provider. answered follows. At most one obtain is unanswered.
	obtain struct{}
	// install makes tokens the current ones, and distributes them.
	install struct {
		Tokens *creds.Credentials
		Ends   time.Time // of the new tokens
	}
	// usable says that work that needs the tokens may begin.
	usable struct{}
	// tellFailure logs that no tokens could be obtained, at least for some file systems.
	tellFailure struct {
		Err   error
		Ends  time.Time // end of the current tokens; zero: there are none
		Ended bool      // they have ended
		Again time.Time // time of the next attempt
	}
	// tellEnd logs that tokens end, or have ended, and that the manager cannot replace them.
	tellEnd struct {
		Service string // the file system whose token ends first
		Ends    time.Time
		Ended   bool
	}
)

func (obtain) isEffect()      {}
func (install) isEffect()     {}
func (usable) isEffect()      {}
func (tellFailure) isEffect() {}
func (tellEnd) isEffect()     {}
