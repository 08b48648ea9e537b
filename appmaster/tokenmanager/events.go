package tokenmanager

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// Event is something that happened, for Core.Step.
//
//sumtype:decl
type Event interface{ isEvent() }

// The events.
type (
	// Started comes first, once.
	Started struct{}
	// Answered is what came of Obtain. With an error, Obtained holds what could be had
	// all the same.
	Answered struct {
		Obtained Obtained
		Err      error
	}
	// Woken says that the time of the last Wake has come. One too many does no harm.
	Woken struct{}
)

func (Started) isEvent()  {}
func (Answered) isEvent() {}
func (Woken) isEvent()    {}

// Effect is something that Core.Step wants done.
//
//sumtype:decl
type Effect interface{ isEffect() }

// The effects.
type (
	// Obtain asks the provider for tokens, for Answered. There is one at a time.
	Obtain struct{}
	// Install makes tokens the current ones, and has them distributed.
	Install struct {
		Tokens *creds.Credentials
		Ends   time.Time // of those that were obtained
	}
	// Usable says that work which needs the tokens may begin.
	Usable struct{}
	// Wake asks for Woken at a time; it replaces the last one.
	Wake struct{ At time.Time }
	// TellFailure is for people: no tokens could be had, of some file systems at least.
	TellFailure struct {
		Err   error
		Ends  time.Time // when the tokens end that were to be replaced; zero: there are none
		Ended bool      // that was before now
		Again time.Time // when it is tried again
	}
	// TellEnd is for people: tokens end that nobody can replace, or have ended.
	TellEnd struct {
		Service string // the file system whose token ends first
		Ends    time.Time
		Ended   bool
	}
)

func (Obtain) isEffect()      {}
func (Install) isEffect()     {}
func (Usable) isEffect()      {}
func (Wake) isEffect()        {}
func (TellFailure) isEffect() {}
func (TellEnd) isEffect()     {}
