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
	// started comes first, once.
	started struct{}
	// answered is what came of obtain. With an error, Obtained holds what could be had
	// all the same.
	answered struct {
		Obtained Obtained
		Err      error
	}
	// woken says that the core's alarm rings.
	woken struct{}
)

func (started) isEvent()  {}
func (answered) isEvent() {}
func (woken) isEvent()    {}

// effect is something that core.Step wants done.
//
//sumtype:decl
type effect interface{ isEffect() }

// The effects.
type (
	// obtain asks the provider for tokens, for answered. There is one at a time.
	obtain struct{}
	// install makes tokens the current ones, and has them distributed.
	install struct {
		Tokens *creds.Credentials
		Ends   time.Time // of those that were obtained
	}
	// usable says that work which needs the tokens may begin.
	usable struct{}
	// tellFailure is for people: no tokens could be had, of some file systems at least.
	tellFailure struct {
		Err   error
		Ends  time.Time // when the tokens end that were to be replaced; zero: there are none
		Ended bool      // that was before now
		Again time.Time // when it is tried again
	}
	// tellEnd is for people: tokens end that nobody can replace, or have ended.
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
